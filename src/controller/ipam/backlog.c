/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Some new claims per second are queued as they come. When there are more, the watch's copy is walked in
 * parts of so many new claims; the next part is queued when most of the last one are no longer new.
 * What was seen before the first pass is found in the copies by that pass. */
#include "controller/ipam/backlog.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "base/clock.h"
#include "base/mem.h"
#include "controller/ipam/address_object.h"
#include "controller/ipam/state.h"
#include "controller/ipam/watches.h"
#include "kube/decode/tree.h"

enum {
	PART = 1024,	      /* new claims that are queued at once */
	PART_LEFT = PART / 4, /* of them, those that may still be new when the next part follows */
	AGAIN_MS = 100,
	STUCK_MAX = 20, /* times without a change, after which the next part follows all the same */
	HANDFUL = 1024, /* objects that the first pass looks at between two reads of the copy */
};

struct ipam_backlog {
	pthread_mutex_t lock; /* guards the next six; never held while the copy is read */
	uint64_t second_ns;   /* when the second began in which `admitted` were */
	unsigned admitted;
	bool active; /* the copy is being walked */
	bool missed; /* a claim was not admitted since the walk began at the first place */
	bool opened; /* the first pass has begun: changes are queued as they come */
	bool called; /* the key is queued, for the first pass */

	/* Only the pass has these, which is never run twice at a time.
	 * The places of the copy that the last part had, and how many of its claims are new still. */
	uint32_t begin, end;
	unsigned left, stuck;
};

struct ipam_backlog *ipam_backlog_new(void)
{
	struct ipam_backlog *backlog = xcalloc(1, sizeof(*backlog));
	pthread_mutex_init(&backlog->lock, NULL);
	return backlog;
}

void ipam_backlog_free(struct ipam_backlog *backlog)
{
	if (backlog == NULL)
		return;
	pthread_mutex_destroy(&backlog->lock);
	free(backlog);
}

bool ipam_is_new_claim(const struct ipam_claim *claim)
{
	return ipam_is_our_claim(claim) && claim->deleted_s == 0 && !claim->is_paused &&
	       !claim->has_finalizer && !claim->has_conditions && !claim->is_bound;
}

enum ipam_admission ipam_backlog_admit(struct ipam_backlog *backlog)
{
	uint64_t now_ns = clock_mono_ns();
	enum ipam_admission result = IPAM_QUEUE_NOW;
	pthread_mutex_lock(&backlog->lock);
	if (now_ns - backlog->second_ns > NS_PER_S) {
		backlog->second_ns = now_ns;
		backlog->admitted = 0;
	}
	if (backlog->active || backlog->admitted++ >= PART) {
		result = backlog->active ? IPAM_QUEUE_LATER : IPAM_START_BACKLOG;
		backlog->active = backlog->missed = true;
	}
	pthread_mutex_unlock(&backlog->lock);
	return result;
}

bool ipam_backlog_is_open(struct ipam_backlog *backlog, controller_emit emit, void *arg)
{
	pthread_mutex_lock(&backlog->lock);
	bool opened = backlog->opened, first = !opened && !backlog->called;
	backlog->called = backlog->called || first;
	pthread_mutex_unlock(&backlog->lock);
	if (first)
		emit(arg, IPAM_BACKLOG_KEY);
	return opened;
}

void ipam_backlog_close(struct ipam_backlog *backlog)
{
	pthread_mutex_lock(&backlog->lock);
	backlog->opened = backlog->called = false;
	pthread_mutex_unlock(&backlog->lock);
}

/* ---- claims with nothing to do ---- */

/* Would a pass of the claim change nothing, if its address is complete? */
static bool is_settled(const struct ipam_claim *claim)
{
	return ipam_is_our_claim(claim) && claim->deleted_s == 0 && claim->has_finalizer &&
	       claim->reason == IPAM_REASON_ALLOCATED &&
	       strcmp(ipam_address_ref_of(claim), claim->o.name) == 0;
}

/* Is it the address of the claim, from its pool, with owners and finalizer? */
static bool is_address_fine(const struct controller_ctx *ctx, const struct ipam_claim *claim,
			    const struct ipam_address *address)
{
	char pool_key[IPAM_KEY_MAX], own_key[IPAM_KEY_MAX];
	struct ipam_block block;
	ipam_pool_key_of_claim(pool_key, claim);
	ipam_pool_key_of_address(own_key, address);
	if (strcmp(ipam_claim_name_of(address), claim->o.name) != 0 ||
	    strcmp(pool_key, own_key) != 0 || !ipam_block_of(address, &block))
		return false;
	struct kube_obj *pool = ipam_find_pool(ctx, pool_key);
	bool fine = pool != NULL &&
		    ipam_address_is_complete(address, claim, api_uid(kube_tree_of(pool)));
	kube_obj_unref(pool);
	return fine;
}

/* A reservation may be left, if another process bound the claim. */
static void forget_turn(const struct controller_ctx *ctx, const struct ipam_claim *claim)
{
	char key[IPAM_KEY_MAX];
	snprintf(key, sizeof(key), "%s/%s", claim->o.ns, claim->o.name);
	ipam_allocator_forget(ipam_state_of(ctx)->allocator, (void *)(uintptr_t)ctx, key);
}

/* By what the stores have now: the object whose change starts this may be an old or a deleted one. Of a
 * claim and its address the one that was stored last finds both. */
bool ipam_needs_pass(const struct controller_ctx *ctx, const char *ns, const char *name)
{
	struct kube_obj *claim_obj =
		kube_store_get(ctx->stores[IPAM_CLAIMS], slice_of(ns), slice_of(name));
	const struct ipam_claim *claim = claim_obj != NULL ? ipam_claim_of(claim_obj) : NULL;
	bool needed = true;
	if (claim != NULL && is_settled(claim)) {
		struct kube_obj *address =
			kube_store_get(ctx->stores[IPAM_ADDRESSES], slice_of(ns), slice_of(name));
		needed = address == NULL || !is_address_fine(ctx, claim, ipam_address_of(address));
		kube_obj_unref(address);
	}
	if (!needed)
		forget_turn(ctx, claim);
	kube_obj_unref(claim_obj);
	return needed;
}

/* ---- the first pass ---- */

struct handful {
	struct kube_obj *objects[HANDFUL]; /* references */
	size_t n;
	uint32_t begin; /* the place where it begins */
};

static bool collect_object(void *ctx, struct kube_obj *obj)
{
	struct handful *handful = ctx;
	if (obj->at < handful->begin)
		return true;
	handful->objects[handful->n++] = kube_obj_ref(obj);
	return handful->n < HANDFUL;
}

/* Calls `queue` with each object of the store, which is not locked meanwhile: `queue` reads others. An
 * object keeps its place while it exists. */
static void each_unlocked(const struct controller_ctx *ctx, size_t watch,
			  void (*queue)(const struct controller_ctx *ctx, struct kube_obj *obj))
{
	struct handful handful = { .begin = 0 };
	do {
		handful.n = 0;
		kube_store_each(ctx->stores[watch], collect_object, &handful);
		for (size_t i = 0; i < handful.n; i++) {
			handful.begin = handful.objects[i]->at + 1;
			queue(ctx, handful.objects[i]);
			kube_obj_unref(handful.objects[i]);
		}
	} while (handful.n == HANDFUL);
}

static void emit_claim(const struct controller_ctx *ctx, const char *ns, const char *name)
{
	char key[IPAM_KEY_MAX];
	snprintf(key, sizeof(key), IPAM_CLAIM_KEY "%s/%s", ns, name);
	ctx->emit(ctx->emit_arg, key);
}

/* New ones follow in parts. */
static void queue_unsettled(const struct controller_ctx *ctx, struct kube_obj *obj)
{
	const struct ipam_claim *claim = ipam_claim_of(obj);
	if (ipam_is_our_claim(claim) && !ipam_is_new_claim(claim) &&
	    ipam_needs_pass(ctx, obj->ns, obj->name))
		emit_claim(ctx, obj->ns, obj->name);
}

static bool is_claim_known(const struct controller_ctx *ctx, const char *ns, const char *name)
{
	struct kube_obj *claim =
		kube_store_get(ctx->stores[IPAM_CLAIMS], slice_of(ns), slice_of(name));
	kube_obj_unref(claim);
	return claim != NULL;
}

/* Addresses without a claim; those of a claim are among what its pass sees. */
static void queue_orphan(const struct controller_ctx *ctx, struct kube_obj *obj)
{
	const struct ipam_address *address = ipam_address_of(obj);
	const char *claim = ipam_claim_name_of(address);
	if (ipam_is_our_address(address) && !is_claim_known(ctx, obj->ns, claim))
		emit_claim(ctx, obj->ns, claim);
	if (ipam_is_our_address(address) && strcmp(obj->name, claim) != 0)
		emit_claim(ctx, obj->ns, obj->name);
}

/* What is stored from here on is queued by its watch, and what was stored before is found. */
static void open_backlog(struct ipam_backlog *backlog, const struct controller_ctx *ctx)
{
	pthread_mutex_lock(&backlog->lock);
	bool opened = backlog->opened;
	backlog->opened = true;
	backlog->active = backlog->active || !opened;
	pthread_mutex_unlock(&backlog->lock);
	if (opened)
		return;
	each_unlocked(ctx, IPAM_CLAIMS, queue_unsettled);
	each_unlocked(ctx, IPAM_ADDRESSES, queue_orphan);
}

/* ---- new claims, in parts ---- */

struct walk {
	const struct controller_ctx *ctx;
	uint32_t begin, end; /* places */
	unsigned n;
};

static bool count_new_claim(void *ctx, struct kube_obj *obj)
{
	struct walk *walk = ctx;
	if (obj->at >= walk->begin && obj->at < walk->end)
		walk->n += ipam_is_new_claim(ipam_claim_of(obj));
	return obj->at < walk->end;
}

static bool queue_new_claim(void *ctx, struct kube_obj *obj)
{
	struct walk *walk = ctx;
	char key[IPAM_KEY_MAX];
	if (obj->at < walk->begin || !ipam_is_new_claim(ipam_claim_of(obj)))
		return true;
	snprintf(key, sizeof(key), IPAM_CLAIM_KEY "%s/%s", obj->ns, obj->name);
	walk->ctx->emit(walk->ctx->emit_arg, key);
	walk->end = obj->at + 1;
	return ++walk->n < PART;
}

/* True: most claims of the last part are no longer new, or nothing moves. */
static bool is_part_done(struct ipam_backlog *backlog, const struct controller_ctx *ctx)
{
	struct walk walk = { ctx, backlog->begin, backlog->end, 0 };
	kube_store_each(ctx->stores[IPAM_CLAIMS], count_new_claim, &walk);
	backlog->stuck = walk.n == backlog->left ? backlog->stuck + 1 : 0;
	backlog->left = walk.n;
	return walk.n <= PART_LEFT || backlog->stuck > STUCK_MAX;
}

static bool is_active(struct ipam_backlog *backlog)
{
	pthread_mutex_lock(&backlog->lock);
	bool active = backlog->active;
	pthread_mutex_unlock(&backlog->lock);
	return active;
}

static void begin_walk(struct ipam_backlog *backlog)
{
	pthread_mutex_lock(&backlog->lock);
	backlog->missed = false;
	pthread_mutex_unlock(&backlog->lock);
}

/* True: that was the last part. */
static bool queue_next_part(struct ipam_backlog *backlog, const struct controller_ctx *ctx)
{
	struct walk walk = { ctx, backlog->end, backlog->end, 0 };
	if (walk.begin == 0)
		begin_walk(backlog);
	kube_store_each(ctx->stores[IPAM_CLAIMS], queue_new_claim, &walk);
	bool last = walk.n < PART;
	backlog->begin = last ? 0 : walk.begin;
	backlog->end = last ? 0 : walk.end;
	backlog->left = last ? 0 : walk.n;
	backlog->stuck = 0;
	return last;
}

/* Ends the walk, unless a claim was seen meanwhile at a place that had been passed. */
static bool end_walk(struct ipam_backlog *backlog)
{
	pthread_mutex_lock(&backlog->lock);
	backlog->active = backlog->missed;
	bool ended = !backlog->active;
	pthread_mutex_unlock(&backlog->lock);
	return ended;
}

int ipam_reconcile_backlog(struct controller_ctx *ctx)
{
	struct ipam_backlog *backlog = ipam_state_of(ctx)->backlog;
	open_backlog(backlog, ctx);
	bool ended = !is_active(backlog) || (is_part_done(backlog, ctx) &&
					     queue_next_part(backlog, ctx) && end_walk(backlog));
	if (!ended)
		ctx->again_ns = AGAIN_MS * NS_PER_MS;
	return 0;
}
