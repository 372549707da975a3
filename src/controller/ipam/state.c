/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keeps the allocator in step with the specs of pools. */
#include "controller/ipam/state.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include "controller/ipam/backlog.h"
#include "controller/ipam/default_nameservers.h"
#include "controller/ipam/allocation/pool_spec.h"
#include "controller/ipam/records.h"
#include "controller/ipam/allocation/refusals.h"
#include "controller/ipam/rival_check.h"
#include "controller/ipam/watches.h"
#include "kube/decode/tree.h"

#define REPORT_EVERY_NS NS_PER_S

/* One generation of a pool. */
struct known_pool {
	char *uid, *network;
	int64_t generation;
	enum ipam_pool_state state;
	struct ipam_pool_facts facts;
	char error[256];
	uint64_t reported_ns; /* when its status was last computed */
	bool written;	      /* its conditions were written, with: */
	enum ipam_pruning written_pruning;
};

struct ipam_known_pools {
	pthread_mutex_t lock; /* guards by_key and the order of calls to ipam_allocator_set_pool */
	struct map by_key;    /* pool key -> struct known_pool */

	pthread_mutex_t first; /* held while all pools become known; before `lock`; guards: */
	bool has_all;	       /* those that existed then are known */
};

static void known_pool_free(struct known_pool *known)
{
	if (known == NULL)
		return;
	free(known->uid);
	free(known->network);
	free(known);
}

int ipam_state_start(void **ret_state, struct err_text err)
{
	struct ipam_state *state = xcalloc(1, sizeof(*state));
	(void)err;
	state->allocator = ipam_allocator_new(&ipam_used_by_watch);
	state->backlog = ipam_backlog_new();
	state->known = xcalloc(1, sizeof(*state->known));
	state->rival = ipam_rival_new();
	state->refusals = ipam_refusals_new();
	state->defaults = ipam_default_memory_new();
	pthread_mutex_init(&state->known->lock, NULL);
	pthread_mutex_init(&state->known->first, NULL);
	map_init(&state->known->by_key);
	*ret_state = state;
	return 0;
}

void ipam_state_stop(void *state)
{
	struct ipam_state *own = state;
	size_t pos = 0;
	const struct map_entry *entry;
	if (own == NULL)
		return;
	while ((entry = map_next(&own->known->by_key, &pos)) != NULL)
		known_pool_free(entry->value);
	map_done(&own->known->by_key);
	pthread_mutex_destroy(&own->known->lock);
	pthread_mutex_destroy(&own->known->first);
	free(own->known);
	ipam_rival_free(own->rival);
	ipam_refusals_free(own->refusals);
	ipam_default_memory_free(own->defaults);
	ipam_allocator_free(own->allocator);
	ipam_backlog_free(own->backlog);
	free(own);
}

/* PR-10 */
static bool is_paused(const json_t *pool)
{
	return api_annotation(pool, IPAM_PAUSED_ANNOTATION) != NULL;
}

enum { NETWORK_NAME_MAX = 253 }; /* what is longer is cut: rather one network than two */

static struct slice network_of(const json_t *pool)
{
	const char *name = api_annotation(pool, IPAM_NETWORK_ANNOTATION);
	struct slice text = slice_of(name != NULL ? name : "");
	text.n = MIN(text.n, (size_t)NETWORK_NAME_MAX);
	return text;
}

static struct known_pool *read_pool(const struct controller_ctx *ctx, const char *pool_key,
				    const json_t *pool)
{
	struct known_pool *known = xcalloc(1, sizeof(*known));
	const json_t *tree = json_object_get(pool, "spec");
	struct ipam_pool_spec spec;
	known->uid = xstrdup(api_uid(pool));
	known->network = xstrndup(network_of(pool).p, network_of(pool).n);
	known->generation = api_generation(pool);
	if (ipam_pool_spec_read(tree, &spec, ERR_TEXT(known->error)) < 0) {
		known->state = IPAM_POOL_INVALID;
		known->facts.grace_s = ipam_pool_spec_grace(tree);
		ipam_allocator_set_pool(ipam_state_of(ctx)->allocator, (void *)(uintptr_t)ctx,
					pool_key, known->network, NULL);
		return known;
	}
	known->state = IPAM_POOL_READY;
	known->facts = (struct ipam_pool_facts){ .family = spec.family,
						 .prefix = spec.prefix,
						 .grace_s = spec.grace_s };
	known->facts.empty = ipam_pool_spec_is_empty(&spec, ERR_TEXT(known->error));
	ipam_allocator_set_pool(ipam_state_of(ctx)->allocator, (void *)(uintptr_t)ctx, pool_key,
				known->network, &spec);
	ipam_pool_spec_done(&spec);
	return known;
}

static bool is_same(const struct known_pool *known, const json_t *pool)
{
	return known != NULL && known->generation == api_generation(pool) &&
	       strcmp(known->uid, api_uid(pool)) == 0 && slice_is(network_of(pool), known->network);
}

/* Under the lock, so that no worker takes an address of the pool before all its claims have their turn. */
static void enter_claims(const struct controller_ctx *ctx, const char *pool_key,
			 const struct known_pool *known)
{
	if (known->state == IPAM_POOL_READY && !known->facts.paused && !known->facts.deleting)
		ipam_allocator_enter_claims(ipam_state_of(ctx)->allocator, (void *)(uintptr_t)ctx,
					    pool_key);
}

/* Under the lock. */
static enum ipam_pool_state sync_missing(const struct controller_ctx *ctx, const char *pool_key,
					 bool *ret_news)
{
	struct ipam_state *state = ipam_state_of(ctx);
	struct known_pool *known = map_del(&state->known->by_key, slice_of(pool_key));
	*ret_news = known != NULL;
	if (known != NULL)
		ipam_allocator_drop_pool(state->allocator, (void *)(uintptr_t)ctx, pool_key);
	known_pool_free(known);
	return IPAM_POOL_MISSING;
}

enum ipam_pool_state ipam_state_sync_pool(const struct controller_ctx *ctx, const char *pool_key,
					  const struct kube_obj *pool, struct ipam_pool_facts *ret,
					  bool *ret_news, struct err_text err)
{
	struct ipam_state *state = ipam_state_of(ctx);
	enum ipam_pool_state result;
	pthread_mutex_lock(&state->known->lock);
	if (pool == NULL) {
		result = sync_missing(ctx, pool_key, ret_news);
	} else {
		const json_t *tree = kube_tree_of(pool);
		struct known_pool *known = map_get(&state->known->by_key, slice_of(pool_key));
		*ret_news = !is_same(known, tree) || known->facts.paused != is_paused(tree) ||
			    known->facts.deleting != api_is_deleting(tree);
		if (!is_same(known, tree)) {
			known = read_pool(ctx, pool_key, tree);
			known_pool_free(map_set(&state->known->by_key, slice_of(pool_key), known));
		}
		known->facts.paused = is_paused(tree);
		known->facts.deleting = api_is_deleting(tree);
		*ret = known->facts;
		result = known->state;
		if (*ret_news)
			enter_claims(ctx, pool_key, known);
		if (result == IPAM_POOL_INVALID || known->facts.empty)
			err_text_set(err, "%s", known->error);
	}
	pthread_mutex_unlock(&state->known->lock);
	return result;
}

typedef VEC(struct kube_obj *) object_list;

static bool collect_object(void *ctx, struct kube_obj *obj)
{
	object_list *list = ctx;
	vec_push(list, kube_obj_ref(obj));
	return true;
}

static void sync_known_pool(const struct controller_ctx *ctx, const struct kube_obj *pool,
			    const char *kind)
{
	struct ipam_pool_facts facts;
	char key[IPAM_KEY_MAX], error[256];
	bool news;
	ipam_pool_key(key, kind, pool->ns, pool->name);
	ipam_state_sync_pool(ctx, key, pool, &facts, &news, ERR_TEXT(error));
	if (news)
		ipam_queue_open_claims(ctx, key);
}

static void sync_pools_of(const struct controller_ctx *ctx, size_t watch)
{
	object_list pools = { 0 };
	kube_store_each(ctx->stores[watch], collect_object, &pools);
	for (size_t i = 0; i < pools.n; i++) {
		sync_known_pool(ctx, pools.v[i], ipam_watches[watch].kind);
		kube_obj_unref(pools.v[i]);
	}
	vec_done(&pools);
}

void ipam_state_sync_all_pools(const struct controller_ctx *ctx)
{
	struct ipam_known_pools *known = ipam_state_of(ctx)->known;
	pthread_mutex_lock(&known->first);
	if (!known->has_all) {
		for (size_t watch = IPAM_FIRST_POOLS; watch <= IPAM_LAST_POOLS; watch++)
			sync_pools_of(ctx, watch);
		known->has_all = true;
	}
	pthread_mutex_unlock(&known->first);
}

uint64_t ipam_state_pool_pause(const struct controller_ctx *ctx, const char *pool_key, bool news)
{
	struct ipam_state *state = ipam_state_of(ctx);
	uint64_t now_ns = clock_mono_ns(), left_ns = 0;
	pthread_mutex_lock(&state->known->lock);
	struct known_pool *known = map_get(&state->known->by_key, slice_of(pool_key));
	if (known != NULL && !news && known->reported_ns != 0 &&
	    now_ns - known->reported_ns < REPORT_EVERY_NS)
		left_ns = REPORT_EVERY_NS - (now_ns - known->reported_ns);
	else if (known != NULL)
		known->reported_ns = now_ns;
	pthread_mutex_unlock(&state->known->lock);
	return left_ns;
}

void ipam_state_pool_written(const struct controller_ctx *ctx, const char *pool_key,
			     enum ipam_pruning pruning)
{
	struct ipam_state *state = ipam_state_of(ctx);
	pthread_mutex_lock(&state->known->lock);
	struct known_pool *known = map_get(&state->known->by_key, slice_of(pool_key));
	if (known != NULL) {
		known->written = true;
		known->written_pruning = pruning;
	}
	pthread_mutex_unlock(&state->known->lock);
}

bool ipam_state_is_pool_written(const struct controller_ctx *ctx, const char *pool_key,
				enum ipam_pruning pruning)
{
	struct ipam_state *state = ipam_state_of(ctx);
	pthread_mutex_lock(&state->known->lock);
	const struct known_pool *known = map_get(&state->known->by_key, slice_of(pool_key));
	bool written = known != NULL && known->written && known->written_pruning == pruning;
	pthread_mutex_unlock(&state->known->lock);
	return written;
}
