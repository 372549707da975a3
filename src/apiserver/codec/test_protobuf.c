/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Protobuf bodies of kubectl and kube-apiserver with the same objects as JSON (test_protobuf.json,
 * recorded by tests/kube/test_protobuf.py), and malformed bodies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/meta.h"
#include "api/tree.h"
#include "apiserver/codec/protobuf.h"
#include "apiserver/kind/go_normalize.h"
#include "apiserver/kind/resource.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text/base64.h"

/* A JSON text may hold what is empty; kubectl's do. */
static json_t *shaped(const json_t *o)
{
	json_t *copy = json_deep_copy(o);
	const struct apiserver_resource *r = apiserver_resource_of(copy);
	assert_non_null(r);
	api_schema_prepare(r->schema, copy);
	apiserver_go_normalize(r, copy);
	return copy;
}

static void recorded_bodies(void **state)
{
	json_error_t e;
	json_t *rows = json_load_file(SOURCE_DIR "/test_protobuf.json", 0, &e), *row;
	size_t i, bad = 0;
	(void)state;
	assert_non_null(rows);
	json_array_foreach (rows, i, row) {
		CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
		char err[256] = "";
		json_t *got = NULL;
		json_t *want = shaped(json_object_get(row, "json"));
		assert_int_equal(base64_decode(&body, slice_of(api_get_string(row, "body"))), 0);
		int code = apiserver_protobuf_decode(strbuf_slice(&body), &got, ERR_TEXT(err));
		if (code < 0 || !json_equal(got, want)) {
			CLEANUP(freep) char *a = json_dumps(want, JSON_SORT_KEYS);
			CLEANUP(freep) char *b = json_dumps(got, JSON_SORT_KEYS);
			print_error("=== %s: %s\n--- want\n%s\n--- got\n%s\n",
				    api_get_string(row, "of"), err, a, b);
			bad++;
		}
		json_decref(got);
		json_decref(want);
	}
	assert_int_equal(bad, 0);
	assert_true(i >= 25);
	json_decref(rows);
}

/* ---- made by hand ---- */

static void add_varint(struct strbuf *b, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		strbuf_addc(b, (char)(v | 0x80));
	strbuf_addc(b, (char)v);
}

static void add_bytes(struct strbuf *b, unsigned number, const void *p, size_t n)
{
	add_varint(b, number << 3 | 2);
	add_varint(b, n);
	strbuf_add(b, p, n);
}

static void add_text(struct strbuf *b, unsigned number, const char *s)
{
	add_bytes(b, number, s, strlen(s));
}

static void envelope(struct strbuf *b, const char *version, const char *kind,
		     const struct strbuf *raw)
{
	CLEANUP(strbuf_done) struct strbuf type = STRBUF_INIT;
	strbuf_add(b, "k8s", 4);
	add_text(&type, 1, version);
	add_text(&type, 2, kind);
	add_bytes(b, 1, type.s, type.n);
	add_bytes(b, 2, raw->s, raw->n);
}

static int decode(const char *version, const char *kind, const struct strbuf *raw, json_t **ret,
		  char err[256])
{
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	envelope(&b, version, kind, raw);
	return apiserver_protobuf_decode(strbuf_slice(&b), ret, (struct err_text){ err, 256 });
}

static void delete_options(void **state)
{
	CLEANUP(strbuf_done) struct strbuf raw = STRBUF_INIT, pre = STRBUF_INIT;
	char err[256];
	json_t *o = NULL;
	(void)state;
	add_varint(&raw, 1 << 3);
	add_varint(&raw, 5);
	add_text(&pre, 1, "uid-1");
	add_bytes(&raw, 2, pre.s, pre.n);
	add_text(&raw, 4, "Background");
	add_text(&raw, 5, "All");
	assert_int_equal(decode("v1", "DeleteOptions", &raw, &o, err), 0);
	assert_int_equal(json_integer_value(api_get(o, "gracePeriodSeconds")), 5);
	assert_string_equal(api_get_string(o, "preconditions.uid"), "uid-1");
	assert_string_equal(api_get_string(o, "propagationPolicy"), "Background");
	assert_string_equal(api_get_string(o, "dryRun[0]"), "All");
	json_decref(o);
}

static void refused(void **state)
{
	CLEANUP(strbuf_done) struct strbuf none = STRBUF_INIT, raw = STRBUF_INIT;
	char err[256];
	json_t *o = NULL;
	(void)state;
	assert_int_equal(apiserver_protobuf_decode(SLICE("{}"), &o, ERR_TEXT(err)), ERR_PARSE);
	assert_int_equal(apiserver_protobuf_decode(SLICE(""), &o, ERR_TEXT(err)), ERR_PARSE);
	assert_int_equal(decode("apps/v1", "Deployment", &none, &o, err), ERR_UNSUPPORTED);
	assert_string_equal(err,
			    "no protobuf bodies of kind \"Deployment\" in version \"apps/v1\"");
	assert_int_equal(decode("operator.openshift.io/v1", "DNS", &none, &o, err),
			 ERR_UNSUPPORTED);
	add_text(&raw, 99, "x"); /* unknown fields are passed over ... */
	assert_int_equal(decode("v1", "ConfigMap", &raw, &o, err), 0);
	json_decref(o);
	assert_int_equal(decode("v1", "Pod", &raw, &o, err), ERR_UNSUPPORTED); /* but not lost */
	assert_string_equal(
		err, "field 99 of v1.Pod cannot be read from protobuf here: send it as JSON");
	strbuf_reset(&raw);
	add_text(&raw, 1, "\xff\xff"); /* metadata: not a message */
	assert_int_equal(decode("v1", "ConfigMap", &raw, &o, err), ERR_PARSE);
	strbuf_reset(&raw);
	add_varint(&raw, 1 << 3); /* metadata as a number */
	add_varint(&raw, 1);
	assert_int_equal(decode("v1", "ConfigMap", &raw, &o, err), ERR_PARSE);
	assert_string_equal(err, "proto: wrong wireType = 0 for field 1");
	strbuf_reset(&raw);
	add_varint(&raw, 1 << 3 | 3); /* a group */
	assert_int_equal(decode("v1", "ConfigMap", &raw, &o, err), ERR_PARSE);
}

static void bad_text(void **state)
{
	CLEANUP(strbuf_done) struct strbuf raw = STRBUF_INIT, meta = STRBUF_INIT;
	char err[256];
	json_t *o = NULL;
	(void)state;
	add_text(&meta, 1, "\xc3");
	add_bytes(&raw, 1, meta.s, meta.n);
	assert_int_equal(decode("v1", "ConfigMap", &raw, &o, err), ERR_PARSE);
	assert_string_equal(err, "proto: a text is not valid UTF-8");
}

/* As many values as may be, and one more. */
static void limit(void **state)
{
	char err[256];
	(void)state;
	for (int more = 0; more < 2; more++) {
		CLEANUP(strbuf_done) struct strbuf raw = STRBUF_INIT;
		json_t *o = NULL;
		for (int i = 0; i < APISERVER_PROTOBUF_VALUES_MAX + more; i++)
			add_bytes(&raw, 3, "", 0); /* imagePullSecrets */
		assert_int_equal(decode("v1", "ServiceAccount", &raw, &o, err),
				 more != 0 ? ERR_LIMIT : 0);
		json_decref(o);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recorded_bodies), cmocka_unit_test(delete_options),
		cmocka_unit_test(refused),	   cmocka_unit_test(bad_text),
		cmocka_unit_test(limit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
