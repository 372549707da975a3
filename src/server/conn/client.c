/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The clients that have connections: one table for all workers of a pool, locked only when a
 * connection opens or closes. */
#include "server/conn/client.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "server/conn/conn_limits.h"

struct client_table {
	struct map by_key; /* 8 bytes → struct conn_client */
};

struct client_table *client_table_new(void)
{
	return xcalloc(1, sizeof(struct client_table));
}

void client_table_free(struct client_table *table)
{
	if (table != NULL)
		map_done(&table->by_key);
	free(table);
}

static struct slice key_slice(const uint64_t *key)
{
	return (struct slice){ (const char *)key, sizeof(*key) };
}

struct conn_client *client_enter(struct conn_pool *pool, const union net_addr *addr)
{
	uint64_t key = client_key(addr);
	pthread_mutex_lock(&pool->lock);
	struct conn_client *client = map_get(&pool->clients->by_key, key_slice(&key));
	if (client == NULL) {
		client = xcalloc(1, sizeof(*client));
		client->key = key;
		map_set(&pool->clients->by_key, key_slice(&key), client);
	}
	client->refs++;
	pthread_mutex_unlock(&pool->lock);
	atomic_fetch_add_explicit(&client->n_conns, 1, memory_order_relaxed);
	return client;
}

void client_leave(struct conn_pool *pool, struct conn_client *client)
{
	pthread_mutex_lock(&pool->lock);
	assert(client->refs > 0);
	bool last = --client->refs == 0;
	if (last)
		map_del(&pool->clients->by_key, key_slice(&client->key));
	pthread_mutex_unlock(&pool->lock);
	if (last)
		free(client);
}
