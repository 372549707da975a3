/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A map from claims to their next attempt. */
#include "controller/ipam/allocation/refusals.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"

struct refusal {
	uint64_t delay_ns, due_ns;
};

struct ipam_refusals {
	pthread_mutex_t lock; /* guards by_claim; no other lock is taken under it */
	struct map by_claim;  /* claim -> struct refusal */
};

struct ipam_refusals *ipam_refusals_new(void)
{
	struct ipam_refusals *refusals = xcalloc(1, sizeof(*refusals));
	pthread_mutex_init(&refusals->lock, NULL);
	map_init(&refusals->by_claim);
	return refusals;
}

void ipam_refusals_free(struct ipam_refusals *refusals)
{
	const struct map_entry *entry;
	size_t pos = 0;
	if (refusals == NULL)
		return;
	while ((entry = map_next(&refusals->by_claim, &pos)) != NULL)
		free(entry->value);
	map_done(&refusals->by_claim);
	pthread_mutex_destroy(&refusals->lock);
	free(refusals);
}

void ipam_refusals_note(struct ipam_refusals *refusals, const char *claim)
{
	pthread_mutex_lock(&refusals->lock);
	struct refusal *refusal = map_get(&refusals->by_claim, slice_of(claim));
	if (refusal == NULL) {
		refusal = xcalloc(1, sizeof(*refusal));
		map_set(&refusals->by_claim, slice_of(claim), refusal);
	}
	refusal->delay_ns = refusal->delay_ns == 0
				    ? IPAM_REFUSED_FIRST_NS
				    : MIN(2 * refusal->delay_ns, IPAM_REFUSED_MAX_NS);
	refusal->due_ns = clock_mono_ns() + refusal->delay_ns;
	pthread_mutex_unlock(&refusals->lock);
}

void ipam_refusals_forget(struct ipam_refusals *refusals, const char *claim)
{
	pthread_mutex_lock(&refusals->lock);
	free(map_del(&refusals->by_claim, slice_of(claim)));
	pthread_mutex_unlock(&refusals->lock);
}

uint64_t ipam_refusals_left_ns(struct ipam_refusals *refusals, const char *claim)
{
	const uint64_t now = clock_mono_ns();
	pthread_mutex_lock(&refusals->lock);
	const struct refusal *refusal = map_get(&refusals->by_claim, slice_of(claim));
	const uint64_t left = refusal != NULL && refusal->due_ns > now ? refusal->due_ns - now : 0;
	pthread_mutex_unlock(&refusals->lock);
	return left;
}

bool ipam_refusals_has(struct ipam_refusals *refusals, const char *claim)
{
	pthread_mutex_lock(&refusals->lock);
	const bool has = map_has(&refusals->by_claim, slice_of(claim));
	pthread_mutex_unlock(&refusals->lock);
	return has;
}
