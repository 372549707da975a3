/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Server-side apply and managedFields against what a real API server did with the same writes
 * (test_managed.json, which tests/kube/test_apply.py records and compares), and the limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "api/apply/test_replay.h"
#include "base/err_text.h"

/* Conflicts of several managers come from the server in any order. */
static int by_cause(const void *a, const void *b)
{
	const json_t *x = *(json_t *const *)a, *y = *(json_t *const *)b;
	int c = strcmp(replay_text(x, "message"), replay_text(y, "message"));
	return c != 0 ? c : strcmp(replay_text(x, "field"), replay_text(y, "field"));
}

static json_t *sorted_causes(const json_t *list)
{
	size_t n = json_array_size(list);
	json_t **v = xcalloc(n + 1, sizeof(*v)), *out = json_array();
	for (size_t i = 0; i < n; i++)
		v[i] = json_array_get(list, i);
	qsort(v, n, sizeof(*v), by_cause);
	for (size_t i = 0; i < n; i++)
		json_array_append(out, v[i]);
	free(v);
	return out;
}

static const char *const errors[][2] = {
	{ "409", "conflict" }, { "400", "bad" }, { "500", "type" }, { "422", "type" }
};

static bool same_error(const json_t *step, const json_t *got)
{
	char code[16];
	snprintf(code, sizeof(code), "%d", (int)json_integer_value(json_object_get(step, "code")));
	bool same = false;
	for (size_t i = 0; i < ARRAY_LEN(errors); i++)
		same = same || (strcmp(errors[i][0], code) == 0 &&
				strcmp(errors[i][1], replay_text(got, "error")) == 0);
	json_t *a = sorted_causes(json_object_get(step, "causes"));
	json_t *b = sorted_causes(json_object_get(got, "causes"));
	same = same && strcmp(replay_text(step, "message"), replay_text(got, "message")) == 0 &&
	       json_equal(a, b);
	json_decref(a);
	json_decref(b);
	return same;
}

/* What a server sets by itself when an object is new is taken from the record. */
static void set_by_server(const json_t *kind, const json_t *want, json_t *got)
{
	static const char *const meta[] = { "uid", "creationTimestamp" };
	for (size_t i = 0; i < ARRAY_LEN(meta); i++)
		json_object_set(json_object_get(got, "metadata"), meta[i],
				json_object_get(json_object_get(want, "metadata"), meta[i]));
	if (json_object_get(kind, "crd") == NULL && json_object_get(want, "status") != NULL &&
	    json_object_get(got, "status") == NULL)
		json_object_set(got, "status", json_object_get(want, "status"));
}

/* Go writes the fields of entries in order; maps of custom resources are sorted by their texts. */
static bool same_order(const json_t *kind, const json_t *want, const json_t *got)
{
	if (json_object_get(kind, "crd") != NULL)
		return true;
	CLEANUP(freep)
	char *a =
		json_dumps(json_object_get(json_object_get(want, "metadata"), "managedFields"), 0);
	CLEANUP(freep)
	char *b = json_dumps(json_object_get(json_object_get(got, "metadata"), "managedFields"), 0);
	return (a == NULL && b == NULL) || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* A server leaves null where apply emptied something, and then refuses its own null in objects of
 * CRDs. Here it goes, as nulls do in other writes. */
static bool refuses_own_null(const json_t *step)
{
	return strcmp(replay_text(step, "do"), "apply") == 0 &&
	       strstr(replay_text(step, "message"), "must be of type object: \"null\"") != NULL;
}

static bool same_step(const json_t *kind, const json_t *step, const json_t *live)
{
	const json_t *want = json_object_get(step, "object");
	json_t *answer = replay_step(kind, step, live);
	json_t *got = json_object_get(answer, "object");
	bool same;
	if (want == NULL && got != NULL && refuses_own_null(step)) {
		same = true;
	} else if (want == NULL || got == NULL) {
		same = want == NULL && got == NULL && same_error(step, answer);
	} else {
		json_t *plain = json_deep_copy(want);
		json_object_del(json_object_get(got, "metadata"), "resourceVersion");
		json_object_del(json_object_get(got, "metadata"), "generation");
		if (live == NULL)
			set_by_server(kind, want, got);
		same = same_order(kind, want, got);
		if (json_object_get(kind, "crd") == NULL) {
			replay_compact(plain);
			replay_compact(got);
		}
		same = same && json_equal(plain, got);
		json_decref(plain);
	}
	if (!same) {
		CLEANUP(freep) char *a = json_dumps(want != NULL ? want : step, JSON_SORT_KEYS);
		CLEANUP(freep) char *b = json_dumps(got != NULL ? got : answer, JSON_SORT_KEYS);
		fprintf(stderr, "--- server\n%s\n--- ours\n%s\n", a, b);
	}
	json_decref(answer);
	return same;
}

static void recorded_writes(void **state)
{
	size_t i, k, n = 0, wrong = 0;
	json_t *sequence, *step;
	json_error_t e;
	json_t *table = json_load_file(SOURCE_DIR "/test_managed.json", 0, &e);
	(void)state;
	if (table == NULL)
		fail_msg("%d: %s", e.line, e.text);
	json_array_foreach (json_object_get(table, "sequences"), i, sequence) {
		const json_t *live = NULL;
		const json_t *kind = json_object_get(json_object_get(table, "kinds"),
						     replay_text(sequence, "kind"));
		json_array_foreach (json_object_get(sequence, "steps"), k, step) {
			n++;
			if (!same_step(kind, step, live)) {
				wrong++;
				fprintf(stderr, "^ %s step %zu\n", replay_text(sequence, "name"),
					k);
			}
			if (json_object_get(step, "object") != NULL)
				live = json_object_get(step, "object");
		}
	}
	json_decref(table);
	if (wrong > 0)
		fail_msg("%zu of %zu", wrong, n);
	assert_true(n >= 150);
}

static json_t *json_of(const char *text)
{
	json_t *v = json_loads(text, 0, NULL);
	if (v == NULL)
		fail_msg("%s", text);
	return v;
}

static int try_apply(const json_t *live, const char *manager, const json_t *config, json_t **ret)
{
	char err[256] = "";
	struct api_conflicts conflicts = { 0 };
	struct api_managed_write w = { .live = live,
				       .manager = manager,
				       .subresource = "",
				       .api_version = "v1",
				       .time = "2026-01-01T00:00:00Z" };
	int r = api_managed_apply(&w, config, false, ret, &conflicts, ERR_TEXT(err));
	assert_int_equal(r == 0, err[0] == '\0');
	return r;
}

static int try_update(const json_t *live, const json_t *o, json_t **ret)
{
	char err[256] = "";
	struct api_managed_write w = { .live = live,
				       .manager = "u",
				       .subresource = "",
				       .api_version = "v1",
				       .time = "2026-01-01T00:00:00Z" };
	int r = api_managed_update(&w, o, ret, ERR_TEXT(err));
	assert_int_equal(r == 0, err[0] == '\0');
	return r;
}

/* Objects as deep, and with as many fields, as may be, and one more. */
static void object_limits(void **state)
{
	struct {
		json_t *o;
		int code;
	} rows[] = {
		{ json_integer(1), 0 },
		{ NULL, ERR_LIMIT },
		{ json_object(), 0 },
		{ json_object(), ERR_LIMIT },
	};
	(void)state;
	for (int i = 1; i < API_MANAGED_DEPTH_MAX; i++)
		rows[0].o = json_pack("{so}", "a", rows[0].o);
	rows[1].o = json_pack("{sO}", "a", rows[0].o);
	for (int i = 1; i < API_MANAGED_FIELDS_MAX; i++) {
		char key[16];
		snprintf(key, sizeof(key), "k%d", i);
		json_object_set_new(rows[2].o, key, json_true());
	}
	json_object_update(rows[3].o, rows[2].o);
	json_object_set_new(rows[3].o, "k", json_true());
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		json_t *got = NULL;
		assert_int_equal(try_update(NULL, rows[i].o, &got), rows[i].code);
		json_decref(got);
		got = NULL;
		assert_int_equal(try_apply(NULL, "a", rows[i].o, &got), rows[i].code);
		json_decref(got);
		json_decref(rows[i].o);
	}
}

/* What is one field may hold more than there may be fields. */
static void large_atomic_list(void **state)
{
	json_t *list = json_array(), *got = NULL;
	(void)state;
	for (int i = 0; i < 2 * API_MANAGED_FIELDS_MAX; i++)
		json_array_append_new(list, json_integer(1));
	json_t *o = json_pack("{so}", "l", list);
	assert_int_equal(try_update(NULL, o, &got), 0);
	json_decref(got);
	json_decref(o);
}

static void manager_limit(void **state)
{
	json_t *live = json_of("{\"metadata\":{\"uid\":\"u\"}}"), *next = NULL;
	(void)state;
	for (int i = 0; i <= API_MANAGED_ENTRIES_MAX; i++) {
		char name[16];
		snprintf(name, sizeof(name), "m%d", i);
		json_t *config = json_pack("{s{ss}}", "data", name, "v");
		int r = try_apply(live, name, config, &next);
		json_decref(config);
		assert_int_equal(r, i < API_MANAGED_ENTRIES_MAX ? 0 : ERR_LIMIT);
		if (r == 0) {
			json_decref(live);
			live = next;
		}
	}
	assert_int_equal(json_array_size(api_get(live, "metadata.managedFields")),
			 API_MANAGED_ENTRIES_MAX);
	json_decref(live);
}

/* Without a schema: maps granular, lists atomic. Trees given stay as they are. */
static void deduced(void **state)
{
	json_t *config = json_of("{\"apiVersion\":\"v1\",\"kind\":\"X\",\"spec\":{\"m\":{\"a\":1},"
				 "\"l\":[1,2]}}");
	json_t *copy = json_deep_copy(config), *got = NULL;
	json_t *want = json_of("{\"f:spec\":{\".\":{},\"f:l\":{},\"f:m\":{\".\":{},\"f:a\":{}}}}");
	(void)state;
	assert_int_equal(try_apply(NULL, "a", config, &got), 0);
	assert_true(json_equal(api_get(got, "metadata.managedFields[0].fieldsV1"), want));
	assert_true(json_equal(config, copy));
	json_decref(want);
	json_decref(copy);
	json_decref(config);
	json_decref(got);
}

/* As `same_fields.c` does not expect them: the members of the first entry in another order. */
static json_t *with_other_order(const json_t *live)
{
	json_t *copy = json_deep_copy(live), *entry = api_get(copy, "metadata.managedFields[0]");
	json_t *manager = json_incref(json_object_get(entry, "manager"));
	json_object_del(entry, "manager");
	json_object_set_new(entry, "manager", manager);
	return copy;
}

/* The same results, order included, by the way for a single manager and by the way for all. */
static void applied_again(void **state)
{
	static const char *const configs[] = {
		"{\"spec\":{\"m\":{\"a\":1,\"b\":\"x\"},\"l\":[1,2]}}",
		"{\"spec\":{\"m\":{\"a\":2,\"b\":\"x\"},\"l\":[1]}}",
		"{\"spec\":{\"m\":{\"a\":1.0,\"b\":\"x\"},\"l\":[1,2]}}",
		"{\"spec\":{\"m\":{\"b\":\"x\"},\"l\":[1,2]}}",
		"{\"spec\":{\"m\":{\"a\":1,\"b\":\"x\",\"c\":{}},\"l\":[1,2]}}",
		"{\"spec\":{\"m\":{},\"l\":[]},\"metadata\":{\"labels\":{\"a/b\":\"c\"}}}",
		"{\"spec\":null}",
		"{}",
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(configs) * ARRAY_LEN(configs); i++) {
		json_t *first = json_of(configs[i / ARRAY_LEN(configs)]);
		json_t *second = json_of(configs[i % ARRAY_LEN(configs)]);
		json_t *made = NULL, *one = NULL, *all = NULL;
		assert_int_equal(try_apply(NULL, "a", first, &made), 0);
		json_object_set_new(json_object_get(made, "metadata"), "uid", json_string("u"));
		json_object_set_new(api_get(made, "metadata.managedFields[0]"), "time",
				    json_string("2025-01-01T00:00:00Z"));
		json_t *turned = with_other_order(made);
		assert_int_equal(try_apply(made, "a", second, &one), 0);
		assert_int_equal(try_apply(turned, "a", second, &all), 0);
		CLEANUP(freep) char *got = json_dumps(one, 0);
		CLEANUP(freep) char *want = json_dumps(all, 0);
		assert_string_equal(got, want);
		json_decref(first);
		json_decref(second);
		json_decref(made);
		json_decref(turned);
		json_decref(one);
		json_decref(all);
	}
}

static const char owned_by_one[] =
	"{\"uid\":\"u\",\"managedFields\":[{\"manager\":\"o\",\"operation\":\"Apply\","
	"\"apiVersion\":\"v1\",\"time\":\"2025-01-01T00:00:00Z\",\"fieldsType\":\"FieldsV1\","
	"\"fieldsV1\":{\"f:a\":{\"f:b\":{\"f:c\":{\"f:d\":{\"f:y\":{},\"f:z\":{}}}}},\"f:e\":{},"
	"\"f:m\":{\".\":{},\"f:x\":{\".\":{},\"f:k\":{}},\"f:y\":{}},\"f:spec\":{\"f:a\":{},\"f:"
	"b\":{}}}}]}";

static void expect_fields(const json_t *object, const char *path, const char *want)
{
	const json_t *fields = api_get(object, path);
	CLEANUP(freep) char *got = fields != NULL ? json_dumps(fields, JSON_COMPACT) : NULL;
	assert_int_equal(got != NULL, want != NULL);
	if (want != NULL)
		assert_string_equal(got, want);
}

/* An owner of all fields, and what it and an updater own after a change. */
static void changed(void **state)
{
	static const struct {
		const char *from, *to, *owner, *updater; /* NULL: has no entry */
	} rows[] = {
		{ "{\"spec\":{\"b\":1,\"a\":2}}", "{\"spec\":{\"c\":1,\"a\":3,\"b\":1.0}}",
		  "{\"f:a\":{\"f:b\":{\"f:c\":{\"f:d\":{\"f:y\":{},\"f:z\":{}}}}},\"f:e\":{},\"f:"
		  "m\":{\".\":{},\"f:x\":{\".\":{},\"f:k\":{}},\"f:y\":{}},\"f:spec\":{\"f:b\":{}}"
		  "}",
		  "{\"f:spec\":{\"f:a\":{},\"f:c\":{}}}" },
		{ "{\"m\":null}", "{\"m\":{\"y\":{\"k\":1},\"x\":2}}",
		  "{\"f:a\":{\"f:b\":{\"f:c\":{\"f:d\":{\"f:y\":{},\"f:z\":{}}}}},\"f:e\":{},\"f:"
		  "m\":{\".\":{},\"f:x\":{\"f:k\":{}}},\"f:spec\":{\"f:a\":{},\"f:b\":{}}}",
		  "{\"f:m\":{\"f:x\":{},\"f:y\":{\".\":{},\"f:k\":{}}}}" },
		{ "{\"m\":{\"y\":1,\"x\":{\"k\":1}}}", "{\"m\":\"text\"}",
		  "{\"f:a\":{\"f:b\":{\"f:c\":{\"f:d\":{\"f:y\":{},\"f:z\":{}}}}},\"f:e\":{},\"f:"
		  "spec\":{\"f:a\":{},\"f:b\":{}}}",
		  "{\"f:m\":{}}" },
		{ "{\"m\":{\"y\":1,\"x\":{}}}", "{\"m\":[1]}",
		  "{\"f:a\":{\"f:b\":{\"f:c\":{\"f:d\":{\"f:y\":{},\"f:z\":{}}}}},\"f:e\":{},\"f:"
		  "m\":{\"f:x\":{\"f:k\":{}}},\"f:spec\":{\"f:a\":{},\"f:b\":{}}}",
		  "{\"f:m\":{}}" },
		{ "{\"m\":[1,2]}", "{\"m\":{\"x\":[1]}}",
		  "{\"f:a\":{\"f:b\":{\"f:c\":{\"f:d\":{\"f:y\":{},\"f:z\":{}}}}},\"f:e\":{},\"f:"
		  "m\":{\"f:x\":{\"f:k\":{}},\"f:y\":{}},\"f:spec\":{\"f:a\":{},\"f:b\":{}}}",
		  "{\"f:m\":{\".\":{},\"f:x\":{}}}" },
		{ "{\"a\":{\"b\":{\"c\":{\"d\":{\"z\":1,\"y\":2}}}}}",
		  "{\"a\":{\"b\":{\"c\":{\"d\":{\"y\":3,\"x\":2}}}}}",
		  "{\"f:e\":{},\"f:m\":{\".\":{},\"f:x\":{\".\":{},\"f:k\":{}},\"f:y\":{}},\"f:"
		  "spec\":{\"f:a\":{},\"f:b\":{}}}",
		  "{\"f:a\":{\"f:b\":{\"f:c\":{\"f:d\":{\"f:x\":{},\"f:y\":{}}}}}}" },
		{ "{\"e\":{}}", "{\"e\":{},\"f\":{}}",
		  "{\"f:a\":{\"f:b\":{\"f:c\":{\"f:d\":{\"f:y\":{},\"f:z\":{}}}}},\"f:e\":{},\"f:"
		  "m\":{\".\":{},\"f:x\":{\".\":{},\"f:k\":{}},\"f:y\":{}},\"f:spec\":{\"f:a\":{},"
		  "\"f:b\":{}}}",
		  "{\"f:f\":{}}" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		json_t *live = json_of(rows[i].from), *object = json_of(rows[i].to), *got = NULL;
		json_object_set_new(live, "metadata", json_of(owned_by_one));
		json_object_set_new(object, "metadata", json_of(owned_by_one));
		assert_int_equal(try_update(live, object, &got), 0);
		expect_fields(got, "metadata.managedFields[0].fieldsV1", rows[i].owner);
		expect_fields(got, "metadata.managedFields[1].fieldsV1", rows[i].updater);
		json_decref(live);
		json_decref(object);
		json_decref(got);
	}
}

static void stored_fields_that_cannot_be_read(void **state)
{
	json_t *live = json_of(
		"{\"metadata\":{\"uid\":\"u\",\"managedFields\":[{\"operation\":\"No\"}]}}");
	json_t *config = json_object(), *got = NULL;
	(void)state;
	assert_int_equal(try_apply(live, "a", config, &got), ERR_PARSE);
	json_decref(config);
	json_decref(live);
}

/* Only where times are all that differs. */
static void times(void **state)
{
	static const struct {
		const char *old, *o;
		bool kept;
	} rows[] = {
		{ "{\"metadata\":{\"managedFields\":[{\"manager\":\"a\",\"time\":\"1\"}]}}",
		  "{\"metadata\":{\"managedFields\":[{\"manager\":\"a\",\"time\":\"2\"}]}}", true },
		{ "{\"metadata\":{\"managedFields\":[{\"manager\":\"a\",\"time\":\"1\"}]},\"x\":1}",
		  "{\"metadata\":{\"managedFields\":[{\"manager\":\"a\",\"time\":\"2\"}]},\"x\":2}",
		  false },
		{ "{\"metadata\":{\"managedFields\":[{\"manager\":\"a\",\"time\":\"1\"}]}}",
		  "{\"metadata\":{\"managedFields\":[{\"manager\":\"b\",\"time\":\"2\"}]}}",
		  false },
		{ "{\"metadata\":{}}",
		  "{\"metadata\":{\"managedFields\":[{\"manager\":\"b\",\"time\":\"2\"}]}}",
		  false },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		json_t *old = json_of(rows[i].old), *o = json_of(rows[i].o);
		json_t *before = json_deep_copy(o);
		api_managed_keep_times(old, o);
		assert_true(json_equal(o, rows[i].kept ? old : before));
		json_decref(before);
		json_decref(old);
		json_decref(o);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recorded_writes),
		cmocka_unit_test(object_limits),
		cmocka_unit_test(large_atomic_list),
		cmocka_unit_test(manager_limit),
		cmocka_unit_test(deduced),
		cmocka_unit_test(applied_again),
		cmocka_unit_test(changed),
		cmocka_unit_test(stored_fields_that_cannot_be_read),
		cmocka_unit_test(times),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
