/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ConfigMap's list is parsed on a thread of its own: hooks do not wait for it, workers do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "api/kind.h"
#include "base/clock.h"
#include "base/strbuf.h"
#include "controller/controller.h"
#include "controller/poddns/policy.h"
#include "controller/poddns/state.h"
#include "controller/poddns/watches.h"
#include "kube/decode/tree.h"

struct scene {
	struct kube_store *stores[PODDNS_WATCH_COUNT];
	struct poddns_state state;
	struct controller_ctx ctx;
	struct kube_codec *codec;
	int version;
};

static int setup(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));
	assert_non_null(scene);
	scene->stores[PODDNS_WATCH_POLICIES] = kube_store_new(NULL, 0);
	scene->stores[PODDNS_WATCH_NAMESPACES] = kube_store_new(NULL, 0);
	poddns_entries_cache_init(&scene->state.entries);
	scene->ctx = (struct controller_ctx){ .ns = "own",
					      .stores = scene->stores,
					      .state = &scene->state };
	scene->codec = kube_tree_codec(api_kind_find("", "ConfigMap"), NULL, 0);
	*state = scene;
	return 0;
}

static int teardown(void **state)
{
	struct scene *scene = *state;
	poddns_entries_cache_done(&scene->state.entries);
	kube_store_free(scene->stores[PODDNS_WATCH_POLICIES]);
	kube_store_free(scene->stores[PODDNS_WATCH_NAMESPACES]);
	kube_codec_free(scene->codec);
	free(scene);
	return 0;
}

static void ignore_key(void *arg, const char *key)
{
	(void)arg;
	(void)key;
}

/* The watch has a new version, and says so. */
static void put_map(struct scene *scene, const char *text)
{
	struct kube_obj *made, *old = NULL;
	json_t *object =
		json_pack("{s:{s:s, s:s, s:o}, s:{s:s}}", "metadata", "name", "fairlead-poddns",
			  "namespace", "own", "resourceVersion",
			  json_sprintf("%d", ++scene->version), "data", "policies.yaml", text);
	char *bytes = json_dumps(object, 0);
	assert_int_equal(scene->codec->decode(scene->codec, slice_of(bytes), &made), 0);
	kube_obj_ref(made);
	kube_store_put(scene->stores[PODDNS_WATCH_POLICIES], made, &old);
	poddns_watches[PODDNS_WATCH_POLICIES].keys(&scene->ctx, made, ignore_key, NULL);
	kube_obj_unref(made);
	kube_obj_unref(old);
	free(bytes);
	json_decref(object);
}

/* The ndots of the namespace `shop`; -1: none. */
static int ndots_of(struct scene *scene, enum poddns_freshness freshness)
{
	struct poddns_entries *entries = poddns_entries_cache_get(&scene->ctx, freshness);
	json_t *ns = json_pack("{s:{s:s}}", "metadata", "name", "shop");
	struct poddns_policy policy;
	struct poddns_problems problems;
	struct arena arena;
	arena_init(&arena);
	poddns_policy_of(ns, entries, &arena, &policy, &problems);
	arena_done(&arena);
	json_decref(ns);
	poddns_entries_unref(entries);
	return (policy.set & PODDNS_NDOTS) != 0 ? (int)policy.ndots : -1;
}

static uint64_t own_cpu_ns(void)
{
	struct timespec now;
	assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now), 0);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* A list of many entries, the first of which sets ndots. */
static void write_large(struct strbuf *out, int ndots)
{
	strbuf_reset(out);
	strbuf_addf(out, "- {namespaces: [shop], ndots: %d}\n", ndots);
	for (int i = 1; i < PODDNS_ENTRIES_MAX; i++) {
		strbuf_addf(out, "- namespaces: [ns%d]\n  addSearches: [", i);
		for (int j = 0; j < 30; j++)
			strbuf_addf(out, "a%d.b%d.example, ", i, j);
		strbuf_adds(out, "]\n");
	}
}

static void versions(void **state)
{
	struct scene *scene = *state;
	assert_int_equal(ndots_of(scene, PODDNS_MAY_BE_OLD), -1);
	put_map(scene, "- {namespaces: [shop], ndots: 1}");
	assert_int_equal(ndots_of(scene, PODDNS_NEWEST), 1);
	assert_int_equal(ndots_of(scene, PODDNS_MAY_BE_OLD), 1);
	for (int i = 2; i < 10; i++) {
		char text[64];
		snprintf(text, sizeof(text), "- {namespaces: [shop], ndots: %d}", i);
		put_map(scene, text);
		int seen = ndots_of(scene, PODDNS_MAY_BE_OLD);
		assert_in_range(seen, i - 1, i);
		assert_int_equal(ndots_of(scene, PODDNS_NEWEST), i);
	}
}

/* What was never parsed is waited for: the policies of a start are not skipped. */
static void first_list(void **state)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	write_large(&text, 4);
	put_map(*state, text.s);
	assert_int_equal(ndots_of(*state, PODDNS_MAY_BE_OLD), 4);
}

/* CPU time of the own thread, which does not depend on what else the machine does. */
static void hooks_do_not_parse(void **state)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	uint64_t parse_ns, hooks_ns = 0, began_ns;
	put_map(*state, "- {namespaces: [shop], ndots: 1}");
	assert_int_equal(ndots_of(*state, PODDNS_NEWEST), 1);
	write_large(&text, 2);
	began_ns = own_cpu_ns();
	poddns_entries_unref(poddns_entries_parse(strbuf_slice(&text)));
	parse_ns = own_cpu_ns() - began_ns;
	for (int i = 2; i < 6; i++) {
		write_large(&text, i);
		put_map(*state, text.s);
		put_map(*state, text.s); /* while the one before is parsed */
		began_ns = own_cpu_ns();
		poddns_entries_unref(poddns_entries_cache_get(&((struct scene *)*state)->ctx,
							      PODDNS_MAY_BE_OLD));
		hooks_ns += own_cpu_ns() - began_ns;
	}
	assert_in_range(hooks_ns, 0, parse_ns);
	assert_int_equal(ndots_of(*state, PODDNS_NEWEST), 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(versions, setup, teardown),
		cmocka_unit_test_setup_teardown(first_list, setup, teardown),
		cmocka_unit_test_setup_teardown(hooks_do_not_parse, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
