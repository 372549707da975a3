/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The limit on waiting queries, and each client's share of it. The clients of a worker are in a
 * hash table of its own: nothing is shared, and memory is allocated only when there are more
 * clients than ever before. */
#include "server/waiting.h"

#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/metrics/metrics.h"
#include "server/conn/client.h"
#include "server/query.h"
#include "server/server_state.h"
#include "server/slab.h"
#include "server/worker.h"

enum { FIRST_BITS = 6, LOG_INTERVAL_S = 10 };

static const struct metrics_family refused_family = {
	.name = "fairlead_dns_waits_refused_total",
	.help = "Counter of queries that failed because they could not wait: too many of the "
		"client, too many in all, or too large ones.",
	.kind = METRICS_COUNTER,
	.labels = { "reason" },
};

static const char *const reason_text[WAITING_REFUSALS] = { "server", "client", "memory" };

/* ---- clients ---- */

/* Multiplication by a secret odd number: clients cannot choose addresses that collide. */
static struct waiting_client **bucket_of(const struct waiting *waiting, uint64_t key)
{
	return &waiting->bucket[(key ^ waiting->seed[0]) * waiting->seed[1] >>
				(64 - waiting->bits)];
}

static void link_client(struct waiting *waiting, struct waiting_client *client)
{
	struct waiting_client **at = bucket_of(waiting, client->key);
	client->next = *at;
	*at = client;
}

static void grow_table(struct waiting *waiting)
{
	struct waiting_client **old = waiting->bucket;
	size_t n_old = old != NULL ? (size_t)1 << waiting->bits : 0;
	if (old == NULL) {
		waiting->seed[0] = hash_process_key()->k0;
		waiting->seed[1] = hash_process_key()->k1 | 1;
	}
	waiting->bits = old == NULL ? FIRST_BITS : waiting->bits + 1;
	waiting->bucket = xcalloc((size_t)1 << waiting->bits, sizeof(struct waiting_client *));
	for (size_t i = 0; i < n_old; i++) {
		for (struct waiting_client *client = old[i], *next; client != NULL; client = next) {
			next = client->next;
			link_client(waiting, client);
		}
	}
	free(old);
}

/* Its entry; NULL when it has none. */
static ALWAYS_INLINE struct waiting_client *find_client(const struct waiting *waiting, uint64_t key)
{
	struct waiting_client *client = waiting->bucket != NULL ? *bucket_of(waiting, key) : NULL;
	while (client != NULL && client->key != key)
		client = client->next;
	return client;
}

static NOINLINE struct waiting_client *add_client(struct waiting *waiting, uint64_t key)
{
	if (waiting->bucket == NULL || waiting->n_clients >> waiting->bits != 0)
		grow_table(waiting);
	struct waiting_client *client = waiting->free;
	if (client != NULL)
		waiting->free = client->next;
	else
		client = xmalloc(sizeof(*client));
	client->key = key;
	client->units = client->n_large = 0;
	waiting->n_clients++;
	link_client(waiting, client);
	return client;
}

static void leave_client(struct waiting *waiting, struct waiting_client *client)
{
	struct waiting_client **at = bucket_of(waiting, client->key);
	while (*at != client) {
		assert(*at != NULL);
		at = &(*at)->next;
	}
	*at = client->next;
	client->next = waiting->free;
	waiting->free = client;
	assert(waiting->n_clients > 0);
	waiting->n_clients--;
}

/* ---- refusing ---- */

static void log_refusal(struct query *q, enum waiting_refusal why)
{
	static const char *const text[WAITING_REFUSALS] = {
		"too many queries wait for upstreams",
		"the client has too many queries waiting for upstreams",
		"too many long queries wait for upstreams",
	};
	struct waiting *t = &q->worker->waiting;
	uint64_t now = query_now(q);
	if (now < t->next_log_ns) {
		t->held_back++;
		return;
	}
	char client[NET_ADDR_TEXT_MAX];
	net_addr_ip_str(&q->client, client);
	t->next_log_ns = now + LOG_INTERVAL_S * NS_PER_S;
	query_logf(q, LOG_WARNING, "server",
		   "%s: a query of %s gets SERVFAIL (%u more since the last such line)", text[why],
		   client, t->held_back);
	t->held_back = 0;
}

static void count_refusal(struct query *q, enum waiting_refusal why)
{
	struct metrics_series **series = &q->worker->waiting.refused[why];
	if (*series == NULL)
		*series = metrics_get(&refused_family, (const char *const[]){ reason_text[why] });
	metrics_add(*series, worker_slot(q->worker), 1);
}

static NOINLINE bool refuse_wait(struct query *q, enum waiting_refusal why)
{
	count_refusal(q, why);
	log_refusal(q, why);
	return false;
}

/* ---- the limit ---- */

void waiting_init(struct worker *worker)
{
	/* Encrypted transports have a quarter of what may wait, on top. */
	const struct server *server = worker->srv;
	uint32_t n = worker->is_stream ? server->opts.max_waiting / 4 / server->n_stream
				       : server->opts.max_waiting / server->n_workers;
	/* Others of the batch are in use, too, and do not wait yet. */
	worker->waiting.limit = MAX(n, (uint32_t)WORKER_BATCH) + WORKER_BATCH;
}

static inline void charge_client(struct query *q)
{
	struct waiting *t = &q->worker->waiting;
	uint16_t units = (uint16_t)slot_units(q);
	uint32_t more_large = (uint32_t)q->n_large - q->waiting_large;
	if (q->holder == NULL) {
		uint64_t key = client_key(&q->client);
		q->holder = find_client(t, key);
		if (UNLIKELY(q->holder == NULL))
			q->holder = add_client(t, key);
	}
	q->holder->units += (uint32_t)units - q->units;
	q->units = units;
	if (UNLIKELY(more_large != 0)) {
		q->holder->n_large += more_large;
		t->n_large += more_large;
		q->waiting_large = q->n_large;
	}
}

void waiting_charge(struct query *q)
{
	charge_client(q);
}

/* Does it hold 64 KB blocks, or do those that wait for it? */
static NOINLINE bool holds_large(const struct query *q)
{
	for (; q != NULL; q = q->parent) {
		if (q->n_large != 0)
			return true;
	}
	return false;
}

/* Memory of the worker's queries in units of a slot. */
static uint32_t units_in_use(const struct worker *worker)
{
	return worker->n_used + worker->small.used + worker->large.used * SLAB_LARGE_UNITS;
}

bool waiting_begin(struct query *q)
{
	if (waiting_is_charged(q))
		return true;
	const struct worker *w = q->worker;
	uint32_t used = units_in_use(w);
	uint32_t limit = w->waiting.limit;
	if (used > limit && !q->admitted)
		return refuse_wait(q, WAITING_SERVER);
	charge_client(q);
	if (!q->admitted && q->holder->units > limit - used)
		return refuse_wait(q, WAITING_CLIENT);
	if (UNLIKELY(w->waiting.n_large != 0) && holds_large(q) &&
	    w->waiting.n_large + q->holder->n_large > SLAB_LARGE_WAITING_MAX)
		return refuse_wait(q, WAITING_MEMORY);
	q->admitted = true; /* and may wait again, for another try */
	return true;
}

void waiting_end(struct query *q)
{
	struct waiting *t = &q->worker->waiting;
	struct waiting_client *client = q->holder;
	assert(client != NULL && client->units >= q->units);
	client->units -= q->units;
	if (UNLIKELY(q->waiting_large != 0)) {
		assert(client->n_large >= q->waiting_large && t->n_large >= q->waiting_large);
		client->n_large -= q->waiting_large;
		t->n_large -= q->waiting_large;
	}
	if (client->units == 0) {
		assert(client->n_large == 0);
		leave_client(t, client);
	}
	q->holder = NULL;
}

static void free_clients(struct waiting_client *client)
{
	for (struct waiting_client *next; client != NULL; client = next) {
		next = client->next;
		free(client);
	}
}

/* Queries that were given up at the end of the server may still be counted. */
void waiting_done(struct waiting *waiting)
{
	for (size_t i = 0; waiting->bucket != NULL && i >> waiting->bits == 0; i++)
		free_clients(waiting->bucket[i]);
	free_clients(waiting->free);
	free(waiting->bucket);
}
