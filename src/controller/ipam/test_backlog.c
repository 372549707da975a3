/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Thousands of new claims: few of them are queued at a time, all of them once; bound ones are not. Also
 * what is kept of claims and addresses. */
#include "controller/ipam/backlog.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/kind.h"
#include "base/mem.h"
#include "controller/ipam/allocation/pool_spec.h"
#include "controller/ipam/state.h"
#include "controller/ipam/watches.h"
#include "kube/decode/string_pool.h"
#include "kube/decode/tree.h"

enum { CLAIMS = 20000, QUEUED_MAX = 2048 };

/* The watch's copy of claims, and the keys that were queued. */
struct world {
	struct kube_string_pool *pool;
	struct kube_codec *codec;
	struct kube_store *claims;
	struct kube_store *stores[IPAM_WATCHES];
	struct ipam_state *state;
	struct controller_ctx ctx;
	bool queued[CLAIMS], seen[CLAIMS];
	unsigned n_queued, n_seen;
};

static void note_key(void *arg, const char *key)
{
	struct world *world = arg;
	size_t number = (size_t)atol(strrchr(key, '-') + 1);
	assert_true(number < CLAIMS);
	if (!world->queued[number])
		world->n_queued++;
	if (!world->seen[number])
		world->n_seen++;
	world->queued[number] = world->seen[number] = true;
}

static struct kube_obj *decode(struct kube_codec *codec, const char *text)
{
	struct kube_obj *obj;
	assert_int_equal(codec->decode(codec, slice_of(text), &obj), 0);
	return obj;
}

static void put_claim(struct world *world, unsigned number, bool worked)
{
	struct kube_obj *old = NULL;
	char text[600];
	snprintf(text, sizeof(text),
		 "{\"metadata\":{\"name\":\"c-%u\",\"namespace\":\"n\",\"uid\":\"u%u\","
		 "\"resourceVersion\":\"%u\"%s},\"spec\":{\"poolRef\":{\"apiGroup\":"
		 "\"ipam.cluster.x-k8s.io\",\"kind\":\"InClusterIPPool\",\"name\":\"p\"}}}",
		 number, number, number + worked * CLAIMS + 1,
		 worked ? ",\"finalizers\":[\"ipam.cluster.x-k8s.io/ReleaseAddress\"]" : "");
	kube_store_put(world->claims, decode(world->codec, text), &old);
	kube_obj_unref(old);
}

static int start(void **state)
{
	struct world *world = xcalloc(1, sizeof(*world));
	void *own = NULL;
	char err[64];
	world->pool = kube_string_pool_new();
	world->codec = ipam_claim_codec(world->pool);
	world->claims = kube_store_new(NULL, 0);
	world->stores[IPAM_CLAIMS] = world->claims;
	world->stores[IPAM_ADDRESSES] = kube_store_new(NULL, 0);
	assert_int_equal(ipam_state_start(&own, ERR_TEXT(err)), 0);
	world->state = own;
	world->ctx = (struct controller_ctx){
		.stores = world->stores, .state = own, .emit = note_key, .emit_arg = world
	};
	*state = world;
	return 0;
}

static int stop(void **state)
{
	struct world *world = *state;
	ipam_state_stop(world->state);
	kube_store_free(world->claims);
	kube_store_free(world->stores[IPAM_ADDRESSES]);
	kube_codec_free(world->codec);
	kube_string_pool_free(world->pool);
	free(world);
	return 0;
}

/* Each claim that is queued has its pass, after which it is no longer new. */
static void work_off(struct world *world)
{
	for (unsigned i = 0; i < CLAIMS; i++) {
		if (world->queued[i])
			put_claim(world, i, true);
		world->queued[i] = false;
	}
	world->n_queued = 0;
}

static void parts_of_many(void **state)
{
	struct world *world = *state;
	unsigned starts = 0, passes = 0;
	for (unsigned i = 0; i < CLAIMS; i++) {
		char key[32];
		snprintf(key, sizeof(key), "claim n/c-%u", i);
		put_claim(world, i, false);
		enum ipam_admission admission = ipam_backlog_admit(world->state->backlog);
		if (admission == IPAM_QUEUE_NOW)
			note_key(world, key);
		starts += admission == IPAM_START_BACKLOG;
	}
	assert_int_equal(starts, 1);
	do {
		world->ctx.again_ns = 0;
		assert_int_equal(ipam_reconcile_backlog(&world->ctx), 0);
		assert_true(world->n_queued <= QUEUED_MAX);
		work_off(world);
		assert_true(++passes < 100);
	} while (world->ctx.again_ns != 0);
	assert_int_equal(world->n_seen, CLAIMS);
	assert_int_equal(ipam_reconcile_backlog(&world->ctx), 0);
	assert_int_equal(world->ctx.again_ns, 0);
}

/* Nothing is worked off, as while the API is away: the next part waits, but not for ever. */
static void parts_that_are_stuck(void **state)
{
	struct world *world = *state;
	unsigned passes = 0;
	for (unsigned i = 0; i < CLAIMS; i++) {
		put_claim(world, i, false);
		ipam_backlog_admit(world->state->backlog);
	}
	do {
		unsigned before = world->n_queued;
		world->ctx.again_ns = 0;
		assert_int_equal(ipam_reconcile_backlog(&world->ctx), 0);
		assert_true(world->n_queued <= before + QUEUED_MAX / 2);
		assert_true(++passes < 1000);
	} while (world->ctx.again_ns != 0);
	assert_true(passes > 20);
	assert_int_equal(world->n_seen, CLAIMS);
}

static void kept_claim(void **state)
{
	struct world *world = *state;
	struct kube_obj *obj = decode(
		world->codec,
		"{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\",\"uid\":\"u\","
		"\"resourceVersion\":"
		"\"7\",\"generation\":3,\"creationTimestamp\":\"1970-01-01T00:00:09Z\",\"labels\":{"
		"\"cluster.x-k8s.io/cluster-name\":\"prod\"},\"annotations\":{"
		"\"ipam.fairlead.dev/rejected-address\":\"x\"},\"finalizers\":[\"other\"]},"
		"\"spec\":{\"poolRef\":{\"apiGroup\":\"ipam.cluster.x-k8s.io\",\"kind\":"
		"\"GlobalInClusterIPPool\",\"name\":\"p\"}},\"status\":{\"addressRef\":{\"name\":"
		"\"a\"},"
		"\"conditions\":[{\"type\":\"Other\",\"reason\":\"X\"},{\"type\":\"Ready\","
		"\"reason\":"
		"\"PoolExhausted\"}]}}");
	const struct ipam_claim *claim = ipam_claim_of(obj);
	assert_true(ipam_uid_is(&claim->uid, "u"));
	assert_string_equal(claim->pool_name, "p");
	assert_string_equal(ipam_pool_kind_text(claim->pool_kind), "GlobalInClusterIPPool");
	assert_string_equal(claim->cluster, "prod");
	assert_ptr_equal(ipam_address_ref_of(claim), claim->o.name);
	assert_int_equal(claim->generation, 3);
	assert_int_equal(claim->created_s, 9);
	assert_int_equal(claim->reason, IPAM_REASON_POOL_EXHAUSTED);
	assert_true(claim->has_other_finalizers && !claim->has_finalizer && claim->has_conditions);
	assert_string_equal(ipam_cluster_label_of(claim), "prod");
	assert_false(claim->is_paused || ipam_is_new_claim(claim));
	kube_obj_unref(obj);
}

#define UID "0a1b2c3d-4e5f-4012-8a9b-0123456789ab"

/* Uids of any form come back as they were; texts that differ from the usual ones are kept. */
static void kept_rare_texts(void **state)
{
	static const char *const uids[] = { UID,
					    "",
					    "u",
					    UID "0",
					    "0A1b2c3d-4e5f-4012-8a9b-0123456789ab",
					    "0a1b2c3d-4e5f-4012-009b-0123456789ab",
					    "0a1b2c3d4e5f-4012-8a9b-0123456789ab-",
					    "0a1b2c3d-4e5f-4012-8a9b-0123456789a" };
	struct world *world = *state;
	for (size_t i = 0; i < ARRAY_LEN(uids); i++) {
		char json[512], buf[IPAM_UID_TEXT_MAX];
		snprintf(json, sizeof(json),
			 "{\"metadata\":{\"name\":\"a\",\"uid\":\"%s\",\"labels\":{"
			 "\"cluster.x-k8s.io/cluster-name\":\"old\"},\"deletionTimestamp\":"
			 "\"1970-01-01T00:00:09Z\"},\"spec\":{\"clusterName\":\"new\"},"
			 "\"status\":{\"addressRef\":{\"name\":\"other\"}}}",
			 uids[i]);
		struct kube_obj *obj = decode(world->codec, json);
		const struct ipam_claim *claim = ipam_claim_of(obj);
		assert_string_equal(ipam_uid_text(&claim->uid, buf), uids[i]);
		assert_string_equal(claim->cluster, "new");
		assert_string_equal(ipam_cluster_label_of(claim), "old");
		assert_string_equal(ipam_address_ref_of(claim), "other");
		assert_int_equal(claim->deleted_s, 9);
		kube_obj_unref(obj);
	}
}

static struct kube_obj *decode_address(struct kube_codec *codec, const char *uid)
{
	char json[256];
	snprintf(json, sizeof(json), "{\"metadata\":{\"name\":\"a\",\"uid\":\"%s\"}}", uid);
	return decode(codec, json);
}

static void rejected_address(void **state)
{
	struct world *world = *state;
	struct kube_codec *codec = ipam_address_codec(world->pool);
	struct kube_obj *claim =
		decode(world->codec, "{\"metadata\":{\"name\":\"a\",\"annotations\":{"
				     "\"ipam.fairlead.dev/rejected-address\":\"" UID "\"}}}");
	struct kube_obj *other_claim = decode(world->codec, "{\"metadata\":{\"name\":\"b\"}}");
	struct kube_obj *address = decode_address(codec, UID);
	struct kube_obj *other = decode_address(codec, "u");
	assert_true(ipam_is_rejected(ipam_claim_of(claim), ipam_address_of(address)));
	assert_false(ipam_is_rejected(ipam_claim_of(claim), ipam_address_of(other)));
	assert_false(ipam_is_rejected(ipam_claim_of(other_claim), ipam_address_of(address)));
	assert_string_equal(ipam_address_ref_of(ipam_claim_of(claim)), "");
	assert_string_equal(ipam_claim_name_of(ipam_address_of(address)), "");
	kube_obj_unref(claim);
	kube_obj_unref(other_claim);
	kube_obj_unref(address);
	kube_obj_unref(other);
	kube_codec_free(codec);
}

static void kept_address(void **state)
{
	struct world *world = *state;
	struct kube_codec *codec = ipam_address_codec(world->pool);
	struct kube_obj *obj = decode(
		codec,
		"{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\",\"uid\":\"u\","
		"\"resourceVersion\":\"7\",\"ownerReferences\":["
		"{\"kind\":\"Machine\",\"uid\":\"three\"},"
		"{\"kind\":\"InClusterIPPool\",\"uid\":\"former\"},"
		"{\"kind\":\"IPAddressClaim\",\"uid\":\"one\"},"
		"{\"kind\":\"GlobalInClusterIPPool\",\"uid\":\"two\"}],\"finalizers\":[\"ipam."
		"cluster.x-k8s.io/ProtectAddress\"]},"
		"\"spec\":{\"claimRef\":{\"name\":\"b\"},\"address\":\"10.0.0.1\",\"poolRef\":"
		"{\"apiGroup\":\"other\",\"kind\":\"InClusterIPPool\",\"name\":\"p\"}}}");
	const struct ipam_address *address = ipam_address_of(obj);
	struct ipam_block block;
	assert_string_equal(ipam_claim_name_of(address), "b");
	assert_true(address->has_finalizer && ipam_is_owned_by(address, "one") &&
		    ipam_is_owned_by(address, "two"));
	assert_false(ipam_is_owned_by(address, "three") || ipam_is_our_address(address));
	assert_true(ipam_block_of(address, &block) && block.first == 0x0a000001);
	kube_obj_unref(obj);
	kube_codec_free(codec);
}

/* ---- claims that are bound ---- */

struct bound_world {
	struct kube_string_pool *strings;
	struct kube_codec *codecs[3]; /* of claims, addresses and pools, as the watches */
	struct kube_store *stores[IPAM_WATCHES];
	struct ipam_state *state;
	struct controller_ctx ctx;
	unsigned version;
	char keys[512]; /* that were queued, each with a ';' */
};

static void note_keys(void *arg, const char *key)
{
	struct bound_world *world = arg;
	size_t n = strlen(world->keys);
	snprintf(world->keys + n, sizeof(world->keys) - n, "%s;", key);
}

/* As a watch does: the store has the object, then keys are queued for it. */
static void put_object(struct bound_world *world, size_t watch, const char *text)
{
	struct kube_obj *old = NULL, *obj = decode(world->codecs[watch], text);
	kube_obj_ref(obj);
	kube_store_put(world->stores[watch], obj, &old);
	if (old != NULL)
		ipam_watches[watch].keys(&world->ctx, old, note_keys, world);
	ipam_watches[watch].keys(&world->ctx, obj, note_keys, world);
	kube_obj_unref(old);
	kube_obj_unref(obj);
}

static void delete_object(struct bound_world *world, size_t watch, const char *name)
{
	struct kube_obj *last = kube_store_del(world->stores[watch], SLICE("n"), slice_of(name));
	assert_non_null(last);
	ipam_watches[watch].keys(&world->ctx, last, note_keys, world);
	kube_obj_unref(last);
}

#define POOL_REF                                                                            \
	"\"poolRef\":{\"apiGroup\":\"ipam.cluster.x-k8s.io\",\"kind\":\"InClusterIPPool\"," \
	"\"name\":\"p\"}"

static void put_bound_claim(struct bound_world *world, const char *name, const char *reason)
{
	char text[800];
	snprintf(text, sizeof(text),
		 "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\",\"uid\":\"u\","
		 "\"resourceVersion\":\"%u\",\"finalizers\":[\"" IPAM_RELEASE_FINALIZER "\"]},"
		 "\"spec\":{" POOL_REF "},\"status\":{\"addressRef\":{\"name\":\"%s\"},"
		 "\"conditions\":[{\"type\":\"Ready\",\"reason\":\"%s\"}]}}",
		 name, ++world->version, name, reason);
	put_object(world, IPAM_CLAIMS, text);
}

static void put_address(struct bound_world *world, const char *name, const char *claim,
			const char *pool_uid)
{
	char text[800];
	snprintf(text, sizeof(text),
		 "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\",\"uid\":\"a\","
		 "\"resourceVersion\":\"%u\",\"finalizers\":[\"" IPAM_ADDRESS_FINALIZER "\"],"
		 "\"ownerReferences\":[{\"kind\":\"IPAddressClaim\",\"uid\":\"u\"},"
		 "{\"kind\":\"InClusterIPPool\",\"uid\":\"%s\"}]},\"spec\":{" POOL_REF
		 ",\"claimRef\":{\"name\":\"%s\"},\"address\":\"10.0.0.1\"}}",
		 name, ++world->version, pool_uid, claim);
	put_object(world, IPAM_ADDRESSES, text);
}

static void put_pool(struct bound_world *world)
{
	char text[200];
	snprintf(text, sizeof(text),
		 "{\"metadata\":{\"name\":\"p\",\"namespace\":\"n\",\"uid\":\"pool\","
		 "\"resourceVersion\":\"%u\"}}",
		 ++world->version);
	put_object(world, IPAM_POOLS, text);
}

static int start_bound(void **state)
{
	static const size_t kept[] = { IPAM_CLAIMS,	  IPAM_ADDRESSES,
				       IPAM_POOLS,	  IPAM_GLOBAL_POOLS,
				       IPAM_PREFIX_POOLS, IPAM_GLOBAL_PREFIX_POOLS };
	struct bound_world *world = xcalloc(1, sizeof(*world));
	void *own = NULL;
	char err[64];
	world->strings = kube_string_pool_new();
	world->codecs[IPAM_CLAIMS] = ipam_claim_codec(world->strings);
	world->codecs[IPAM_ADDRESSES] = ipam_address_codec(world->strings);
	world->codecs[IPAM_POOLS] =
		kube_tree_codec(api_kind_find(IPAM_GROUP, IPAM_POOL_KIND), NULL, 0);
	for (size_t i = 0; i < ARRAY_LEN(kept); i++)
		world->stores[kept[i]] = kube_store_new(ipam_watches[kept[i]].indexes,
							ipam_watches[kept[i]].n_indexes);
	assert_int_equal(ipam_state_start(&own, ERR_TEXT(err)), 0);
	world->state = own;
	world->ctx = (struct controller_ctx){
		.stores = world->stores, .state = own, .emit = note_keys, .emit_arg = world
	};
	*state = world;
	return 0;
}

static int stop_bound(void **state)
{
	struct bound_world *world = *state;
	ipam_state_stop(world->state);
	for (size_t i = 0; i < IPAM_WATCHES; i++)
		kube_store_free(world->stores[i]);
	for (size_t i = 0; i < ARRAY_LEN(world->codecs); i++)
		kube_codec_free(world->codecs[i]);
	kube_string_pool_free(world->strings);
	free(world);
	return 0;
}

static void expect_keys(struct bound_world *world, const char *keys)
{
	assert_string_equal(world->keys, keys);
	world->keys[0] = '\0';
}

static void reconcile_backlog(struct bound_world *world)
{
	world->ctx.again_ns = 0;
	assert_int_equal(ipam_reconcile_backlog(&world->ctx), 0);
	assert_int_equal(world->ctx.again_ns, 0);
}

#define POOL_P "pool InClusterIPPool/n/p;"

/* Only a claim that is bound, with a complete address, needs no pass. */
static void pass_of_bound_claim(void **state)
{
	struct bound_world *world = *state;
	put_pool(world);
	reconcile_backlog(world);
	expect_keys(world, POOL_P);
	put_bound_claim(world, "c", "Allocated"); /* its address is missing */
	expect_keys(world, "claim n/c;");
	put_address(world, "c", "c", "pool");
	expect_keys(world, POOL_P);
	put_bound_claim(world, "c", "Allocated");
	expect_keys(world, "");
	put_address(world, "c", "c", "former pool");
	expect_keys(world, "claim n/c;" POOL_P "claim n/c;" POOL_P);
	put_address(world, "c", "c", "pool");
	expect_keys(world, POOL_P POOL_P);
	put_bound_claim(world, "c", "PoolExhausted");
	expect_keys(world, "claim n/c;claim n/c;");
	put_bound_claim(world, "c", "Allocated");
	expect_keys(world, "");
	put_address(world, "other", "c", "pool"); /* in the way of a claim 'other' */
	expect_keys(world, "claim n/other;" POOL_P);
	delete_object(world, IPAM_CLAIMS, "c");
	expect_keys(world, "claim n/c;");
	put_bound_claim(world, "c", "Allocated");
	expect_keys(world, "");
	delete_object(world, IPAM_ADDRESSES, "c");
	expect_keys(world, "claim n/c;" POOL_P);
}

/* Whatever the lists bring, the first pass queues what has something to do, and nothing is queued before. */
static void first_pass(void **state)
{
	struct bound_world *world = *state;
	put_bound_claim(world, "bound", "Allocated");
	expect_keys(world, IPAM_BACKLOG_KEY ";");
	put_bound_claim(world, "lost", "Allocated");
	put_bound_claim(world, "waits", "PoolExhausted");
	put_address(world, "waits", "waits", "pool");
	put_address(world, "bound", "bound", "pool");
	put_address(world, "orphan", "gone", "pool");
	put_pool(world);
	expect_keys(world, POOL_P POOL_P POOL_P POOL_P);
	reconcile_backlog(world);
	expect_keys(world, "claim n/lost;claim n/waits;claim n/gone;claim n/orphan;");
	reconcile_backlog(world);
	expect_keys(world, "");
}

/* As after the end of a rival: passes were run that did nothing. */
static void queue_all_again(void **state)
{
	struct bound_world *world = *state;
	put_pool(world);
	put_bound_claim(world, "lost", "Allocated");
	reconcile_backlog(world);
	expect_keys(world, POOL_P IPAM_BACKLOG_KEY ";claim n/lost;");
	ipam_queue_everything(&world->ctx);
	expect_keys(world, POOL_P IPAM_BACKLOG_KEY ";");
	reconcile_backlog(world);
	expect_keys(world, "claim n/lost;");
}

/* A claim that waits is removed by force and made anew for another provider: it holds up nobody. */
static void made_anew_for_others(void **state)
{
	struct bound_world *world = *state;
	struct ipam_allocator *allocator = world->state->allocator;
	struct ipam_pool_spec spec = { .family = AF_INET };
	net_ip_number number;
	net_ip_ranges_add(&spec.usable, (struct net_ip_range){ 1, 1 });
	ipam_allocator_set_pool(allocator, &world->ctx, "pool", "", &spec);
	ipam_pool_spec_done(&spec);
	assert_int_equal(ipam_allocator_take(allocator, &world->ctx, "pool", "n/one", 1, &number),
			 IPAM_TAKEN);
	assert_int_equal(ipam_allocator_take(allocator, &world->ctx, "pool", "n/two", 2, &number),
			 IPAM_EXHAUSTED);
	assert_int_equal(ipam_allocator_take(allocator, &world->ctx, "pool", "n/six", 3, &number),
			 IPAM_EXHAUSTED);
	put_object(world, IPAM_CLAIMS,
		   "{\"metadata\":{\"name\":\"two\",\"namespace\":\"n\",\"uid\":\"u\","
		   "\"resourceVersion\":\"1\"},\"spec\":{\"poolRef\":{\"apiGroup\":\"other\","
		   "\"kind\":\"Pool\",\"name\":\"p\"}}}");
	expect_keys(world, "");
	ipam_allocator_forget(allocator, &world->ctx, "n/one");
	expect_keys(world, "claim n/six;");
	assert_int_equal(ipam_allocator_take(allocator, &world->ctx, "pool", "n/six", 3, &number),
			 IPAM_TAKEN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(parts_of_many, start, stop),
		cmocka_unit_test_setup_teardown(parts_that_are_stuck, start, stop),
		cmocka_unit_test_setup_teardown(kept_claim, start, stop),
		cmocka_unit_test_setup_teardown(kept_rare_texts, start, stop),
		cmocka_unit_test_setup_teardown(rejected_address, start, stop),
		cmocka_unit_test_setup_teardown(kept_address, start, stop),
		cmocka_unit_test_setup_teardown(pass_of_bound_claim, start_bound, stop_bound),
		cmocka_unit_test_setup_teardown(first_pass, start_bound, stop_bound),
		cmocka_unit_test_setup_teardown(queue_all_again, start_bound, stop_bound),
		cmocka_unit_test_setup_teardown(made_anew_for_others, start_bound, stop_bound),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
