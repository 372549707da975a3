/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records: what becomes of each type, limits, no traces of the object before, and what one costs
 * beside a tree. */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "api/kind.h"
#include "api/meta.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "kube/decode/compact.h"
#include "kube/decode/record.h"
#include "kube/decode/string_pool_test.h"
#include "kube/decode/tree.h"
#include "kube/informer/store.h"

/* As an IPAM controller would keep it. */
struct claim {
	struct kube_record head;
	const char *pool_kind, *pool, *address;
	struct kube_record_texts owners, finalizers;
	uint64_t created_ns;
	int64_t prefix;
	bool paused;
};

static const struct kube_record_field fields[] = {
	{ "spec.poolRef.kind", KUBE_RECORD_SHARED, offsetof(struct claim, pool_kind) },
	{ "spec.poolRef.name", KUBE_RECORD_SHARED, offsetof(struct claim, pool) },
	{ "status.addressRef.name", KUBE_RECORD_TEXT, offsetof(struct claim, address) },
	{ "metadata.ownerReferences[].name", KUBE_RECORD_TEXTS, offsetof(struct claim, owners) },
	{ "metadata.finalizers[]", KUBE_RECORD_TEXTS, offsetof(struct claim, finalizers) },
	{ "metadata.creationTimestamp", KUBE_RECORD_TIME, offsetof(struct claim, created_ns) },
	{ "spec.prefix", KUBE_RECORD_INTEGER, offsetof(struct claim, prefix) },
	{ "spec.paused", KUBE_RECORD_BOOL, offsetof(struct claim, paused) },
};

static const char *const tree_paths[] = { "spec.poolRef.kind",	    "spec.poolRef.name",
					  "status.addressRef.name", "metadata.ownerReferences",
					  "metadata.finalizers",    "metadata.creationTimestamp" };

static const struct kube_record_kind claim_kind = { "ipam.cluster.x-k8s.io", "IPAddressClaim",
						    sizeof(struct claim), fields,
						    ARRAY_LEN(fields) };

struct rig {
	struct kube_string_pool *pool;
	struct kube_codec *codec;
};

static int setup(void **state)
{
	static struct rig rig;
	rig.pool = kube_string_pool_new();
	rig.codec = kube_record_codec(&claim_kind, rig.pool);
	*state = &rig;
	return 0;
}

static int teardown(void **state)
{
	struct rig *rig = *state;
	kube_codec_free(rig->codec);
	assert_int_equal(kube_string_pool_count(rig->pool), 0);
	kube_string_pool_free(rig->pool);
	return 0;
}

static const struct claim *claim_of(const struct kube_obj *obj)
{
	return (const struct claim *)(const void *)obj;
}

static void add_texts(struct strbuf *out, const struct kube_record_texts *texts)
{
	strbuf_adds(out, " [");
	for (uint32_t i = 0; i < texts->n; i++)
		strbuf_addf(out, "%s%s", i != 0 ? "," : "", texts->v[i]);
	strbuf_adds(out, "]");
}

static void print_claim(struct strbuf *out, const struct claim *claim)
{
	const struct kube_record *head = &claim->head;
	strbuf_addf(out, "%s/%s@%s %s %lld %llu", head->o.ns, head->o.name, head->o.rv, head->uid,
		    (long long)head->generation, (unsigned long long)(head->deleted_ns / NS_PER_S));
	strbuf_addf(out, " %s:%s %s", claim->pool_kind, claim->pool, claim->address);
	add_texts(out, &claim->owners);
	add_texts(out, &claim->finalizers);
	strbuf_addf(out, " %llu %lld %s", (unsigned long long)claim->created_ns,
		    (long long)claim->prefix, claim->paused ? "paused" : "runs");
}

#define META(more) "{\"metadata\":{\"name\":\"c\"" more
#define NOTHING	   " :  [] [] 0 0 runs"

static const struct {
	const char *in, *out; /* NULL: refused with the code */
	int code;
} rows[] = {
	{ "{\"kind\":\"IPAddressClaim\",\"apiVersion\":\"x/v1\",\"metadata\":{\"name\":\"c\","
	  "\"namespace\":\"n\",\"uid\":\"u-1\",\"resourceVersion\":\"12\",\"generation\":4,"
	  "\"deletionTimestamp\":\"1970-01-01T00:00:05Z\",\"creationTimestamp\":"
	  "\"1970-01-01T01:00:00.000001+01:00\",\"finalizers\":[\"a/b\",\"\",\"c\"],"
	  "\"ownerReferences\":[{\"name\":\"x\",\"uid\":\"y\"},{},{\"name\":null},{\"name\":\"z\"}]"
	  "},"
	  "\"spec\":{\"paused\":true,\"prefix\":-9223372036854775808,\"poolRef\":{\"name\":\"p\","
	  "\"kind\":\"Pool\"}},\"status\":{\"addressRef\":{\"name\":\"addr\\u00e9\"}}}",
	  "n/c@12 u-1 4 5 Pool:p addr\xc3\xa9 [x,z] [a/b,,c] 1000 -9223372036854775808 paused", 0 },
	{ META("}}"), "/c@  0 0" NOTHING, 0 },
	/* Other types count as missing; the last of two members counts. */
	{ META("},\"spec\":{\"paused\":\"yes\",\"prefix\":\"1\",\"poolRef\":{\"name\":5,\"kind\":"
	       "{}}},\"status\":{\"addressRef\":[]}}"),
	  "/c@  0 0" NOTHING, 0 },
	{ META(",\"creationTimestamp\":7,\"finalizers\":{\"a\":\"b\"},\"ownerReferences\":[\"x\"]}"
	       "}"),
	  "/c@  0 0" NOTHING, 0 },
	{ META("},\"spec\":{\"poolRef\":{\"name\":\"a\",\"name\":\"b\"}}}"),
	  "/c@  0 0 :b  [] [] 0 0 runs", 0 },
	{ "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"c\"}}", NULL, ERR_TYPE },
	{ "{\"metadata\":{}}", NULL, ERR_PARSE },
	{ META("}"), NULL, ERR_PARSE },
	{ META(",\"uid\":\"a\\u0000b\"}}"), NULL, ERR_PARSE },
	{ META(",\"deletionTimestamp\":\"soon\"}}"), NULL, ERR_PARSE },
	{ META("},\"spec\":{\"prefix\":9223372036854775807}}"),
	  "/c@  0 0 :  [] [] 0 9223372036854775807 runs", 0 },
	{ META("},\"spec\":{\"prefix\":9223372036854775808}}"), NULL, ERR_RANGE },
	{ META("},\"spec\":{\"prefix\":-9223372036854775809}}"), NULL, ERR_RANGE },
	{ META("},\"spec\":{\"prefix\":1.5}}"), NULL, ERR_RANGE },
};

/* With one codec, and a small object after each: nothing of one may show up in the next. */
static void every_type(void **state)
{
	struct rig *rig = *state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
		struct kube_obj *obj = NULL;
		int r = rig->codec->decode(rig->codec, slice_of(rows[i].in), &obj);
		if (r != rows[i].code)
			fail_msg("%s: %d", rows[i].in, r);
		if (r == 0) {
			print_claim(&out, claim_of(obj));
			assert_string_equal(out.s, rows[i].out);
		}
		kube_obj_unref(obj);
		strbuf_reset(&out);
		assert_int_equal(rig->codec->decode(rig->codec, slice_of(META("}}")), &obj), 0);
		print_claim(&out, claim_of(obj));
		assert_string_equal(out.s, "/c@  0 0" NOTHING);
		kube_obj_unref(obj);
	}
}

static int decode_many(struct rig *rig, size_t count, size_t bytes)
{
	CLEANUP(strbuf_done) struct strbuf json = STRBUF_INIT;
	struct kube_obj *obj = NULL;
	strbuf_adds(&json, META(",\"finalizers\":["));
	for (size_t i = 0; i < count; i++) {
		strbuf_adds(&json, i != 0 ? ",\"" : "\"");
		for (size_t k = 0; k < bytes; k++)
			strbuf_addc(&json, 'x');
		strbuf_addc(&json, '"');
	}
	strbuf_adds(&json, "]}}");
	int r = rig->codec->decode(rig->codec, strbuf_slice(&json), &obj);
	if (r == 0)
		assert_int_equal(claim_of(obj)->finalizers.n, count);
	kube_obj_unref(obj);
	return r;
}

static void limits(void **state)
{
	assert_int_equal(decode_many(*state, KUBE_RECORD_TEXTS_MAX, 1), 0);
	assert_int_equal(decode_many(*state, KUBE_RECORD_TEXTS_MAX + 1, 1), ERR_LIMIT);
	assert_int_equal(decode_many(*state, 1, KUBE_RECORD_BYTES_MAX - 10), 0);
	assert_int_equal(decode_many(*state, 1, KUBE_RECORD_BYTES_MAX), ERR_LIMIT);
	assert_int_equal(decode_many(*state, 300, 1000), ERR_LIMIT);
}

static void identity(void **state)
{
	struct rig *rig = *state;
	struct kube_obj *obj = NULL;
	assert_int_equal(rig->codec->decode(rig->codec, slice_of(rows[0].in), &obj), 0);
	json_t *tree = kube_record_identity(kube_record_of(obj));
	assert_string_equal(api_kind(tree), "IPAddressClaim");
	assert_string_equal(api_version(tree), "ipam.cluster.x-k8s.io/v1beta2");
	assert_string_equal(api_namespace(tree), "n");
	assert_string_equal(api_name(tree), "c");
	assert_string_equal(api_uid(tree), "u-1");
	json_decref(tree);
	kube_obj_unref(obj);
}

/* ---- what it costs ---- */

/* A bound claim as Cluster API has it. */
static void write_claim(struct strbuf *out, unsigned number)
{
	strbuf_reset(out);
	strbuf_addf(
		out,
		"{\"metadata\":{\"name\":\"workers-%05u-0-0\",\"namespace\":\"cluster-%u\","
		"\"uid\":\"4b2f7a34-0d6b-4c11-9b0e-%012u\",\"resourceVersion\":\"%u\","
		"\"generation\":1,\"creationTimestamp\":\"2026-11-15T09:30:00Z\",\"finalizers\":["
		"\"ipam.cluster.x-k8s.io/ReleaseAddress\"],\"labels\":{"
		"\"cluster.x-k8s.io/cluster-name\":\"cluster-%u\"},\"ownerReferences\":[{"
		"\"apiVersion\":\"infrastructure.cluster.x-k8s.io/v1beta1\",\"kind\":\"VSphereVM\","
		"\"name\":\"workers-%05u\",\"uid\":\"7b2f7a34-0d6b-4c11-9b0e-%012u\"}],"
		"\"managedFields\":[{\"manager\":\"controller\",\"operation\":\"Update\","
		"\"fieldsV1\":{\"f:spec\":{\"f:poolRef\":{}}}}]},\"spec\":{\"clusterName\":"
		"\"cluster-%u\",\"poolRef\":{\"apiGroup\":\"ipam.cluster.x-k8s.io\",\"kind\":"
		"\"InClusterIPPool\",\"name\":\"pool\"}},\"status\":{\"addressRef\":{\"name\":"
		"\"workers-%05u-0-0\"},\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\","
		"\"reason\":\"Bound\",\"message\":\"\",\"lastTransitionTime\":"
		"\"2026-11-15T09:30:00Z\"}]}}",
		number, number % 50, number, 100000 + number, number % 50, number, number,
		number % 50, number);
}

enum { MANY = 2000 };

struct cost {
	size_t bytes, ns;
};

static struct cost measure(struct kube_codec *codec)
{
	static struct kube_obj *kept[MANY];
	CLEANUP(strbuf_done) struct strbuf json = STRBUF_INIT;
	uint64_t ns = 0;
	write_claim(&json, 1); /* what codecs allocate once is no cost of an object */
	assert_int_equal(codec->decode(codec, strbuf_slice(&json), &kept[0]), 0);
	kube_obj_unref(kept[0]);
	size_t before = mallinfo2().uordblks;
	for (unsigned i = 0; i < MANY; i++) {
		write_claim(&json, i);
		uint64_t from = clock_mono_ns();
		assert_int_equal(codec->decode(codec, strbuf_slice(&json), &kept[i]), 0);
		ns += clock_mono_ns() - from;
	}
	struct cost cost = { (mallinfo2().uordblks - before) / MANY, ns / MANY };
	for (unsigned i = 0; i < MANY; i++)
		kube_obj_unref(kept[i]);
	return cost;
}

/* Bytes are compared; times are printed, and are no test. */
static void costs_less_than_a_tree(void **state)
{
	struct rig *rig = *state;
	struct kube_codec *tree =
		kube_tree_codec(api_kind_find("ipam.cluster.x-k8s.io", "IPAddressClaim"),
				tree_paths, ARRAY_LEN(tree_paths));
	struct cost as_tree = measure(tree), as_record = measure(rig->codec);
	kube_codec_free(tree);
	print_message("an IPAddressClaim: %zu bytes and %zu ns as a tree, %zu bytes and %zu ns as "
		      "a record\n",
		      as_tree.bytes, as_tree.ns, as_record.bytes, as_record.ns);
	if (as_tree.bytes == 0)
		skip(); /* a sanitizer's allocator counts nothing */
	assert_true(as_record.bytes * 4 < as_tree.bytes);
}

static void pool_of(const struct kube_obj *obj, kube_index_emit emit, void *ctx)
{
	emit(ctx, slice_of(claim_of(obj)->pool));
}

static bool count_claim(void *ctx, struct kube_obj *obj)
{
	assert_string_equal(claim_of(obj)->pool, "pool");
	++*(unsigned *)ctx;
	return true;
}

static void indexes_know_records(void **state)
{
	static const kube_index_fn indexes[] = { pool_of };
	CLEANUP(strbuf_done) struct strbuf json = STRBUF_INIT;
	struct rig *rig = *state;
	struct kube_store *store = kube_store_new(indexes, 1);
	struct kube_obj *obj, *old = NULL;
	unsigned count = 0;
	for (unsigned i = 0; i < 20; i++) {
		write_claim(&json, i);
		assert_int_equal(rig->codec->decode(rig->codec, strbuf_slice(&json), &obj), 0);
		assert_int_equal(kube_store_put(store, obj, &old), KUBE_STORE_ADDED);
	}
	kube_store_each_by(store, 0, SLICE("pool"), count_claim, &count);
	assert_int_equal(count, 20);
	kube_store_each_by(store, 0, SLICE("other"), count_claim, &count);
	assert_int_equal(count, 20);
	obj = kube_store_get(store, SLICE("cluster-3"), SLICE("workers-00003-0-0"));
	assert_string_equal(claim_of(obj)->address, "workers-00003-0-0");
	kube_obj_unref(obj);
	kube_store_free(store);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(every_type),		 T(limits), T(identity), T(costs_less_than_a_tree),
		T(indexes_know_records),
	};
	return cmocka_run_group_tests_name("kube/record", tests, NULL, NULL);
}
