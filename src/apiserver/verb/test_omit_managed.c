/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Replies to clients that want no managedFields: objects, lists and watches are the same otherwise,
 * in the stored version and in another one. */
#include "apiserver/test_api.h"

#include "api/tree_copy.h"

#define CMS	"/api/v1/namespaces/default/configmaps"
#define CLAIMS	"/apis/ipam.cluster.x-k8s.io/v1beta2/namespaces/default/ipaddressclaims"
#define OLD	"/apis/ipam.cluster.x-k8s.io/v1beta1/namespaces/default/ipaddressclaims"
#define OMITTED "application/json;omit=managedFields"

/* The same without the managedFields of an object, of items or of the object of an event. */
static json_t *strip(const json_t *reply)
{
	json_t *copy = api_tree_copy(reply), *item;
	size_t i;
	json_object_del(json_object_get(copy, "metadata"), "managedFields");
	json_object_del(json_object_get(json_object_get(copy, "object"), "metadata"),
			"managedFields");
	json_array_foreach (json_object_get(copy, "items"), i, item)
		json_object_del(json_object_get(item, "metadata"), "managedFields");
	return copy;
}

static json_t *ask_without(struct fixture *f, unsigned status, const char *target, const char *body)
{
	f->accept = OMITTED;
	json_t *reply = ask(f, status, target, body);
	f->accept = NULL;
	return reply;
}

/* Both forms of a reply differ in managedFields and in nothing else. */
static void assert_omits(struct fixture *f, const char *target)
{
	json_t *whole = ask(f, 200, target, NULL), *part = ask_without(f, 200, target, NULL);
	json_t *want = strip(whole);
	if (json_equal(whole, part) || !json_equal(want, part))
		fail_msg("%s: %s", target, json_dumps(part, 0));
	json_decref(whole);
	json_decref(part);
	json_decref(want);
}

static void make_objects(struct fixture *f)
{
	does(f, 201, "POST " CMS,
	     "{\"metadata\":{\"name\":\"a\",\"labels\":{\"x\":\"1\"},\"annotations\":"
	     "{\"a\":\",\\\"managedFields\\\":[]\"}},\"data\":{\"managedFields\":\"[]\"}}");
	does(f, 201, "POST " CLAIMS,
	     "{\"apiVersion\":\"ipam.cluster.x-k8s.io/v1beta2\",\"kind\":\"IPAddressClaim\","
	     "\"metadata\":{\"name\":\"a\"},\"spec\":{\"poolRef\":{\"apiGroup\":"
	     "\"ipam.cluster.x-k8s.io\",\"kind\":\"InClusterIPPool\",\"name\":\"p\"}}}");
}

/* YAML, Tables and PartialObjectMetadata with it, too: the object in them has none. */
static void other_forms(void **state)
{
	static const struct {
		const char *accept, *target, *kept;
	} rows[] = {
		{ "application/json;as=Table;v=v1;g=meta.k8s.io",
		  "GET " CLAIMS "?includeObject=Object", "\"name\":\"a\"" },
		{ "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
		  "GET " CLAIMS "/a", "\"name\":\"a\"" },
		{ "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", "GET " CLAIMS,
		  "\"name\":\"a\"" },
		{ "application/yaml", "GET " CLAIMS "/a", "\n  name: a\n" },
		{ "application/yaml", "GET " CLAIMS, "\n    name: a\n" },
	};
	struct fixture *f = *state;
	make_objects(f);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct asked whole, part;
		CLEANUP(freep) char *omitted = xasprintf("%s;omit=managedFields", rows[i].accept);
		f->accept = rows[i].accept;
		ask_as(f, rows[i].target, NULL, NULL, &whole);
		f->accept = omitted;
		ask_as(f, rows[i].target, NULL, NULL, &part);
		f->accept = NULL;
		assert_int_equal(part.answer.status, 200);
		assert_non_null(strstr(whole.answer.body.s, "managedFields"));
		assert_null(strstr(part.answer.body.s, "managedFields"));
		assert_non_null(strstr(part.answer.body.s, rows[i].kept));
		asked_done(&whole);
		asked_done(&part);
	}
}

static void objects_and_lists(void **state)
{
	struct fixture *f = *state;
	make_objects(f);
	assert_omits(f, "GET " CMS "/a");
	assert_omits(f, "GET " CMS);
	assert_omits(f, "GET " CMS "?labelSelector=x=1");
	assert_omits(f, "GET " CMS "?pretty=true");
	assert_omits(f, "GET " CLAIMS "/a");
	assert_omits(f, "GET " CLAIMS);
	assert_omits(f, "GET " OLD "/a");
	assert_omits(f, "GET " OLD);
}

/* What was written, too; the store keeps them. */
static void replies_to_writes(void **state)
{
	struct fixture *f = *state;
	json_t *made = ask_without(f, 201, "POST " CMS,
				   "{\"metadata\":{\"name\":\"b\"},\"data\":{\"k\":\"v\"}}");
	assert_text(made, "metadata.name", "b");
	assert_null(api_get(made, "metadata.managedFields"));
	json_decref(made);
	assert_omits(f, "GET " CMS "/b");
}

/* Pulls up to the first event of this type: those of the table come from another thread. */
static void pull_until(struct apiserver_stream *stream, const char *last, struct strbuf *out)
{
	const struct timespec pause = { .tv_nsec = 2000000 };
	const uint64_t end = clock_mono_ns() + 10 * NS_PER_S;
	char buf[61];
	while (strstr(out->s, last) == NULL || out->s[out->n - 1] != '\n') {
		ssize_t n = apiserver_stream_pull(stream, buf, sizeof(buf));
		assert_true(n >= 0 && clock_mono_ns() < end);
		strbuf_add(out, buf, (size_t)n);
		if (n == 0)
			nanosleep(&pause, NULL);
	}
}

/* One event a line, up to the first of this type, without managedFields if `stripped`. */
static void pull_events(struct apiserver_stream *stream, const char *last, bool stripped,
			struct strbuf *out)
{
	CLEANUP(strbuf_done) struct strbuf raw = STRBUF_INIT;
	pull_until(stream, last, &raw);
	struct slice rest = strbuf_slice(&raw);
	while (rest.n != 0) {
		struct slice line = slice_cut(&rest, '\n');
		json_t *event = json_loadb(line.p, line.n, 0, NULL);
		assert_non_null(event);
		json_t *part = stripped ? strip(event) : json_incref(event);
		char *text = json_dumps(part, JSON_COMPACT | JSON_SORT_KEYS);
		strbuf_addf(out, "%s\n", text);
		free(text);
		json_decref(part);
		json_decref(event);
	}
}

static void change_objects(struct fixture *f)
{
	merge(f, 200, CMS "/a", "{\"data\":{\"k\":\"v\"}}");
	merge(f, 200, CMS "/a", "{\"metadata\":{\"labels\":{\"x\":\"2\"}}}");
	merge(f, 200, CLAIMS "/a", "{\"metadata\":{\"finalizers\":[\"a/b\"]}}");
	merge(f, 200, CLAIMS "/a", "{\"metadata\":{\"finalizers\":null}}");
	does(f, 200, "DELETE " CMS "/a", NULL);
	does(f, 200, "DELETE " CLAIMS "/a", NULL);
}

static void assert_watches_equal(struct apiserver_stream *whole, struct apiserver_stream *part,
				 const char *last)
{
	CLEANUP(strbuf_done) struct strbuf want = STRBUF_INIT, got = STRBUF_INIT;
	pull_events(whole, last, true, &want);
	pull_events(part, last, false, &got);
	assert_string_equal(got.s, want.s);
}

/* The state first, then events of the ring; with selectors, which send a DELETED for what no longer
 * matches; in the other version. After a restart the events come from the table. */
static void watches(void **state)
{
	static const char *const targets[] = {
		"GET " CMS "?watch=1",
		"GET " CMS "?watch=1&labelSelector=x=1",
		"GET " CMS "?watch=1&fieldSelector=metadata.name=a",
		"GET " CLAIMS "?watch=1",
		"GET " OLD "?watch=1",
	};
	struct fixture *f = *state;
	struct apiserver_stream *whole[ARRAY_LEN(targets)], *part[ARRAY_LEN(targets)];
	uint64_t before = apiserver_store_revision(f->s);
	make_objects(f);
	for (size_t i = 0; i < ARRAY_LEN(targets); i++) {
		whole[i] = watch(f, targets[i]);
		f->accept = OMITTED;
		part[i] = watch(f, targets[i]);
		f->accept = NULL;
		assert_watches_equal(whole[i], part[i], "\"ADDED\"");
	}
	change_objects(f);
	for (size_t i = 0; i < ARRAY_LEN(targets); i++) {
		assert_watches_equal(whole[i], part[i], "\"DELETED\"");
		apiserver_stream_free(whole[i]);
		apiserver_stream_free(part[i]);
	}
	fixture_close(f);
	fixture_open(f);
	for (size_t i = 0; i < ARRAY_LEN(targets); i++) {
		CLEANUP(freep)
		char *since = xasprintf("%s&resourceVersion=%llu&timeoutSeconds=600", targets[i],
					(unsigned long long)before);
		struct apiserver_stream *late = watch(f, since);
		f->accept = OMITTED;
		struct apiserver_stream *late_part = watch(f, since);
		f->accept = NULL;
		assert_watches_equal(late, late_part, "\"DELETED\"");
		apiserver_stream_free(late);
		apiserver_stream_free(late_part);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(objects_and_lists, setup, teardown),
		cmocka_unit_test_setup_teardown(other_forms, setup, teardown),
		cmocka_unit_test_setup_teardown(replies_to_writes, setup, teardown),
		cmocka_unit_test_setup_teardown(watches, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
