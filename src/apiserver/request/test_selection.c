/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Selectors: matching, and the server's messages for invalid ones. */
#include "apiserver/request/selection.h"
#include "apiserver/request/selector_error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "api/json_text.h"

static void label_words(void **state)
{
	static const struct {
		const char *text, *want; /* "" for none; else how it begins */
	} rows[] = {
		{ "", "" },
		{ "a=b, c in (d,,e), !f , g!=, h, i==j, k>5, l<3, m in (,)", "" },
		{ "x===2", "unable to parse requirement: found '=', expected: identifier" },
		{ "x in", "unable to parse requirement: found '' expected: '('" },
		{ "x in (1", "unable to parse requirement: found '', expected: ',' or ')'" },
		{ "x in (=",
		  "unable to parse requirement: found '=', expected: ',', ')' or identifier" },
		{ "x in (a,=",
		  "unable to parse requirement: found '=', expected: ',', or identifier" },
		{ "a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, "
			 "gt, lt" },
		{ "!", "unable to parse requirement: found '', expected: identifier" },
		{ ",", "found ',', expected: !, identifier, or 'end of string'" },
		{ "x,", "found '', expected: identifier after ','" },
		{ "x=a b", "found 'b', expected: ',' or 'end of string'" },
		{ "-a=1",
		  "unable to parse requirement: <nil>: Invalid value: \"-a\": name part must" },
		{ "a=-b-",
		  "unable to parse requirement: values[0][a]: Invalid value: \"-b-\": a valid" },
		{ "a>x",
		  "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt'" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
		bool bad = apiserver_selector_error(rows[i].text, &out);
		assert_int_equal(bad, rows[i].want[0] != '\0');
		if (strncmp(out.s, rows[i].want, strlen(rows[i].want)) != 0)
			fail_msg("%s: %s", rows[i].text, out.s);
	}
}

static void matching(void **state)
{
	static const struct {
		const char *label, *field;
		bool want;
	} rows[] = {
		{ "", "", true },
		{ "a=b", "", true },
		{ "a=c", "", false },
		{ "a", "metadata.name=x", true },
		{ "", "metadata.name!=x", false },
		{ "", "spec.nodeName=n,status.phase!=Running", true },
		{ "", "metadata.name=y", false },
		{ "", "spec.hostNetwork=false", true }, /* is not there */
		{ "", "spec.hostNetwork!=false", false },
		{ "", "spec.hostNetwork=", false },
		{ "", "status.podIP=", true },
		{ "c in ()", "", false },
		{ "a notin ()", "=", true },
	};
	const struct apiserver_resource *pods = apiserver_resource_find("", "v1", "pods");
	json_t *o = json_pack("{s{ss,s{ss}},s{ss},s{ss}}", "metadata", "name", "x", "labels", "a",
			      "b", "spec", "nodeName", "n", "status", "phase", "Pending");
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	api_json_add(&text, o);
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct apiserver_status status = APISERVER_STATUS_INIT;
		struct apiserver_selection s;
		assert_int_equal(
			apiserver_selection_parse(pods, rows[i].label, rows[i].field, &s, &status),
			0);
		assert_int_equal(apiserver_selection_match(&s, o), rows[i].want);
		if (s.field.n == 0)
			assert_int_equal(apiserver_selection_match_text(&s, strbuf_slice(&text)),
					 rows[i].want);
		assert_int_equal(s.all, i == 0);
		apiserver_selection_done(&s);
		apiserver_status_done(&status);
	}
	json_decref(o);
}

/* Texts without labels or metadata have no labels. */
static void text_without_labels(void **state)
{
	static const char *const texts[] = { "", "{}", "{\"labels\":{\"a\":\"b\"}}",
					     "{\"metadata\":{\"name\":\"x\"},\"labels\":{}}" };
	struct apiserver_status status = APISERVER_STATUS_INIT;
	struct apiserver_selection has, lacks;
	const struct apiserver_resource *pods = apiserver_resource_find("", "v1", "pods");
	(void)state;
	assert_int_equal(apiserver_selection_parse(pods, "a", "", &has, &status), 0);
	assert_int_equal(apiserver_selection_parse(pods, "!a", "", &lacks, &status), 0);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		assert_false(apiserver_selection_match_text(&has, slice_of(texts[i])));
		assert_true(apiserver_selection_match_text(&lacks, slice_of(texts[i])));
	}
	apiserver_selection_done(&has);
	apiserver_selection_done(&lacks);
	apiserver_status_done(&status);
}

static void field_words(void **state)
{
	static const struct {
		const char *plural, *text, *want;
	} rows[] = {
		{ "pods", "spec.x=1", "field label not supported: spec.x" },
		{ "configmaps", "data.x=1",
		  "\"data.x\" is not a known field selector: only \"metadata.name\", "
		  "\"metadata.namespace\"" },
		{ "pods", "metadata.name",
		  "invalid selector: 'metadata.name'; can't understand 'metadata.name'" },
		{ "pods", "a=b\\c", "invalid field selector: invalid escape sequence: \\c" },
		{ "pods", "a=b\\", "invalid field selector: invalid escape sequence: \\" },
		{ "pods", "a=b=c", "invalid field selector: unescaped character in value: 61" },
		{ "pods", "a=b\\=c,d", "invalid selector: 'a=b\\=c,d'; can't understand 'd'" },
		{ "pods", " ", "invalid selector: ' '; can't understand ' '" },
		{ "pods", "=a", "field label not supported: " },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct apiserver_status status = APISERVER_STATUS_INIT;
		struct apiserver_selection s;
		assert_int_equal(
			apiserver_selection_parse(apiserver_resource_find("", "v1", rows[i].plural),
						  "", rows[i].text, &s, &status),
			ERR_DENIED);
		assert_int_equal(status.code, 400);
		assert_string_equal(status.message.s, rows[i].want);
		apiserver_selection_done(&s);
		apiserver_status_done(&status);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(label_words),
		cmocka_unit_test(matching),
		cmocka_unit_test(text_without_labels),
		cmocka_unit_test(field_words),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
