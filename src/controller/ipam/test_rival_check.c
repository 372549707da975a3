/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The in-cluster provider's Lease in its states, in a store that is filled by hand and on a scripted
 * server: whether claims may be served, what is queued, what the API is asked. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "api/kind.h"
#include "base/clock.h"
#include "base/mem.h"
#include "controller/controller.h"
#include "controller/ipam/rival_check.h"
#include "controller/ipam/watches.h"
#include "kube/decode/tree.h"
#include "kube/test_rig.h"

extern const struct controller ipam_controller;

struct scene {
	struct rig g;
	struct kube_store *stores[IPAM_WATCHES];
	struct strbuf queued;
	struct controller_ctx ctx;
};

static void note_key(void *arg, const char *key)
{
	struct scene *scene = arg;
	strbuf_addf(&scene->queued, "%s; ", key);
}

static void put(struct scene *scene, int watch, const char *json)
{
	const struct controller_watch *of = &ipam_watches[watch];
	struct kube_codec *codec = kube_tree_codec(api_kind_find(of->group, of->kind), NULL, 0);
	struct kube_obj *object, *old = NULL;
	assert_int_equal(codec->decode(codec, slice_of(json), &object), 0);
	kube_store_put(scene->stores[watch], object, &old);
	kube_obj_unref(old);
	kube_codec_free(codec);
}

/* With a pool, whose pass would make requests. */
static int setup(void **state)
{
	struct scene *scene = xcalloc(1, sizeof(*scene));
	char err[200];
	rig_up(&scene->g);
	for (int i = 0; i < IPAM_WATCHES; i++)
		scene->stores[i] =
			kube_store_new(ipam_watches[i].indexes, ipam_watches[i].n_indexes);
	scene->ctx = (struct controller_ctx){ .ns = "own",
					      .stores = scene->stores,
					      .conn = scene->g.conn,
					      .emit = note_key,
					      .emit_arg = scene };
	assert_int_equal(ipam_controller.start(&scene->ctx.state, ERR_TEXT(err)), 0);
	put(scene, IPAM_POOLS,
	    "{\"apiVersion\":\"ipam.cluster.x-k8s.io/v1alpha2\",\"kind\":\"InClusterIPPool\","
	    "\"metadata\":{\"namespace\":\"a\",\"name\":\"pool\",\"uid\":\"u\","
	    "\"resourceVersion\":\"1\",\"generation\":1},"
	    "\"spec\":{\"addresses\":[\"192.0.2.1\"],\"prefix\":24}}");
	*state = scene;
	return 0;
}

static int teardown(void **state)
{
	struct scene *scene = *state;
	ipam_controller.stop(scene->ctx.state);
	for (int i = 0; i < IPAM_WATCHES; i++)
		kube_store_free(scene->stores[i]);
	strbuf_done(&scene->queued);
	rig_down(&scene->g);
	free(scene);
	return 0;
}

#define LEASE(version, holder)                                                           \
	"{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{"   \
	"\"namespace\":\"" IPAM_RIVAL_NS "\",\"name\":\"" IPAM_RIVAL_LEASE               \
	"\",\"resourceVersion\":\"" version "\"},\"spec\":{\"holderIdentity\":\"" holder \
	"\",\"leaseDurationSeconds\":1}}"

static void reconcile(struct scene *scene, const char *key)
{
	scene->ctx.again_ns = 0;
	strbuf_reset(&scene->queued);
	assert_int_equal(ipam_controller.reconcile(&scene->ctx, key), 0);
}

/* A pass over the pool: does it ask the API for anything? */
static bool does_work(struct scene *scene)
{
	size_t before = fakeapi_requests(scene->g.f);
	strbuf_reset(&scene->queued);
	/* Whether the script's answer satisfies it does not matter. */
	IGNORE(ipam_controller.reconcile(&scene->ctx, IPAM_POOL_KEY "InClusterIPPool/a/pool"));
	return fakeapi_requests(scene->g.f) > before;
}

/* Until the pass after the Lease's expiry, which must have been asked for. */
static void await_expiry(struct scene *scene)
{
	reconcile(scene, IPAM_RIVAL_KEY);
	assert_true(scene->ctx.again_ns > 0 && scene->ctx.again_ns <= NS_PER_S);
	poll(NULL, 0, (int)(scene->ctx.again_ns / NS_PER_MS) + 1);
}

static const char *note_of(struct scene *scene, struct strbuf *out)
{
	strbuf_reset(out);
	ipam_controller.note(scene->ctx.state, out);
	return out->n != 0 ? out->s : "";
}

static void no_lease(void **state)
{
	assert_true(does_work(*state));
}

static void released(void **state)
{
	struct scene *scene = *state;
	put(scene, IPAM_RIVAL, LEASE("1", ""));
	assert_true(does_work(scene));
}

static void held_and_released(void **state)
{
	struct scene *scene = *state;
	CLEANUP(strbuf_done) struct strbuf note = STRBUF_INIT;
	put(scene, IPAM_RIVAL, LEASE("1", "provider"));
	assert_false(does_work(scene));
	assert_string_equal(scene->queued.s, "rival; ");
	assert_string_equal(note_of(scene, &note),
			    "controller ipam waits: lease '" IPAM_RIVAL_LEASE
			    "' in namespace '" IPAM_RIVAL_NS "' is held by 'provider'\n");
	put(scene, IPAM_RIVAL, LEASE("2", ""));
	reconcile(scene, IPAM_RIVAL_KEY);
	assert_string_equal(scene->queued.s, "pool InClusterIPPool/a/pool; backlog; ");
	assert_int_equal(scene->ctx.again_ns, 0);
	assert_int_equal(fakeapi_requests(scene->g.f), 0);
	assert_string_equal(note_of(scene, &note), "");
	assert_true(does_work(scene));
	/* It comes back. */
	put(scene, IPAM_RIVAL, LEASE("3", "provider"));
	reconcile(scene, IPAM_RIVAL_KEY);
	assert_false(does_work(scene));
}

/* Each renewal counts anew; after the last one the API is asked whether there was another. */
static void expired(void **state)
{
	struct scene *scene = *state;
	put(scene, IPAM_RIVAL, LEASE("1", "provider"));
	assert_false(does_work(scene));
	await_expiry(scene);
	put(scene, IPAM_RIVAL, LEASE("2", "provider"));
	await_expiry(scene);
	assert_int_equal(fakeapi_requests(scene->g.f), 0);
	fakeapi_push(scene->g.f, &(struct fakeapi_reply){ .body = LEASE("2", "provider") });
	reconcile(scene, IPAM_RIVAL_KEY);
	assert_non_null(strstr(fakeapi_request(scene->g.f, 0),
			       "GET /apis/coordination.k8s.io/v1/namespaces/" IPAM_RIVAL_NS
			       "/leases/" IPAM_RIVAL_LEASE " "));
	assert_string_equal(scene->queued.s, "pool InClusterIPPool/a/pool; backlog; ");
	assert_true(does_work(scene));
}

/* The API has a newer Lease than the watch has shown, or does not answer. */
static void watch_is_behind(void **state)
{
	struct scene *scene = *state;
	put(scene, IPAM_RIVAL, LEASE("1", "provider"));
	await_expiry(scene);
	fakeapi_push(scene->g.f, &(struct fakeapi_reply){ .status = 403 });
	reconcile(scene, IPAM_RIVAL_KEY);
	assert_int_equal(scene->ctx.again_ns, NS_PER_S);
	fakeapi_push(scene->g.f, &(struct fakeapi_reply){ .body = LEASE("2", "provider") });
	reconcile(scene, IPAM_RIVAL_KEY);
	assert_true(scene->ctx.again_ns > 0);
	assert_string_equal(scene->queued.s != NULL ? scene->queued.s : "", "");
	assert_false(does_work(scene));
}

/* Deleted meanwhile. */
static void gone(void **state)
{
	struct scene *scene = *state;
	put(scene, IPAM_RIVAL, LEASE("1", "provider"));
	await_expiry(scene);
	fakeapi_push(scene->g.f, &(struct fakeapi_reply){ .status = 404 });
	reconcile(scene, IPAM_RIVAL_KEY);
	assert_true(does_work(scene));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(no_lease, setup, teardown),
		cmocka_unit_test_setup_teardown(released, setup, teardown),
		cmocka_unit_test_setup_teardown(held_and_released, setup, teardown),
		cmocka_unit_test_setup_teardown(expired, setup, teardown),
		cmocka_unit_test_setup_teardown(watch_is_behind, setup, teardown),
		cmocka_unit_test_setup_teardown(gone, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
