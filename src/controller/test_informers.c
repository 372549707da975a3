/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Controllers that watch the same objects share one watch, with the fields and indexes of all. */
#include <pthread.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/slice.h"
#include "base/strbuf.h"
#include "controller/controller.h"
#include "controller/informers_priv.h"
#include "kube/decode/compact.h"
#include "kube/decode/record.h"
#include "kube/decode/tree.h"
#include "kube/test_rig.h"

#define REFUSE_STREAM \
	"{\"kind\":\"Status\",\"code\":422,\"reason\":\"Invalid\",\"message\":\"no streams\"}"
#define PODS                                                                                       \
	"{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"9\"},"    \
	"\"items\":[{\"metadata\":{\"name\":\"x\",\"namespace\":\"ns\",\"resourceVersion\":\"1\"," \
	"\"labels\":{\"a\":\"b\"},\"annotations\":{\"c\":\"d\"}},\"spec\":{\"nodeName\":\"n1\","   \
	"\"hostNetwork\":true},\"status\":{\"phase\":\"Running\",\"podIPs\":[{\"ip\":\"192.0.2."   \
	"1\"}]}}]}"

#define NAMESPACES                                                                                \
	"{\"kind\":\"NamespaceList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":"    \
	"\"9\"},\"items\":[{\"metadata\":{\"name\":\"n1\",\"resourceVersion\":\"1\",\"labels\":{" \
	"\"a\":\"b\"},\"annotations\":{\"c\":\"d\"}},\"status\":{\"phase\":\"Active\"}}]}"

static void push_list(struct rig *rig, const char *list)
{
	fakeapi_push(rig->f, &(struct fakeapi_reply){ .status = 422, .body = REFUSE_STREAM });
	fakeapi_push(rig->f, &(struct fakeapi_reply){ .body = list });
	fakeapi_push(rig->f, &(struct fakeapi_reply){ .hang_first = true });
}

static void push_pods(struct rig *rig)
{
	push_list(rig, PODS);
}

static void by_node(const struct kube_obj *obj, kube_index_emit emit, void *ctx)
{
	emit(ctx, slice_of(json_string_value(json_object_get(
			  json_object_get(kube_tree_of(obj), "spec"), "nodeName"))));
}

static void by_name(const struct kube_obj *obj, kube_index_emit emit, void *ctx)
{
	emit(ctx, slice_of(obj->name));
}

static void count_added(void *ctx, struct kube_obj *obj)
{
	(void)obj;
	++*(unsigned *)ctx;
}

enum { WATCHES = 5 };

struct scene {
	struct rig g;
	struct kube_server_memory memory;
	struct informers *informers;
	struct informers_part parts[WATCHES];
	unsigned added[WATCHES];
};

static int setup(void **state)
{
	struct scene *scene = xcalloc(1, sizeof(*scene));
	rig_up(&scene->g);
	scene->informers = informers_new(scene->g.client, "own", &scene->memory);
	*state = scene;
	return 0;
}

static int teardown(void **state)
{
	struct scene *scene = *state;
	informers_free(scene->informers);
	rig_down(&scene->g);
	free(scene);
	return 0;
}

static void add(struct scene *scene, size_t i, const struct controller_watch *watch)
{
	informers_add(scene->informers, watch,
		      &(struct kube_handler){ .added = count_added, .ctx = &scene->added[i] },
		      &scene->parts[i]);
}

static void start(struct scene *scene, size_t first)
{
	char err[200] = "";
	if (informers_create(scene->informers, ERR_TEXT(err)) < 0 ||
	    informers_start(scene->informers, ERR_TEXT(err)) < 0)
		fail_msg("%s", err);
	assert_true(kube_informer_wait(scene->parts[first].informer, 20 * NS_PER_S));
}

static bool keep_text(void *ctx, struct kube_obj *obj)
{
	strbuf_addf(ctx, "%s/%s ", obj->ns, obj->name);
	return true;
}

static void one_watch_for_five(void **state)
{
	static const char *const labels[] = { "metadata.labels", "status.phase", NULL };
	static const char *const status[] = { "status", NULL };
	static const kube_index_fn node[] = { by_node }, both[] = { by_name, by_node };
	static const char *const spec[] = { "spec.nodeName", NULL };
	const struct controller_watch watches[WATCHES] = {
		{ "", "Pod", .paths = labels },
		{ "", "Pod", .paths = status },
		{ "", "Pod", .paths = spec, .indexes = node, .n_indexes = 1 },
		{ "", "Pod", .paths = spec, .indexes = both, .n_indexes = 2 },
		{ "", "Pod", .paths = spec },
	};
	CLEANUP(strbuf_done) struct strbuf found = STRBUF_INIT;
	struct scene *scene = *state;
	push_pods(&scene->g);
	for (size_t i = 0; i < WATCHES; i++)
		add(scene, i, &watches[i]);
	start(scene, 0);
	struct kube_store *stores[WATCHES];
	for (size_t i = 0; i < WATCHES; i++) {
		assert_ptr_equal(scene->parts[i].informer, scene->parts[0].informer);
		assert_int_equal(scene->added[i], 1);
		stores[i] = kube_informer_store(scene->parts[i].informer);
	}
	/* the fields of all, and no others */
	struct kube_obj *pod = kube_store_get(stores[0], SLICE("ns"), SLICE("x"));
	CLEANUP(freep) char *text = json_dumps(kube_tree_of(pod), JSON_COMPACT | JSON_SORT_KEYS);
	assert_non_null(strstr(text, "\"labels\":{\"a\":\"b\"}"));
	assert_non_null(strstr(text, "\"spec\":{\"nodeName\":\"n1\"}"));
	assert_non_null(strstr(
		text, "\"status\":{\"phase\":\"Running\",\"podIPs\":[{\"ip\":\"192.0.2.1\"}]}"));
	assert_null(strstr(text, "annotations"));
	kube_obj_unref(pod);
	/* each finds its own indexes */
	const struct controller_ctx ctx = { .stores = stores, .parts = scene->parts };
	controller_each_by(&ctx, 2, 0, SLICE("n1"), keep_text, &found);
	controller_each_by(&ctx, 3, 0, SLICE("x"), keep_text, &found);
	controller_each_by(&ctx, 3, 1, SLICE("n1"), keep_text, &found);
	controller_each_by(&ctx, 3, 1, SLICE("n2"), keep_text, &found);
	assert_string_equal(found.s, "ns/x ns/x ns/x ");
	fakeapi_request(scene->g.f, 2);
	assert_int_equal(fakeapi_connections(scene->g.f), 1);
}

/* The same for a kind of the cluster, whose objects have no namespace. */
static void one_watch_of_namespaces(void **state)
{
	static const char *const labels[] = { "metadata.labels", NULL };
	static const char *const notes[] = { "metadata.annotations", NULL };
	static const kube_index_fn name[] = { by_name };
	const struct controller_watch watches[WATCHES] = {
		{ "", "Namespace", .paths = labels },
		{ "", "Namespace", .paths = notes },
		{ "", "Namespace", .paths = labels, .indexes = name, .n_indexes = 1 },
		{ "", "Namespace", .paths = notes, .indexes = name, .n_indexes = 1 },
		{ "", "Namespace", .paths = labels },
	};
	CLEANUP(strbuf_done) struct strbuf found = STRBUF_INIT;
	struct scene *scene = *state;
	push_list(&scene->g, NAMESPACES);
	for (size_t i = 0; i < WATCHES; i++)
		add(scene, i, &watches[i]);
	start(scene, 0);
	struct kube_store *stores[WATCHES];
	for (size_t i = 0; i < WATCHES; i++) {
		assert_ptr_equal(scene->parts[i].informer, scene->parts[0].informer);
		assert_int_equal(scene->added[i], 1);
		stores[i] = kube_informer_store(scene->parts[i].informer);
	}
	struct kube_obj *ns = kube_store_get(stores[0], SLICE(""), SLICE("n1"));
	CLEANUP(freep) char *text = json_dumps(kube_tree_of(ns), JSON_COMPACT | JSON_SORT_KEYS);
	assert_non_null(strstr(text, "\"labels\":{\"a\":\"b\"}"));
	assert_non_null(strstr(text, "\"annotations\":{\"c\":\"d\"}"));
	assert_null(strstr(text, "phase"));
	kube_obj_unref(ns);
	const struct controller_ctx ctx = { .stores = stores, .parts = scene->parts };
	for (size_t i = 2; i < 4; i++)
		controller_each_by(&ctx, i, 0, SLICE("n1"), keep_text, &found);
	assert_string_equal(found.s, "/n1 /n1 ");
	fakeapi_request(scene->g.f, 2);
	assert_int_equal(fakeapi_connections(scene->g.f), 1);
}

/* One that wants everything gets it. */
static void all_fields_for_one(void **state)
{
	static const char *const status[] = { "status", NULL };
	const struct controller_watch few = { "", "Pod", .paths = status },
				      all = { .group = "", .kind = "Pod" };
	struct scene *scene = *state;
	push_pods(&scene->g);
	add(scene, 0, &few);
	add(scene, 1, &all);
	start(scene, 0);
	struct kube_obj *pod = kube_store_get(kube_informer_store(scene->parts[0].informer),
					      SLICE("ns"), SLICE("x"));
	CLEANUP(freep) char *text = json_dumps(kube_tree_of(pod), JSON_COMPACT);
	assert_non_null(strstr(text, "annotations"));
	kube_obj_unref(pod);
}

static void compact_objects(void **state)
{
	const struct controller_watch watch = { "", "Pod", .codec = kube_pod_codec };
	struct scene *scene = *state;
	push_pods(&scene->g);
	add(scene, 0, &watch);
	start(scene, 0);
	struct kube_obj *pod = kube_store_get(kube_informer_store(scene->parts[0].informer),
					      SLICE("ns"), SLICE("x"));
	assert_true(kube_pod_of(pod)->host_network);
	assert_int_equal(kube_pod_of(pod)->n_ips, 1);
	kube_obj_unref(pod);
}

struct node_of_pod {
	struct kube_record head;
	const char *node;
};

static const struct kube_record_field node_fields[] = {
	{ "spec.nodeName", KUBE_RECORD_SHARED, offsetof(struct node_of_pod, node) },
};
static const struct kube_record_kind node_record = { "", "Pod", sizeof(struct node_of_pod),
						     node_fields, ARRAY_LEN(node_fields) };

static void by_record_node(const struct kube_obj *obj, kube_index_emit emit, void *ctx)
{
	emit(ctx, slice_of(((const struct node_of_pod *)(const void *)obj)->node));
}

/* Records are shared and indexed as trees are. */
static void records(void **state)
{
	static const kube_index_fn node[] = { by_record_node };
	const struct controller_watch plain = { "", "Pod", .record = &node_record };
	const struct controller_watch watch = { "", "Pod", .record = &node_record, .indexes = node,
						.n_indexes = 1 };
	CLEANUP(strbuf_done) struct strbuf found = STRBUF_INIT;
	struct scene *scene = *state;
	push_pods(&scene->g);
	add(scene, 0, &plain);
	add(scene, 1, &watch);
	start(scene, 0);
	assert_ptr_equal(scene->parts[0].informer, scene->parts[1].informer);
	struct kube_store *store = kube_informer_store(scene->parts[0].informer);
	struct kube_store *stores[] = { store, store };
	const struct controller_ctx ctx = { .stores = stores, .parts = scene->parts };
	controller_each_by(&ctx, 1, 0, SLICE("n1"), keep_text, &found);
	controller_each_by(&ctx, 1, 0, SLICE("n2"), keep_text, &found);
	assert_string_equal(found.s, "ns/x ");
}

/* Any difference in what is selected, or how it is kept, makes another watch. */
static void others_are_not_shared(void **state)
{
	const struct controller_watch watches[WATCHES] = {
		{ .group = "", .kind = "Pod" },		{ "", "Pod", .ns = "a" },
		{ "", "Pod", .own_ns = true },		{ "", "Pod", .labels = "a=b" },
		{ "", "Pod", .codec = kube_pod_codec },
	};
	const struct controller_watch same = { "", "Pod", .ns = "own" };
	struct informers_part part;
	unsigned added = 0;
	struct scene *scene = *state;
	char err[200];
	for (size_t i = 0; i < WATCHES; i++)
		add(scene, i, &watches[i]);
	informers_add(scene->informers, &same,
		      &(struct kube_handler){ .added = count_added, .ctx = &added }, &part);
	assert_int_equal(informers_create(scene->informers, ERR_TEXT(err)), 0);
	for (size_t i = 0; i < WATCHES; i++) {
		for (size_t k = 0; k < i; k++)
			assert_ptr_not_equal(scene->parts[i].informer, scene->parts[k].informer);
	}
	assert_ptr_equal(part.informer, scene->parts[2].informer);
}

static void bad_tables(void **state)
{
	const struct controller_watch unknown = { .group = "", .kind = "Nonsense" };
	struct scene *scene = *state;
	char err[200];
	add(scene, 0, &unknown);
	assert_true(informers_create(scene->informers, ERR_TEXT(err)) < 0);
	assert_string_equal(err, "kind 'Nonsense' of group '' is not known");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(one_watch_for_five),
		T(one_watch_of_namespaces),
		T(all_fields_for_one),
		T(compact_objects),
		T(others_are_not_shared),
		T(bad_tables),
		T(records),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
