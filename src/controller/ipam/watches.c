/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The watches of the controller: which fields are kept, by which keys objects are found again, and
 * what has to be reconciled when one changes. */
#include "controller/ipam/watches.h"

#include <stdio.h>
#include <string.h>

#include "api/meta.h"
#include "base/err.h"
#include "base/hash.h"
#include "controller/ipam/address_search.h"
#include "controller/ipam/backlog.h"
#include "controller/ipam/open_claims.h"
#include "controller/ipam/rival_check.h"
#include "controller/ipam/state.h"
#include "kube/decode/tree.h"

enum { UNSETTLED_CLAIMS_BY_POOL, CLAIMS_BY_CLUSTER };
enum { ADDRESSES_BY_POOL, ADDRESSES_BY_NUMBER };
/* A digit for the family, those of the number, two for the size. */
enum { BLOCK_KEY_MAX = 1 + 128 / 4 + 2 + 1 };

/* ---- keys ---- */

/* Keys are made several times for each change of an object: snprintf had a tenth of the CPU.
 * Appends as much of the text as fits; returns where the next one goes. */
static char *append_text(char *at, const char *end, const char *text)
{
	size_t n = MIN(strlen(text), (size_t)(end - at) - 1);
	memcpy(at, text, n);
	at[n] = '\0';
	return at + n;
}

void ipam_pool_key(char out[IPAM_KEY_MAX], const char *kind, const char *ns, const char *name)
{
	bool global = slice_starts(slice_of(kind), SLICE("Global"));
	const char *end = out + IPAM_KEY_MAX;
	char *at = append_text(out, end, kind);
	at = append_text(at, end, "/");
	at = append_text(at, end, global ? "" : ns);
	at = append_text(at, end, "/");
	append_text(at, end, name);
}

void ipam_pool_key_of_claim(char out[IPAM_KEY_MAX], const struct ipam_claim *claim)
{
	ipam_pool_key(out, ipam_pool_kind_text(claim->pool_kind), claim->o.ns, claim->pool_name);
}

void ipam_pool_key_of_address(char out[IPAM_KEY_MAX], const struct ipam_address *address)
{
	ipam_pool_key(out, ipam_pool_kind_text(address->pool_kind), address->o.ns,
		      address->pool_name);
}

struct kube_obj *ipam_find_pool(const struct controller_ctx *ctx, const char *pool_key)
{
	struct slice rest = slice_of(pool_key);
	struct slice kind = slice_cut(&rest, '/'), ns = slice_cut(&rest, '/');
	for (size_t watch = IPAM_FIRST_POOLS; watch <= IPAM_LAST_POOLS; watch++) {
		if (slice_is(kind, ipam_watches[watch].kind))
			return kube_store_get(ctx->stores[watch], ns, rest);
	}
	return NULL;
}

/* ---- indexes ----
 *
 * A pool or a Cluster may have all objects there are. A store's index is a hash table, in which objects
 * with one key lie side by side: to add or remove one of n costs O(n). So the key of an object that
 * shares it with many others ends in the number of one of SHARDS parts, which its name chooses. */

enum { SHARDS = 512, SHARDED_KEY_MAX = IPAM_KEY_MAX + 8 };

static void shard_key(char out[SHARDED_KEY_MAX], const char *key, unsigned shard)
{
	_Static_assert(SHARDS <= 32 * 32, "two letters are a number of a part");
	const char number[] = { '#', (char)('A' + shard / 32), (char)('A' + shard % 32), '\0' };
	const char *end = out + SHARDED_KEY_MAX;
	append_text(append_text(out, end, key), end, number);
}

static void emit_sharded(const struct kube_obj *obj, const char *key, kube_index_emit emit,
			 void *ctx)
{
	uint64_t hash = hash_bytes(hash_process_key(), obj->name, strlen(obj->name));
	char sharded[SHARDED_KEY_MAX];
	shard_key(sharded, key, (unsigned)(hash % SHARDS));
	emit(ctx, slice_of(sharded));
}

/* Each object of the key; `fn` cannot end it. */
static void each_sharded(const struct controller_ctx *ctx, size_t watch, size_t index,
			 const char *key, kube_store_fn fn, void *arg)
{
	char sharded[SHARDED_KEY_MAX];
	for (unsigned shard = 0; shard < SHARDS; shard++) {
		shard_key(sharded, key, shard);
		controller_each_by(ctx, watch, index, slice_of(sharded), fn, arg);
	}
}

/* Claims that are bound have nothing to do with a change of their pool. */
static bool is_unsettled(const struct ipam_claim *claim)
{
	return !claim->is_bound || claim->deleted_s != 0;
}

/* Of these only: most claims of a cluster are bound, and need no entry. */
static void index_claim_by_pool(const struct kube_obj *obj, kube_index_emit emit, void *ctx)
{
	const struct ipam_claim *claim = ipam_claim_of(obj);
	char key[IPAM_KEY_MAX];
	if (!ipam_is_our_claim(claim) || !is_unsettled(claim))
		return;
	ipam_pool_key_of_claim(key, claim);
	emit_sharded(obj, key, emit, ctx);
}

static void index_claim_by_cluster(const struct kube_obj *obj, kube_index_emit emit, void *ctx)
{
	const char *cluster = ipam_claim_of(obj)->cluster;
	char key[IPAM_KEY_MAX];
	if (cluster[0] == '\0')
		return;
	snprintf(key, sizeof(key), "%s/%s", obj->ns, cluster);
	emit_sharded(obj, key, emit, ctx);
}

static const kube_index_fn claim_indexes[] = { [UNSETTLED_CLAIMS_BY_POOL] = index_claim_by_pool,
					       [CLAIMS_BY_CLUSTER] = index_claim_by_cluster };

/* The key of all addresses of other providers: which pool of theirs has them does not matter. */
#define FOREIGN_KEY "foreign"

static void index_address_by_pool(const struct kube_obj *obj, kube_index_emit emit, void *ctx)
{
	const struct ipam_address *address = ipam_address_of(obj);
	char key[IPAM_KEY_MAX] = FOREIGN_KEY;
	if (ipam_is_our_address(address))
		ipam_pool_key_of_address(key, address);
	emit_sharded(obj, key, emit, ctx);
}

/* Numbers have a canonical form, texts of IPv6 addresses need not. */
static void block_key(char out[BLOCK_KEY_MAX], struct ipam_block block)
{
	static const char digits[] = "0123456789abcdef";
	out[0] = block.family == AF_INET ? '4' : '6';
	for (size_t i = 128 / 4; i > 0; i--, block.first >>= 4)
		out[i] = digits[block.first & 15];
	out[BLOCK_KEY_MAX - 3] = digits[block.bits >> 4];
	out[BLOCK_KEY_MAX - 2] = digits[block.bits & 15];
	out[BLOCK_KEY_MAX - 1] = '\0';
}

/* Of whichever pool, also of another provider: no two of a network may have one. */
static void index_address_by_number(const struct kube_obj *obj, kube_index_emit emit, void *ctx)
{
	struct ipam_block block;
	char key[BLOCK_KEY_MAX];
	if (!ipam_block_of(ipam_address_of(obj), &block))
		return;
	block_key(key, block);
	emit(ctx, slice_of(key));
}

static const kube_index_fn address_indexes[] = {
	[ADDRESSES_BY_POOL] = index_address_by_pool, [ADDRESSES_BY_NUMBER] = index_address_by_number
};

void ipam_each_unsettled_claim(const struct controller_ctx *ctx, const char *pool_key,
			       kube_store_fn fn, void *arg)
{
	each_sharded(ctx, IPAM_CLAIMS, UNSETTLED_CLAIMS_BY_POOL, pool_key, fn, arg);
}

void ipam_each_address(const struct controller_ctx *ctx, const char *pool_key, kube_store_fn fn,
		       void *arg)
{
	each_sharded(ctx, IPAM_ADDRESSES, ADDRESSES_BY_POOL, pool_key, fn, arg);
}

void ipam_each_foreign_address(const struct controller_ctx *ctx, kube_store_fn fn, void *arg)
{
	each_sharded(ctx, IPAM_ADDRESSES, ADDRESSES_BY_POOL, FOREIGN_KEY, fn, arg);
}

void ipam_each_address_with(const struct controller_ctx *ctx, struct ipam_block block,
			    kube_store_fn fn, void *arg)
{
	char key[BLOCK_KEY_MAX];
	block_key(key, block);
	controller_each_by(ctx, IPAM_ADDRESSES, ADDRESSES_BY_NUMBER, slice_of(key), fn, arg);
}

/* Whether the claim's key is to be queued now. */
static bool is_admitted(const struct controller_ctx *ctx, const struct ipam_claim *claim,
			controller_emit emit, void *arg)
{
	if (!ipam_is_new_claim(claim))
		return true;
	enum ipam_admission admission = ipam_backlog_admit(ipam_state_of(ctx)->backlog);
	if (admission == IPAM_START_BACKLOG)
		emit(arg, IPAM_BACKLOG_KEY);
	return admission == IPAM_QUEUE_NOW;
}

static bool queue_open_claim(void *ctx, struct kube_obj *obj)
{
	const struct controller_ctx *controller = ctx;
	const struct ipam_claim *claim = ipam_claim_of(obj);
	char key[IPAM_KEY_MAX];
	if (!is_admitted(controller, claim, controller->emit, controller->emit_arg))
		return true;
	snprintf(key, sizeof(key), IPAM_CLAIM_KEY "%s/%s", obj->ns, obj->name);
	controller->emit(controller->emit_arg, key);
	return true;
}

void ipam_queue_open_claims(const struct controller_ctx *ctx, const char *pool_key)
{
	ipam_each_unsettled_claim(ctx, pool_key, queue_open_claim, (void *)(uintptr_t)ctx);
}

/* ---- what the allocator asks ---- */

struct pool_call {
	bool (*fn)(void *arg, const char *pool);
	void *arg;
};

static bool call_with_pool(void *ctx, struct kube_obj *obj)
{
	const struct pool_call *call = ctx;
	char pool[IPAM_KEY_MAX];
	ipam_pool_key_of_address(pool, ipam_address_of(obj));
	return call->fn(call->arg, pool);
}

static void each_pool_with(void *ctx, struct ipam_block block,
			   bool (*fn)(void *arg, const char *pool), void *arg)
{
	struct pool_call call = { fn, arg };
	ipam_each_address_with(ctx, block, call_with_pool, &call);
}

struct block_call {
	ipam_object_fn fn;
	void *arg;
};

static bool call_with_block(void *ctx, struct kube_obj *obj)
{
	const struct block_call *call = ctx;
	const struct ipam_address *address = ipam_address_of(obj);
	char pool[IPAM_KEY_MAX];
	struct ipam_block block;
	if (!ipam_block_of(address, &block))
		return true;
	ipam_pool_key_of_address(pool, address);
	call->fn(call->arg, pool, block);
	return true;
}

static void each_block(void *ctx, const char *pool, ipam_object_fn fn, void *arg)
{
	const struct controller_ctx *controller = ctx;
	struct block_call call = { fn, arg };
	if (pool != NULL)
		ipam_each_address(controller, pool, call_with_block, &call);
	else
		kube_store_each(controller->stores[IPAM_ADDRESSES], call_with_block, &call);
}

static void queue_claim(void *ctx, const char *claim)
{
	const struct controller_ctx *controller = ctx;
	char key[IPAM_KEY_MAX];
	snprintf(key, sizeof(key), IPAM_CLAIM_KEY "%s", claim);
	controller->emit(controller->emit_arg, key);
}

/* Its conditions name the pools that it shares addresses with. */
static void queue_pool(void *ctx, const char *pool)
{
	const struct controller_ctx *controller = ctx;
	char key[IPAM_KEY_MAX + sizeof(IPAM_POOL_KEY)];
	snprintf(key, sizeof(key), IPAM_POOL_KEY "%s", pool);
	controller->emit(controller->emit_arg, key);
}

const struct ipam_used ipam_used_by_watch = { .each_with = each_pool_with,
					      .each = each_block,
					      .each_open = ipam_each_open_claim,
					      .wake = queue_claim,
					      .overlap = queue_pool };

/* ---- what a change starts ---- */

struct emitter {
	controller_emit emit;
	void *arg;
};

static void emit_claim(const struct emitter *out, const char *ns, const char *name)
{
	char key[IPAM_KEY_MAX];
	snprintf(key, sizeof(key), IPAM_CLAIM_KEY "%s/%s", ns, name);
	out->emit(out->arg, key);
}

static void emit_pool(const struct emitter *out, const char *pool_key)
{
	char key[IPAM_KEY_MAX + sizeof(IPAM_POOL_KEY)];
	if (pool_key[0] == '/')
		return; /* of another provider, whose kinds are not kept: there is no pass for it */
	snprintf(key, sizeof(key), IPAM_POOL_KEY "%s", pool_key);
	out->emit(out->arg, key);
}

/* A claim of another provider needs no pass; one of ours that had its name may have left a turn. */
static void forget_namesake(const struct controller_ctx *ctx, const struct kube_obj *object)
{
	char claim[IPAM_KEY_MAX];
	snprintf(claim, sizeof(claim), "%s/%s", object->ns, object->name);
	ipam_allocator_forget(ipam_state_of(ctx)->allocator, (void *)(uintptr_t)ctx, claim);
}

static void keys_of_claim(const struct controller_ctx *ctx, const struct kube_obj *object,
			  controller_emit emit, void *arg)
{
	const struct ipam_claim *claim = ipam_claim_of(object);
	if (!ipam_is_our_claim(claim)) {
		forget_namesake(ctx, object);
		return;
	}
	if (!ipam_backlog_is_open(ipam_state_of(ctx)->backlog, emit, arg) ||
	    !ipam_needs_pass(ctx, object->ns, object->name))
		return;
	if (is_admitted(ctx, claim, emit, arg))
		emit_claim(&(struct emitter){ emit, arg }, object->ns, object->name);
}

/* One of another claim keeps the claim of its own name from being served. */
static void emit_claims_of_address(const struct emitter *out, const struct controller_ctx *ctx,
				   const struct ipam_address *address)
{
	const char *ns = address->o.ns, *claim = ipam_claim_name_of(address);
	if (!ipam_backlog_is_open(ipam_state_of(ctx)->backlog, out->emit, out->arg))
		return;
	if (ipam_needs_pass(ctx, ns, claim))
		emit_claim(out, ns, claim);
	if (strcmp(address->o.name, claim) != 0)
		emit_claim(out, ns, address->o.name);
}

/* A claim of ours may wait for the name of another provider's address. */
static void emit_claim_of_name(const struct emitter *out, const struct controller_ctx *ctx,
			       const struct kube_obj *address)
{
	struct kube_obj *claim = kube_store_get(ctx->stores[IPAM_CLAIMS], slice_of(address->ns),
						slice_of(address->name));
	bool waits = claim != NULL && ipam_is_our_claim(ipam_claim_of(claim)) &&
		     !ipam_claim_of(claim)->is_bound;
	if (waits && ipam_backlog_is_open(ipam_state_of(ctx)->backlog, out->emit, out->arg))
		emit_claim(out, address->ns, address->name);
	kube_obj_unref(claim);
}

struct other_pools {
	const struct emitter *out;
	const char *pool; /* the address's own */
};

static bool emit_other_pool(void *ctx, struct kube_obj *obj)
{
	const struct other_pools *others = ctx;
	char pool[IPAM_KEY_MAX];
	ipam_pool_key_of_address(pool, ipam_address_of(obj));
	if (strcmp(pool, others->pool) != 0)
		emit_pool(others->out, pool);
	return true;
}

/* The allocator is updated at once, on the watch's thread: a worker may ask it next. */
static void keys_of_address(const struct controller_ctx *ctx, const struct kube_obj *object,
			    controller_emit emit, void *arg)
{
	const struct ipam_address *address = ipam_address_of(object);
	struct emitter out = { emit, arg };
	char pool[IPAM_KEY_MAX];
	struct ipam_block block;
	ipam_pool_key_of_address(pool, address);
	if (ipam_block_of(address, &block)) {
		struct other_pools others = { &out, pool };
		ipam_allocator_note(ipam_state_of(ctx)->allocator, (void *)(uintptr_t)ctx, pool,
				    block);
		/* They report addresses that are in use twice. */
		ipam_each_address_touching(ctx, pool, block, emit_other_pool, &others);
	}
	if (!ipam_is_our_address(address)) {
		emit_claim_of_name(&out, ctx, object);
		return;
	}
	emit_claims_of_address(&out, ctx, address);
	emit_pool(&out, pool);
}

static void emit_pool_of(const struct kube_obj *pool, const char *kind, controller_emit emit,
			 void *arg)
{
	char key[IPAM_KEY_MAX];
	ipam_pool_key(key, kind, pool->ns, pool->name);
	emit_pool(&(struct emitter){ emit, arg }, key);
}

static void keys_of_pool(const struct controller_ctx *ctx, const struct kube_obj *object,
			 controller_emit emit, void *arg)
{
	(void)ctx;
	emit_pool_of(object, object->ns[0] != '\0' ? IPAM_POOL_KIND : IPAM_GLOBAL_POOL_KIND, emit,
		     arg);
}

static void keys_of_prefix_pool(const struct controller_ctx *ctx, const struct kube_obj *object,
				controller_emit emit, void *arg)
{
	(void)ctx;
	emit_pool_of(object,
		     object->ns[0] != '\0' ? IPAM_PREFIX_POOL_KIND : IPAM_GLOBAL_PREFIX_POOL_KIND,
		     emit, arg);
}

static bool emit_one_claim(void *ctx, struct kube_obj *obj)
{
	emit_claim(ctx, obj->ns, obj->name);
	return true;
}

static void keys_of_cluster(const struct controller_ctx *ctx, const struct kube_obj *object,
			    controller_emit emit, void *arg)
{
	struct emitter out = { emit, arg };
	char key[IPAM_KEY_MAX];
	snprintf(key, sizeof(key), "%s/%s", object->ns, object->name);
	each_sharded(ctx, IPAM_CLAIMS, CLAIMS_BY_CLUSTER, key, emit_one_claim, &out);
}

struct pools_call {
	const struct controller_ctx *ctx;
	size_t watch;
	controller_emit emit;
	void *arg;
};

static bool emit_one_pool(void *ctx, struct kube_obj *obj)
{
	const struct pools_call *call = ctx;
	ipam_watches[call->watch].keys(call->ctx, obj, call->emit, call->arg);
	return true;
}

/* IP-11: a new default holds for addresses that are made from now on; pools report on it. */
static void keys_of_config(const struct controller_ctx *ctx, const struct kube_obj *object,
			   controller_emit emit, void *arg)
{
	struct pools_call call = { ctx, IPAM_FIRST_POOLS, emit, arg };
	(void)object;
	for (; call.watch <= IPAM_LAST_POOLS; call.watch++)
		kube_store_each(ctx->stores[call.watch], emit_one_pool, &call);
}

void ipam_queue_pools(const struct controller_ctx *ctx)
{
	keys_of_config(ctx, NULL, ctx->emit, ctx->emit_arg);
}

void ipam_queue_everything(const struct controller_ctx *ctx)
{
	struct ipam_backlog *backlog = ipam_state_of(ctx)->backlog;
	ipam_queue_pools(ctx);
	ipam_backlog_close(backlog);
	IGNORE(ipam_backlog_is_open(backlog, ctx->emit, ctx->emit_arg)); /* queues its key */
}

static void keys_of_rival(const struct controller_ctx *ctx, const struct kube_obj *object,
			  controller_emit emit, void *arg)
{
	(void)ctx;
	(void)object;
	emit(arg, IPAM_RIVAL_KEY);
}

/* Cluster API before 1.11 has v1beta1, and before 1.6 only the first one. */
static const char *const older_versions[] = { "v1beta1", "v1alpha1", NULL };
static const char *const older_cluster_versions[] = { "v1beta1", NULL };
static const char *const pool_paths[] = { "metadata.annotations", "metadata.finalizers", "spec",
					  "status", NULL };
static const char *const rival_paths[] = { "spec.holderIdentity", "spec.leaseDurationSeconds",
					   "spec.renewTime", NULL };
static const char *const cluster_paths[] = { "metadata.annotations", "spec.paused", NULL };

const struct controller_watch ipam_watches[IPAM_WATCHES] = {
	[IPAM_CLAIMS] = { IPAM_GROUP, "IPAddressClaim", .older_versions = older_versions,
			  .codec = ipam_claim_codec, .indexes = claim_indexes,
			  .n_indexes = ARRAY_LEN(claim_indexes), .keys = keys_of_claim },
	[IPAM_ADDRESSES] = { IPAM_GROUP, "IPAddress", .older_versions = older_versions,
			     .codec = ipam_address_codec, .indexes = address_indexes,
			     .n_indexes = ARRAY_LEN(address_indexes), .keys = keys_of_address },
	[IPAM_POOLS] = { IPAM_GROUP, IPAM_POOL_KIND, .paths = pool_paths, .keys = keys_of_pool },
	[IPAM_GLOBAL_POOLS] = { IPAM_GROUP, IPAM_GLOBAL_POOL_KIND, .paths = pool_paths,
				.keys = keys_of_pool },
	/* The in-cluster provider has them since 1.1. */
	[IPAM_PREFIX_POOLS] = { IPAM_GROUP, IPAM_PREFIX_POOL_KIND, .optional = true,
				.paths = pool_paths, .keys = keys_of_prefix_pool },
	[IPAM_GLOBAL_PREFIX_POOLS] = { IPAM_GROUP, IPAM_GLOBAL_PREFIX_POOL_KIND, .optional = true,
				       .paths = pool_paths, .keys = keys_of_prefix_pool },
	[IPAM_CLUSTERS] = { "cluster.x-k8s.io", "Cluster", .older_versions = older_cluster_versions,
			    .optional = true, .paths = cluster_paths, .keys = keys_of_cluster },
	[IPAM_CONFIG] = { "", "ConfigMap", .own_ns = true,
			  .fields = "metadata.name=" IPAM_CONFIG_NAME, .keys = keys_of_config },
	[IPAM_RIVAL] = { "coordination.k8s.io", "Lease", .ns = IPAM_RIVAL_NS, .optional = true,
			 .fields = "metadata.name=" IPAM_RIVAL_LEASE, .paths = rival_paths,
			 .keys = keys_of_rival },
};

const struct api_kind *ipam_claim_kind(const struct controller_ctx *ctx)
{
	return controller_kind_of(ctx, &ipam_watches[IPAM_CLAIMS], IPAM_CLAIMS);
}

const struct api_kind *ipam_address_kind(const struct controller_ctx *ctx)
{
	return controller_kind_of(ctx, &ipam_watches[IPAM_ADDRESSES], IPAM_ADDRESSES);
}
