/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The clients that have places, in no order: there are few. */
#include "plugin/shared/clientshare.h"

#include <assert.h>

void clientshare_init(struct clientshare *share, unsigned max)
{
	assert(max <= CLIENTSHARE_MAX);
	*share = (struct clientshare){ .max = max };
	pthread_mutex_init(&share->lock, NULL);
}

void clientshare_done(struct clientshare *share)
{
	assert(share->n_taken == 0);
	pthread_mutex_destroy(&share->lock);
}

/* Where the client is, or n_clients. */
static unsigned find_client(const struct clientshare *share, uint64_t key)
{
	unsigned i = 0;
	while (i < share->n_clients && share->client[i].key != key)
		i++;
	return i;
}

bool clientshare_take(struct clientshare *share, uint64_t key)
{
	pthread_mutex_lock(&share->lock);
	assert(share->n_taken <= share->max);
	unsigned i = find_client(share, key);
	unsigned own = i < share->n_clients ? share->client[i].n : 0;
	bool is_free = own < share->max - share->n_taken;
	if (is_free) {
		share->client[i].key = key;
		share->client[i].n = own + 1;
		share->n_clients += own == 0;
		share->n_taken++;
	}
	pthread_mutex_unlock(&share->lock);
	return is_free;
}

void clientshare_put(struct clientshare *share, uint64_t key)
{
	pthread_mutex_lock(&share->lock);
	unsigned i = find_client(share, key);
	assert(i < share->n_clients && share->client[i].n > 0);
	share->n_taken--;
	if (--share->client[i].n == 0)
		share->client[i] = share->client[--share->n_clients];
	pthread_mutex_unlock(&share->lock);
}
