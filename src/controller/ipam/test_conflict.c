/* SPDX-License-Identifier: GPL-3.0-or-later */
/* PR-5: two IPAddress objects with an address in common, in stores that are filled by hand and on a scripted
 * server: which of them gives way, which requests decide it, and what is written before it goes. PR-13: how pools
 * report them. */
#include "controller/ipam/conflict.h"

#include <stdlib.h>
#include <string.h>

#include "api/kind.h"
#include "base/err.h"
#include "base/mem.h"
#include "controller/ipam/report/overlap.h"
#include "controller/ipam/state.h"
#include "controller/ipam/watches.h"
#include "kube/decode/string_pool.h"
#include "kube/decode/tree.h"
#include "kube/test_rig.h"

#define UID(last) "00000000-0000-4000-8000-00000000000" last
#define OWN_UID	  UID("5")

#define POOL(kind, place, network) \
	POOL_OF(kind, place, network, "\"addresses\":[\"192.0.2.0/24\"],\"prefix\":24")
#define PREFIX_POOL(name, network, length)                                                   \
	POOL_OF(IPAM_PREFIX_POOL_KIND, "\"namespace\":\"a\",\"name\":\"" name "\"", network, \
		"\"prefixes\":[\"fd00::/48\"],\"allocationPrefixLength\":" length)
#define POOL_OF(kind, place, network, spec)                                                       \
	"{\"apiVersion\":\"ipam.cluster.x-k8s.io/v1alpha2\",\"kind\":\"" kind "\",\"metadata\":{" \
	"\"uid\":\"u\",\"resourceVersion\":\"1\",\"generation\":1," place ",\"annotations\":{"    \
	"\"" IPAM_NETWORK_ANNOTATION "\":\"" network "\"}},\"spec\":{" spec "}}"
#define POOL_REF(kind, name)                                                         \
	"\"poolRef\":{\"apiGroup\":\"ipam.cluster.x-k8s.io\",\"kind\":\"" kind "\"," \
	"\"name\":\"" name "\"}"

/* Of the other address: pools of the same network, and one of another. */
#define SAME_POOL     POOL_REF(IPAM_POOL_KIND, "pool")
#define NEIGHBOUR     POOL_REF(IPAM_POOL_KIND, "neighbour")
#define GLOBAL	      POOL_REF(IPAM_GLOBAL_POOL_KIND, "global")
#define PAUSED_POOL   POOL_REF(IPAM_POOL_KIND, "paused")
#define OTHER_NETWORK POOL_REF(IPAM_POOL_KIND, "far")
/* Of another provider: it counts in the unnamed network. */
#define UNNAMED_POOL POOL_REF(IPAM_POOL_KIND, "unnamed")
#define FOREIGN_POOL \
	"\"poolRef\":{\"apiGroup\":\"ipam.metal3.io\",\"kind\":\"IPPool\",\"name\":\"pool\"}"

/* With prefixes, and with addresses of these. */
#define PREFIXES		POOL_REF(IPAM_PREFIX_POOL_KIND, "prefixes")
#define WIDE_PREFIXES		POOL_REF(IPAM_PREFIX_POOL_KIND, "wide")
#define FAR_PREFIXES		POOL_REF(IPAM_PREFIX_POOL_KIND, "far")
#define UNNAMED_PREFIXES	POOL_REF(IPAM_PREFIX_POOL_KIND, "unnamed")
#define SIX			POOL_REF(IPAM_POOL_KIND, "six")

#define USUAL_NUMBER		NUMBER("192.0.2.7", "24")
#define NUMBER(address, prefix) "\"address\":\"" address "\",\"prefix\":" prefix

/* Claims as the API has them. The version is newer than the watch's. */
#define CLAIM(rest)   "{\"metadata\":{\"resourceVersion\":\"70\"" rest "}"
#define OPEN	      CLAIM("}")
#define BOUND(name)   CLAIM("},\"status\":{\"addressRef\":{\"name\":\"" name "\"}}")
#define PAUSED	      CLAIM(",\"annotations\":{\"" IPAM_PAUSED_ANNOTATION "\":\"\"}}")
#define REJECTED(uid) ",\"annotations\":{\"" IPAM_REJECTED_ANNOTATION "\":\"" uid "\"}"

#define ASK_OWN	      "GET own; "
#define ASK_BOTH      "GET own; GET other; "
#define WRITE_OWN     "PATCH own; "

struct row {
	const char *label;
	/* In the watch. */
	const char *own_meta, *claim_meta, *claim_status; /* further members; NULL: none */
	const char *own_pool;				  /* NULL: the first one */
	const char *own_number, *other_number;		  /* NULL: the usual one */
	const char *other_pool;				  /* NULL: there is no other address */
	const char *
		other_second; /* of its creation; both are made in second 5 unless this says else */
	const char *other_uid;	   /* NULL: a smaller one than ours */
	const char *other_cluster; /* NULL: its claim has none, and is not in the watch yet */
	/* In the API: the claims, NULL if they do not exist; and statuses of answers in place of 200. */
	const char *own, *other;
	int own_status, other_status, patch_status;
	/* The outcome. */
	int ret;
	enum ipam_conflict conflict;
	const char *requests;
};

static const struct row rows[] = {
	/* Nothing to decide. */
	{ "alone", .own = OPEN, .conflict = IPAM_NO_CONFLICT, .requests = "" },
	{ "the other one is of another network", .other_pool = OTHER_NETWORK, .own = OPEN,
	  .other = BOUND("other"), .conflict = IPAM_NO_CONFLICT, .requests = "" },
	{ "bound, as the watch shows", .claim_status = "\"addressRef\":{\"name\":\"own\"}",
	  .other_pool = SAME_POOL, .conflict = IPAM_NO_CONFLICT, .requests = "" },
	{ "bound, which the watch does not show yet", .other_pool = SAME_POOL, .own = BOUND("own"),
	  .other = BOUND("other"), .conflict = IPAM_NO_CONFLICT, .requests = ASK_OWN },
	{ "bound and being deleted", .own_meta = ",\"deletionTimestamp\":\"2026-01-01T00:00:09Z\"",
	  .own = BOUND("own"), .conflict = IPAM_NO_CONFLICT, .requests = ASK_OWN },

	/* The other one stays. */
	{ "the other one is bound", .other_pool = SAME_POOL, .other_second = "9", .own = OPEN,
	  .other = BOUND("other"), .conflict = IPAM_MUST_GO, .requests = ASK_BOTH WRITE_OWN },
	{ "the other one is bound, from another pool of the network", .other_pool = NEIGHBOUR,
	  .other_second = "9", .own = OPEN, .other = BOUND("other"), .conflict = IPAM_MUST_GO,
	  .requests = ASK_BOTH WRITE_OWN },
	{ "the other one is bound, from a cluster-wide pool of the network", .other_pool = GLOBAL,
	  .other_second = "9", .own = OPEN, .other = BOUND("other"), .conflict = IPAM_MUST_GO,
	  .requests = ASK_BOTH WRITE_OWN },
	{ "the other one is paused", .other_pool = SAME_POOL, .other_second = "9", .own = OPEN,
	  .other = PAUSED, .conflict = IPAM_MUST_GO, .requests = ASK_BOTH WRITE_OWN },
	{ "the other one's Cluster is missing", .other_pool = SAME_POOL, .other_second = "9",
	  .other_cluster = "gone", .own = OPEN, .other = OPEN, .conflict = IPAM_MUST_GO,
	  .requests = ASK_BOTH WRITE_OWN },
	{ "the other one's Cluster is paused", .other_pool = SAME_POOL, .other_second = "9",
	  .other_cluster = "paused", .own = OPEN, .other = OPEN, .conflict = IPAM_MUST_GO,
	  .requests = ASK_BOTH WRITE_OWN },
	{ "the other one's pool is paused", .other_pool = PAUSED_POOL, .other_second = "9",
	  .own = OPEN, .other = OPEN, .conflict = IPAM_MUST_GO, .requests = ASK_BOTH WRITE_OWN },
	{ "the other one has no claim", .other_pool = SAME_POOL, .other_second = "9", .own = OPEN,
	  .conflict = IPAM_MUST_GO, .requests = ASK_BOTH WRITE_OWN },

	/* Another provider does not give way, so it is not asked. */
	{ "the other one is another provider's, and later", .own_pool = UNNAMED_POOL,
	  .other_pool = FOREIGN_POOL, .other_second = "9", .own = OPEN, .other = OPEN,
	  .conflict = IPAM_MUST_GO, .requests = ASK_OWN WRITE_OWN },
	{ "bound before another provider had the address", .own_pool = UNNAMED_POOL,
	  .other_pool = FOREIGN_POOL, .own = BOUND("own"), .conflict = IPAM_NO_CONFLICT,
	  .requests = ASK_OWN },
	{ "another provider's, and the network has a name", .other_pool = FOREIGN_POOL, .own = OPEN,
	  .conflict = IPAM_NO_CONFLICT, .requests = "" },

	/* Prefixes: what they have in common may be a part of one, or of both. */
	{ "the other one is an address of the prefix, and bound", .own_pool = PREFIXES,
	  .own_number = NUMBER("fd00:0:0:1::", "64"), .other_pool = SIX, .other_second = "9",
	  .other_number = NUMBER("fd00:0:0:1::7", "48"), .own = OPEN, .other = BOUND("other"),
	  .conflict = IPAM_MUST_GO, .requests = ASK_BOTH WRITE_OWN },
	{ "the other one is an address of the prefix, and later", .own_pool = PREFIXES,
	  .own_number = NUMBER("fd00:0:0:1::", "64"), .other_pool = SIX, .other_second = "6",
	  .other_number = NUMBER("fd00:0:0:1:ffff:ffff:ffff:ffff", "48"), .own = OPEN,
	  .other = OPEN, .conflict = IPAM_MUST_WAIT, .requests = ASK_BOTH },
	{ "the other one is an address behind the prefix", .own_pool = PREFIXES,
	  .own_number = NUMBER("fd00:0:0:1::", "64"), .other_pool = SIX,
	  .other_number = NUMBER("fd00:0:0:2::", "48"), .own = OPEN, .other = BOUND("other"),
	  .conflict = IPAM_NO_CONFLICT, .requests = "" },
	{ "the other one is a prefix with the address, and bound", .own_pool = SIX,
	  .own_number = NUMBER("fd00:0:0:1::7", "48"), .other_pool = PREFIXES, .other_second = "9",
	  .other_number = NUMBER("fd00:0:0:1::", "64"), .own = OPEN, .other = BOUND("other"),
	  .conflict = IPAM_MUST_GO, .requests = ASK_BOTH WRITE_OWN },
	{ "the other one is a longer prefix, and earlier", .own_pool = WIDE_PREFIXES,
	  .own_number = NUMBER("fd00::", "60"), .other_pool = PREFIXES, .other_second = "4",
	  .other_number = NUMBER("fd00:0:0:f::", "64"), .own = OPEN, .other = OPEN,
	  .conflict = IPAM_MUST_GO, .requests = ASK_BOTH WRITE_OWN },
	{ "the other one is a shorter prefix, and later", .own_pool = PREFIXES,
	  .own_number = NUMBER("fd00:0:0:f::", "64"), .other_pool = WIDE_PREFIXES,
	  .other_second = "6", .other_number = NUMBER("fd00::", "60"), .own = OPEN, .other = OPEN,
	  .conflict = IPAM_MUST_WAIT, .requests = ASK_BOTH },
	{ "the other one is a shorter prefix of another network", .own_pool = PREFIXES,
	  .own_number = NUMBER("fd00:0:0:f::", "64"), .other_pool = FAR_PREFIXES,
	  .other_number = NUMBER("fd00::", "60"), .own = OPEN, .other = BOUND("other"),
	  .conflict = IPAM_NO_CONFLICT, .requests = "" },
	{ "another provider's address of the prefix", .own_pool = UNNAMED_PREFIXES,
	  .own_number = NUMBER("fd00:0:0:1::", "64"), .other_pool = FOREIGN_POOL,
	  .other_number = NUMBER("fd00:0:0:1::7", "48"), .other_second = "9", .own = OPEN,
	  .conflict = IPAM_MUST_GO, .requests = ASK_OWN WRITE_OWN },

	/* Neither is bound: the earlier one stays. */
	{ "the other one is later", .other_pool = SAME_POOL, .other_second = "6", .own = OPEN,
	  .other = OPEN, .conflict = IPAM_MUST_WAIT, .requests = ASK_BOTH },
	{ "the other one is later, from another pool of the network", .other_pool = NEIGHBOUR,
	  .other_second = "6", .own = OPEN, .other = OPEN, .conflict = IPAM_MUST_WAIT,
	  .requests = ASK_BOTH },
	{ "the other one is later, and its claim is bound to another address",
	  .other_pool = SAME_POOL, .other_second = "6", .own = OPEN, .other = BOUND("third"),
	  .conflict = IPAM_MUST_WAIT, .requests = ASK_BOTH },
	{ "the other one is later, and its Cluster is fine", .other_pool = SAME_POOL,
	  .other_second = "6", .other_cluster = "fine", .own = OPEN, .other = OPEN,
	  .conflict = IPAM_MUST_WAIT, .requests = ASK_BOTH },
	{ "the other one is earlier", .other_pool = SAME_POOL, .other_second = "4",
	  .other_uid = UID("6"), .own = OPEN, .other = OPEN, .conflict = IPAM_MUST_GO,
	  .requests = ASK_BOTH WRITE_OWN },
	{ "of one second, the other one's uid is greater", .other_pool = SAME_POOL,
	  .other_uid = UID("6"), .own = OPEN, .other = OPEN, .conflict = IPAM_MUST_WAIT,
	  .requests = ASK_BOTH },
	{ "of one second, the other one's uid is smaller", .other_pool = SAME_POOL,
	  .other_uid = UID("4"), .own = OPEN, .other = OPEN, .conflict = IPAM_MUST_GO,
	  .requests = ASK_BOTH WRITE_OWN },

	/* Ours goes in any case. */
	{ "being deleted, alone", .own_meta = ",\"deletionTimestamp\":\"2026-01-01T00:00:09Z\"",
	  .own = OPEN, .conflict = IPAM_MUST_GO, .requests = ASK_OWN WRITE_OWN },
	{ "being deleted, and the other one is later",
	  .own_meta = ",\"deletionTimestamp\":\"2026-01-01T00:00:09Z\"", .other_pool = SAME_POOL,
	  .other_second = "6", .own = OPEN, .other = OPEN, .conflict = IPAM_MUST_GO,
	  .requests = ASK_OWN WRITE_OWN },
	{ "rejected before", .claim_meta = REJECTED(OWN_UID), .other_pool = SAME_POOL,
	  .other_second = "6", .own = OPEN, .other = OPEN, .conflict = IPAM_MUST_GO,
	  .requests = "" },
	{ "another address of the claim was rejected before", .claim_meta = REJECTED(UID("9")),
	  .other_pool = SAME_POOL, .other_second = "6", .own = OPEN, .other = OPEN,
	  .conflict = IPAM_MUST_WAIT, .requests = ASK_BOTH },
	{ "its claim is gone: there is nothing to write", .other_pool = SAME_POOL,
	  .other_second = "4", .other = OPEN, .conflict = IPAM_MUST_GO, .requests = ASK_BOTH },
	{ "its claim is gone a moment later", .other_pool = SAME_POOL, .other_second = "4",
	  .own = OPEN, .other = OPEN, .patch_status = 404, .conflict = IPAM_MUST_GO,
	  .requests = ASK_BOTH WRITE_OWN },

	/* Nothing is decided: the pass ends with the error, and the address stays. */
	{ "its claim cannot be read", .other_pool = SAME_POOL, .own_status = 403, .other = OPEN,
	  .ret = ERR_DENIED, .requests = ASK_OWN },
	{ "the other one's claim cannot be read", .other_pool = SAME_POOL, .own = OPEN,
	  .other_status = 403, .ret = ERR_DENIED, .requests = ASK_BOTH },
	{ "its claim has changed since it was read", .other_pool = SAME_POOL, .other_second = "4",
	  .own = OPEN, .other = OPEN, .patch_status = 409, .ret = ERR_CONFLICT,
	  .requests = ASK_BOTH WRITE_OWN },
};

struct scene {
	struct rig rig;
	struct kube_store *stores[IPAM_WATCHES];
	struct kube_string_pool *strings;
	struct controller_ctx ctx;
	const struct row *row;
};

static void ignore_key(void *arg, const char *key)
{
	(void)arg;
	(void)key;
}

/* As an informer does: by the watch's own codec. */
static void put(struct scene *scene, int watch, const char *json)
{
	const struct controller_watch *of = &ipam_watches[watch];
	struct kube_codec *codec =
		of->codec != NULL ? of->codec(scene->strings)
				  : kube_tree_codec(api_kind_find(of->group, of->kind), NULL, 0);
	struct kube_obj *object, *old = NULL;
	assert_int_equal(codec->decode(codec, slice_of(json), &object), 0);
	kube_store_put(scene->stores[watch], object, &old);
	kube_obj_unref(old);
	kube_codec_free(codec);
}

static void answer(struct fakeapi_reply *ret, int status, const char *body)
{
	ret->status = status != 0 ? status : body != NULL ? 200 : 404;
	ret->body = body;
}

static void choose_reply(void *ctx, const char *request, struct fakeapi_reply *ret)
{
	const struct scene *scene = ctx;
	const struct row *row = scene->row;
	if (strncmp(request, "PATCH ", 6) == 0)
		answer(ret, row->patch_status, "{}");
	else if (strstr(request, "/namespaces/a/ipaddressclaims/own ") != NULL)
		answer(ret, row->own_status, row->own);
	else
		answer(ret, row->other_status, row->other);
}

struct address_text {
	const char *name, *uid, *second, *meta, *number, *pool;
};

static const char *text_or_none(const char *text)
{
	return text != NULL ? text : "";
}

static void put_address(struct scene *scene, const struct address_text *address)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	strbuf_addf(&text,
		    "{\"metadata\":{\"namespace\":\"a\",\"name\":\"%s\",\"uid\":\"%s\","
		    "\"resourceVersion\":\"2\",\"creationTimestamp\":\"2026-01-01T00:00:0%sZ\"%s},"
		    "\"spec\":{%s,\"claimRef\":{\"name\":\"%s\"},%s}}",
		    address->name, address->uid, address->second, text_or_none(address->meta),
		    address->number != NULL ? address->number : USUAL_NUMBER, address->name,
		    address->pool);
	put(scene, IPAM_ADDRESSES, text.s);
}

static const char *own_pool_of(const struct scene *scene)
{
	return scene->row->own_pool != NULL ? scene->row->own_pool : SAME_POOL;
}

static void put_claim(struct scene *scene, const char *name, const char *cluster, const char *meta,
		      const char *status)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	strbuf_addf(&text,
		    "{\"metadata\":{\"namespace\":\"a\",\"name\":\"%s\",\"uid\":\"" UID(
			    "1") "\",\"resourceVersion\":\"3\"%s},\"spec\":{\"clusterName\":"
				 "\"%s\",%s},\"status\":{%s}}",
		    name, meta, cluster, own_pool_of(scene), status);
	put(scene, IPAM_CLAIMS, text.s);
}

static void put_cluster(struct scene *scene, const char *name, bool paused)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	strbuf_addf(&text,
		    "{\"metadata\":{\"namespace\":\"a\",\"name\":\"%s\",\"uid\":\"u\","
		    "\"resourceVersion\":\"1\"},\"spec\":{\"paused\":%s}}",
		    name, paused ? "true" : "false");
	put(scene, IPAM_CLUSTERS, text.s);
}

static void put_pools_of_ipv6(struct scene *scene)
{
	put(scene, IPAM_PREFIX_POOLS, PREFIX_POOL("prefixes", "x", "64"));
	put(scene, IPAM_PREFIX_POOLS, PREFIX_POOL("wide", "x", "60"));
	put(scene, IPAM_PREFIX_POOLS, PREFIX_POOL("far", "y", "60"));
	put(scene, IPAM_PREFIX_POOLS, PREFIX_POOL("unnamed", "", "64"));
	put(scene, IPAM_POOLS,
	    POOL_OF(IPAM_POOL_KIND, "\"namespace\":\"a\",\"name\":\"six\"", "x",
		    "\"addresses\":[\"fd00:0:0:1::/64\"],\"prefix\":48"));
}

static void fill_stores(struct scene *scene)
{
	const struct row *row = scene->row;
	put_pools_of_ipv6(scene);
	put(scene, IPAM_POOLS, POOL(IPAM_POOL_KIND, "\"namespace\":\"a\",\"name\":\"pool\"", "x"));
	put(scene, IPAM_POOLS,
	    POOL(IPAM_POOL_KIND, "\"namespace\":\"a\",\"name\":\"neighbour\"", "x"));
	put(scene, IPAM_POOLS, POOL(IPAM_POOL_KIND, "\"namespace\":\"a\",\"name\":\"far\"", "y"));
	put(scene, IPAM_GLOBAL_POOLS, POOL(IPAM_GLOBAL_POOL_KIND, "\"name\":\"global\"", "x"));
	put(scene, IPAM_POOLS,
	    POOL(IPAM_POOL_KIND, "\"namespace\":\"a\",\"name\":\"paused\"",
		 "x\",\"" IPAM_PAUSED_ANNOTATION "\":\""));
	put(scene, IPAM_POOLS,
	    POOL(IPAM_POOL_KIND, "\"namespace\":\"a\",\"name\":\"unnamed\"", ""));
	put_cluster(scene, "fine", false);
	put_cluster(scene, "paused", true);
	put_claim(scene, "own", "", text_or_none(row->claim_meta), text_or_none(row->claim_status));
	if (row->other_cluster != NULL)
		put_claim(scene, "other", row->other_cluster, "", "");
	put_address(scene, &(struct address_text){ "own", OWN_UID, "5", row->own_meta,
						   row->own_number, own_pool_of(scene) });
	if (row->other_pool != NULL)
		put_address(scene,
			    &(struct address_text){
				    .name = "other",
				    .uid = row->other_uid != NULL ? row->other_uid : UID("4"),
				    .second = row->other_second != NULL ? row->other_second : "5",
				    .number = row->other_number,
				    .pool = row->other_pool });
}

static void scene_up(struct scene *scene, const struct row *row)
{
	char err[200];
	*scene = (struct scene){ .row = row, .strings = kube_string_pool_new() };
	rig_up(&scene->rig);
	fakeapi_set_chooser(scene->rig.f, choose_reply, scene);
	for (int i = 0; i < IPAM_WATCHES; i++)
		scene->stores[i] =
			kube_store_new(ipam_watches[i].indexes, ipam_watches[i].n_indexes);
	scene->ctx = (struct controller_ctx){
		.ns = "own", .stores = scene->stores, .conn = scene->rig.conn, .emit = ignore_key
	};
	assert_int_equal(ipam_state_start(&scene->ctx.state, ERR_TEXT(err)), 0);
	fill_stores(scene);
	ipam_state_sync_all_pools(&scene->ctx);
}

static void scene_down(struct scene *scene)
{
	ipam_state_stop(scene->ctx.state);
	for (int i = 0; i < IPAM_WATCHES; i++)
		kube_store_free(scene->stores[i]);
	kube_string_pool_free(scene->strings);
	rig_down(&scene->rig);
}

/* "GET own; PATCH own; " */
static void list_requests(const struct scene *scene, struct strbuf *out)
{
	static const char before[] =
		" /apis/ipam.cluster.x-k8s.io/v1beta2/namespaces/a/ipaddressclaims/";
	for (size_t i = 0; i < fakeapi_requests(scene->rig.f); i++) {
		const char *request = fakeapi_request(scene->rig.f, i);
		const char *path = strchr(request, ' ');
		assert_non_null(path);
		assert_int_equal(strncmp(path, before, strlen(before)), 0);
		const char *name = path + strlen(before);
		strbuf_add(out, request, (size_t)(path - request));
		strbuf_addc(out, ' ');
		strbuf_add(out, name, strcspn(name, " "));
		strbuf_adds(out, "; ");
	}
}

/* The last request: for the version of the claim that was decided on, not that of the watch. */
static void check_rejection(const struct scene *scene)
{
	const char *request = fakeapi_request(scene->rig.f, fakeapi_requests(scene->rig.f) - 1);
	const char *body = strstr(request, "\r\n\r\n");
	assert_non_null(strstr(request, "application/merge-patch+json"));
	assert_non_null(body);
	assert_string_equal(body + 4, "{\"metadata\":{\"resourceVersion\":\"70\",\"annotations\":{"
				      "\"" IPAM_REJECTED_ANNOTATION "\":\"" OWN_UID "\"}}}");
}

static void run_row(const struct row *row)
{
	CLEANUP(strbuf_done) struct strbuf requests = STRBUF_INIT;
	struct scene scene;
	enum ipam_conflict conflict;
	char pool_key[IPAM_KEY_MAX];
	print_message("%s\n", row->label);
	scene_up(&scene, row);
	struct kube_obj *claim =
		kube_store_get(scene.stores[IPAM_CLAIMS], SLICE("a"), SLICE("own"));
	struct kube_obj *address =
		kube_store_get(scene.stores[IPAM_ADDRESSES], SLICE("a"), SLICE("own"));
	ipam_pool_key_of_claim(pool_key, ipam_claim_of(claim));
	int r = ipam_find_conflict(&scene.ctx, ipam_claim_of(claim), ipam_address_of(address),
				   pool_key, &conflict);
	assert_int_equal(r, row->ret);
	if (r == 0)
		assert_int_equal(conflict, row->conflict);
	else
		assert_string_not_equal(scene.ctx.err, "");
	list_requests(&scene, &requests);
	assert_string_equal(requests.n != 0 ? requests.s : "", row->requests);
	if (strstr(row->requests, WRITE_OWN) != NULL)
		check_rejection(&scene);
	kube_obj_unref(claim);
	kube_obj_unref(address);
	scene_down(&scene);
}

static void conflict_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		run_row(&rows[i]);
}

/* The report of a pool about addresses that other pools have in use, too. */
static void expect_doubles(const struct scene *scene, const char *pool_key, const char *wanted)
{
	CLEANUP(strbuf_done) struct strbuf report = STRBUF_INIT;
	ipam_find_overlaps_and_doubles(&scene->ctx, pool_key, &report);
	assert_non_null(report.s);
	const char *doubles = strchr(report.s, ';');
	assert_string_equal(text_or_none(doubles), wanted);
}

static void note_key(void *arg, const char *key)
{
	strbuf_addf(arg, "%s; ", key);
}

/* A change of the address has the other pools report again. */
static void expect_pass(const struct scene *scene, const char *name, const char *wanted_key)
{
	CLEANUP(strbuf_done) struct strbuf keys = STRBUF_INIT;
	struct kube_obj *address =
		kube_store_get(scene->stores[IPAM_ADDRESSES], SLICE("a"), slice_of(name));
	ipam_watches[IPAM_ADDRESSES].keys(&scene->ctx, address, note_key, &keys);
	kube_obj_unref(address);
	assert_non_null(keys.s);
	assert_non_null(strstr(keys.s, wanted_key));
}

static void doubles_of_several_sizes(void **state)
{
	static const struct row row = { .label = "",
					.own_pool = PREFIXES,
					.own_number = NUMBER("fd00:0:0:1::", "64"),
					.other_pool = SIX,
					.other_number = NUMBER("fd00:0:0:1::7", "48") };
	struct scene scene;
	(void)state;
	scene_up(&scene, &row);
	put_address(&scene, &(struct address_text){ .name = "beside",
						    .uid = UID("7"),
						    .second = "5",
						    .number = NUMBER("fd00:0:0:2::", "64"),
						    .pool = PREFIXES });
	expect_doubles(&scene, "InClusterPrefixPool/a/prefixes",
		       "; 1 address is in use twice: fd00:0:0:1::/64");
	expect_doubles(&scene, "InClusterIPPool/a/six",
		       "; 1 address is in use twice: fd00:0:0:1::7");
	expect_doubles(&scene, "InClusterPrefixPool/a/wide", "");
	expect_pass(&scene, "own", "pool InClusterIPPool/a/six; ");
	expect_pass(&scene, "other", "pool InClusterPrefixPool/a/prefixes; ");
	put_address(&scene, &(struct address_text){ .name = "around",
						    .uid = UID("8"),
						    .second = "5",
						    .number = NUMBER("fd00::", "60"),
						    .pool = WIDE_PREFIXES });
	expect_pass(&scene, "around", "pool InClusterIPPool/a/six; ");
	expect_doubles(&scene, "InClusterPrefixPool/a/wide",
		       "; 1 address is in use twice: fd00::/60");
	expect_doubles(&scene, "InClusterPrefixPool/a/prefixes",
		       "; 2 addresses are in use twice, the lowest is fd00:0:0:1::/64");
	scene_down(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(conflict_table),
		cmocka_unit_test(doubles_of_several_sizes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
