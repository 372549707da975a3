/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When to poll which server, with which key, and from which version on. */
#include "controller/egressfirewall/transfer/poll.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/rng.h"
#include "controller/egressfirewall/counters.h"
#include "controller/egressfirewall/learnt.h"
#include "controller/egressfirewall/state.h"
#include "controller/egressfirewall/transfer/key_store.h"
#include "controller/egressfirewall/transfer/key_text.h"
#include "controller/egressfirewall/transfer/collect.h"
#include "controller/egressfirewall/transfer/servers.h"
#include "controller/engine.h"

enum {
	POLLS_PER_S = 50,   /* of all servers together */
	FAILURES_SHIFT = 2, /* the pause doubles so often */
	BATCH = 512,	    /* pairs that are learnt under one lock */
	SPREAD = 1024,
};
#define PAUSE_NS     (2 * NS_PER_S)
#define RETRY_NS     (200 * NS_PER_MS) /* with the next key */
#define WHOLE_NS     (5 * NS_PER_S)    /* between two transfers of the whole zone, at least */
#define REPORT_NS    (10 * NS_PER_S)   /* servers that start have no key yet: not worth a line */
#define LIST_NS	     (30 * NS_PER_S)
#define KEYS_NS	     (60 * NS_PER_S)
#define KEYS_SOON_NS (5 * NS_PER_S) /* after all keys were refused */

struct server {
	union net_addr addr;
	bool listed; /* while the list is compared */
	bool has_serial;
	uint32_t serial;
	unsigned objects_seen; /* when the last whole zone was asked for */
	uint64_t whole_ns;     /* when that was; 0: never */
	size_t key_index;
	size_t refusals;	   /* in a row, by keys */
	unsigned failures;	   /* in a row */
	uint64_t failing_since_ns; /* 0: it does not */
	bool reported;
	uint64_t next_ns;
};

struct egressfirewall_poll {
	pthread_mutex_t lock; /* guards all but pairs_held */
	struct map servers;   /* by address and port */
	struct secret keys;
	uint64_t keys_due_ns;
	struct rng rng;
	atomic_size_t pairs_held;
};

struct egressfirewall_poll *egressfirewall_poll_new(void)
{
	struct egressfirewall_poll *poll = xcalloc(1, sizeof(*poll));
	pthread_mutex_init(&poll->lock, NULL);
	map_init(&poll->servers);
	rng_init(&poll->rng);
	return poll;
}

void egressfirewall_poll_free(struct egressfirewall_poll *poll)
{
	const struct map_entry *entry;
	size_t pos = 0;
	if (poll == NULL)
		return;
	while ((entry = map_next(&poll->servers, &pos)) != NULL)
		free(entry->value);
	map_done(&poll->servers);
	secret_done(&poll->keys);
	pthread_mutex_destroy(&poll->lock);
	free(poll);
}

static struct egressfirewall_poll *poll_of(const struct controller_ctx *ctx)
{
	return egressfirewall_state_of(ctx)->poll;
}

/* ---- the list ---- */

static void add_server(struct controller_ctx *ctx, const union net_addr *addr)
{
	struct egressfirewall_poll *poll = poll_of(ctx);
	char text[NET_ADDR_TEXT_MAX];
	net_addr_str(addr, text);
	struct server *server = map_get(&poll->servers, slice_of(text));
	if (server == NULL) {
		server = xcalloc(1, sizeof(*server));
		server->addr = *addr;
		/* Not all of a large cluster at once. */
		server->next_ns = clock_mono_ns() + poll->servers.n * NS_PER_S / POLLS_PER_S;
		map_set(&poll->servers, slice_of(text), server);
		egressfirewall_queue(ctx, EGRESSFIREWALL_SERVER_KEY, text);
	}
	server->listed = true;
}

/* Those that are not listed any more go when their keys come again. */
static void update_list(struct controller_ctx *ctx)
{
	struct egressfirewall_poll *poll = poll_of(ctx);
	egressfirewall_transfer_servers list = { 0 };
	const struct map_entry *entry;
	size_t pos = 0;
	egressfirewall_transfer_list_servers(ctx, &list);
	pthread_mutex_lock(&poll->lock);
	while ((entry = map_next(&poll->servers, &pos)) != NULL)
		((struct server *)entry->value)->listed = false;
	for (size_t i = 0; i < list.n; i++)
		add_server(ctx, &list.v[i]);
	pthread_mutex_unlock(&poll->lock);
	vec_done(&list);
}

static int update_keys(struct controller_ctx *ctx)
{
	struct egressfirewall_poll *poll = poll_of(ctx);
	CLEANUP(secret_done) struct secret keys = { 0 };
	uint64_t now_ns = clock_mono_ns();
	pthread_mutex_lock(&poll->lock);
	bool due = poll->keys.n == 0 || now_ns >= poll->keys_due_ns;
	pthread_mutex_unlock(&poll->lock);
	int r = due ? egressfirewall_transfer_load_keys(ctx, &keys) : 0;
	if (!due || r < 0)
		return r;
	pthread_mutex_lock(&poll->lock);
	secret_set(&poll->keys, secret_slice(&keys));
	poll->keys_due_ns = now_ns + KEYS_NS;
	pthread_mutex_unlock(&poll->lock);
	return 0;
}

int egressfirewall_reconcile_servers(struct controller_ctx *ctx, const char *name)
{
	struct egressfirewall_poll *poll = poll_of(ctx);
	(void)name;
	if (!egressfirewall_transfer_is_on(ctx))
		return 0;
	int r = update_keys(ctx);
	update_list(ctx); /* also with keys that could not be read again */
	pthread_mutex_lock(&poll->lock);
	uint64_t now_ns = clock_mono_ns();
	uint64_t due_ns = MAX(poll->keys_due_ns, now_ns + NS_PER_S);
	pthread_mutex_unlock(&poll->lock);
	ctx->again_ns = MIN(LIST_NS, due_ns - now_ns);
	return r;
}

/* ---- results; with the lock held ---- */

/* Twice as long after each failure, and never so short that all servers together are asked too often. */
static uint64_t pause_ns(struct egressfirewall_poll *poll, const struct server *server)
{
	uint64_t least = poll->servers.n * NS_PER_S / POLLS_PER_S;
	uint64_t pause = MAX(PAUSE_NS << MIN(server->failures, (unsigned)FAILURES_SHIFT), least);
	return pause + pause / 4 * rng_below(&poll->rng, SPREAD) / SPREAD;
}

static void note_success(struct server *server, const struct egressfirewall_collect *collect,
			 const char *text)
{
	const struct resolve_transfer *transfer = &collect->transfer;
	/* A server whose version is older than ours has begun anew. */
	server->has_serial = !transfer->is_current || transfer->new_serial == transfer->serial;
	server->serial = transfer->new_serial;
	if (server->reported)
		log_info(EGRESSFIREWALL_LOG_AREA, "DNS server %s lists what it learnt again", text);
	server->reported = false;
	server->failures = 0;
	server->refusals = 0;
	server->failing_since_ns = 0;
	egressfirewall_counters_add(transfer->is_current ? EGRESSFIREWALL_TRANSFERS_CURRENT
							 : EGRESSFIREWALL_TRANSFERS_CHANGED);
}

static void report_failure(struct server *server, const char *text, const char *why)
{
	uint64_t now_ns = clock_mono_ns();
	if (server->failing_since_ns == 0)
		server->failing_since_ns = now_ns;
	if (server->reported || now_ns < server->failing_since_ns + REPORT_NS)
		return;
	server->reported = true;
	log_warn(EGRESSFIREWALL_LOG_AREA,
		 "cannot read what DNS server %s learnt: %s; names that only its clients use are "
		 "missing below wildcards",
		 text, why);
}

/* While keys are rotated a server may know only one of them. When it refuses all, they may have been
 * changed by others: they are read again soon. */
static bool try_next_key(struct egressfirewall_poll *poll, struct server *server)
{
	size_t count = egressfirewall_transfer_keys_count(secret_slice(&poll->keys));
	server->key_index++;
	if (++server->refusals % MAX(count, 1) != 0)
		return true;
	poll->keys_due_ns = MIN(poll->keys_due_ns, clock_mono_ns() + KEYS_SOON_NS);
	return false;
}

static void note_failure(struct egressfirewall_poll *poll, struct server *server,
			 const struct egressfirewall_collect *collect, const char *text)
{
	int result = collect->work.timed_out ? -ETIMEDOUT : collect->transfer.result;
	const char *why = collect->work.timed_out ? err_str(-ETIMEDOUT) : collect->transfer.error;
	assert(result < 0);
	/* The whole zone is still to be read, or differences are of no use. */
	if (!collect->transfer.incremental || result == ERR_PARSE || result == ERR_LIMIT ||
	    result == ERR_UNSUPPORTED)
		server->has_serial = false;
	if (result == ERR_DENIED && try_next_key(poll, server)) {
		server->next_ns = clock_mono_ns() + RETRY_NS;
		return;
	}
	server->failures++;
	egressfirewall_counters_add(result == ERR_DENIED ? EGRESSFIREWALL_TRANSFERS_REFUSED
							 : EGRESSFIREWALL_TRANSFERS_FAILED);
	report_failure(server, text, why);
	server->next_ns = clock_mono_ns() + pause_ns(poll, server);
}

static void note_result(struct egressfirewall_poll *poll, struct server *server,
			const struct egressfirewall_collect *collect, const char *text)
{
	if (collect->work.timed_out || collect->transfer.result < 0) {
		note_failure(poll, server, collect, text);
		return;
	}
	note_success(server, collect, text);
	server->next_ns = clock_mono_ns() + pause_ns(poll, server);
}

/* ---- the pass over a server ---- */

/* Without the lock: it is not this one that guards the table of hosts. */
static void learn_pairs(struct controller_ctx *ctx, const struct egressfirewall_collect *collect)
{
	if (collect->work.timed_out || collect->transfer.result < 0)
		return;
	for (size_t at = 0; at < collect->pairs.n; at += BATCH)
		egressfirewall_learn(ctx, collect->pairs.v + at, MIN(BATCH, collect->pairs.n - at));
}

/* Pairs that came before the rule that covers them were passed over: after a new rule the whole zone
 * is read once more. */
static bool wants_whole(struct controller_ctx *ctx, struct server *server, uint64_t now_ns)
{
	unsigned objects = atomic_load(&egressfirewall_state_of(ctx)->objects_changed);
	if (server->has_serial &&
	    (server->objects_seen == objects || now_ns < server->whole_ns + WHOLE_NS))
		return false;
	server->objects_seen = objects;
	server->whole_ns = now_ns;
	return true;
}

/* With the lock held. NULL: there is no key. */
static struct egressfirewall_collect *make_collect(struct controller_ctx *ctx,
						   struct server *server, const char *text)
{
	struct egressfirewall_poll *poll = poll_of(ctx);
	struct egressfirewall_collect *collect;
	char why[256];
	size_t keys = egressfirewall_transfer_keys_count(secret_slice(&poll->keys));
	struct egressfirewall_collect_conf conf = {
		.server = server->addr,
		.incremental = !wants_whole(ctx, server, clock_mono_ns()),
		.serial = server->serial,
		.keys = secret_slice(&poll->keys),
		.key_index = server->key_index % MAX(keys, 1),
		.pairs_held = &poll->pairs_held,
	};
	if (egressfirewall_collect_new(&conf, &collect, ERR_TEXT(why)) == 0)
		return collect;
	server->has_serial = server->has_serial && conf.incremental;
	report_failure(server, text, why);
	server->next_ns = clock_mono_ns() + PAUSE_NS;
	return NULL;
}

/* With the lock held: what to do now. */
static struct egressfirewall_collect *next_collect(struct controller_ctx *ctx,
						   struct server *server, const char *text)
{
	uint64_t now_ns = clock_mono_ns();
	struct egressfirewall_collect *collect =
		now_ns >= server->next_ns ? make_collect(ctx, server, text) : NULL;
	if (collect == NULL)
		ctx->again_ns = MAX(server->next_ns, now_ns + NS_PER_MS) - now_ns;
	return collect;
}

static uint64_t input_of(const char *address)
{
	struct slice text = slice_of(address);
	return hash_bytes(hash_process_key(), text.p, text.n);
}

int egressfirewall_reconcile_server(struct controller_ctx *ctx, const char *address)
{
	struct egressfirewall_poll *poll = poll_of(ctx);
	CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
	struct engine_work *work = NULL;
	struct egressfirewall_collect *collect = NULL;
	strbuf_addf(&key, EGRESSFIREWALL_SERVER_KEY "%s", address);
	enum engine_state at = engine_take(ctx->engine, key.s, input_of(address), &work);
	if (work != NULL)
		learn_pairs(ctx, egressfirewall_collect_of(work));
	pthread_mutex_lock(&poll->lock);
	struct server *server = map_get(&poll->servers, slice_of(address));
	if (server != NULL && !server->listed) {
		free(map_del(&poll->servers, slice_of(address)));
		server = NULL;
	}
	if (server != NULL && work != NULL)
		note_result(poll, server, egressfirewall_collect_of(work), address);
	if (server != NULL && at != ENGINE_UNDER_WAY)
		collect = next_collect(ctx, server, address);
	pthread_mutex_unlock(&poll->lock);
	engine_work_free(work);
	if (collect != NULL)
		engine_submit(ctx->engine, key.s, input_of(address), &collect->work);
	else if (server == NULL)
		engine_drop(ctx->engine, key.s);
	return 0;
}
