/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rules in CEL: what a real API server made of the same rules and objects (test_rule.json), which
 * expressions are refused, and that none can cost much. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/schema/test_schema.h"
#include "base/err.h"
#include "base/err_text.h"
#include "cel/cel.h"

static void recorded_answers(void **state)
{
	(void)state;
	test_schema_table(SOURCE_DIR "/test_rule.json", 150);
}

#define RULE_SCHEMA                                                                         \
	"{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"},\"i\":{\"type\":" \
	"\"integer\"},"                                                                     \
	"\"l\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"                       \
	"\"d\":{\"type\":\"string\",\"format\":\"date-time\"},"                             \
	"\"free\":{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true},"     \
	"\"o\":{\"type\":\"object\",\"properties\":{\"x\":{\"type\":\"string\"}}}}}"

/* Compiles a schema with this rule. */
static int with_rule(const char *rule, struct api_schema **ret, struct err_text err)
{
	json_t *schema = json_loads(RULE_SCHEMA, 0, NULL);
	json_object_set_new(schema, "x-kubernetes-validations", json_pack("[{ss}]", "rule", rule));
	int r = api_schema_new(schema, ret, err);
	json_decref(schema);
	return r;
}

static void refused(void **state)
{
	static const struct {
		const char *rule, *err;
		int code;
	} rows[] = {
		{ "", "a value is missing", ERR_PARSE },
		{ "self.a ==", "a value is missing", ERR_PARSE },
		{ "self.a == 'x' 'y'", "unexpected input after the end of the expression",
		  ERR_PARSE },
		{ "(self.i > 1", "')' is missing", ERR_PARSE },
		{ "self.i ? 1", "':' is missing", ERR_PARSE },
		{ "self.", "a field's name is missing", ERR_PARSE },
		{ "self.a == 'x", "malformed string", ERR_PARSE },
		{ "self.a == '\\q'", "malformed string", ERR_PARSE },
		{ "self.a == '\n'", "malformed string", ERR_PARSE },
		{ "self.i == 12x", "malformed number", ERR_PARSE },
		{ "self.i == 9223372036854775808", "malformed number", ERR_PARSE },
		{ "self.i == 1u", "unsigned numbers are not supported", ERR_UNSUPPORTED },
		{ "self.i == $", "unexpected character", ERR_PARSE },
		{ "self.i = 1", "unexpected character", ERR_PARSE },
		{ "has(self)", "has() needs a field: has(self.x)", ERR_PARSE },
		{ "self.l.all('x', true)", "a macro needs the name of a variable", ERR_PARSE },
		{ "x == 1", "undeclared reference to 'x'", ERR_TYPE },
		{ "self.b == 'x'", "undefined field 'b'", ERR_TYPE },
		{ "self.free.x == 'x'", "undefined field 'x'", ERR_TYPE },
		{ "self.metadata.labels.size() == 0", "undefined field 'labels'", ERR_TYPE },
		{ "self.a.b == 'x'", "type 'string' has no field 'b'", ERR_TYPE },
		{ "self.a == 1", "found no matching overload for '_==_' applied to '(string, int)'",
		  ERR_TYPE },
		{ "self.a == null",
		  "found no matching overload for '_==_' applied to '(string, null)'", ERR_TYPE },
		{ "self.d == self.a",
		  "found no matching overload for '_==_' applied to '(time or bytes, string)'",
		  ERR_TYPE },
		{ "self.i + 'x' == 'y'",
		  "found no matching overload for '_+_' applied to '(int, string)'", ERR_TYPE },
		{ "self.i && true",
		  "found no matching overload for '_&&_' applied to '(int, bool)'", ERR_TYPE },
		{ "!self.a", "found no matching overload for '!_' applied to '(string)'",
		  ERR_TYPE },
		{ "self.a < 1", "found no matching overload for '_<_' applied to '(string, int)'",
		  ERR_TYPE },
		{ "1 in self.l", "found no matching overload for '@in' applied to '(int, list)'",
		  ERR_TYPE },
		{ "self.l['x'] == 'y'",
		  "found no matching overload for '_[_]' applied to '(list, string)'", ERR_TYPE },
		{ "size(self.i) == 1", "found no matching overload for 'size' applied to '(int)'",
		  ERR_TYPE },
		{ "self.i.startsWith('x')",
		  "found no matching overload for 'startsWith' applied to '(int, string)'",
		  ERR_TYPE },
		{ "oldSelf.hasValue()",
		  "found no matching overload for 'hasValue' applied to '(object)'", ERR_TYPE },
		{ "self.l.all(x, x)", "a macro's condition is of type 'string'", ERR_TYPE },
		{ "self.i.all(x, true)", "type 'int' cannot be iterated", ERR_TYPE },
		{ "true ? 1 : 'x'",
		  "found no matching overload for '_?_:_' applied to '(int, string)'", ERR_TYPE },
		{ "{[]: 1}.size() == 1", "a map's key may not be of type 'list'", ERR_TYPE },
		{ "self.i", "the result is of type 'int', not 'bool'", ERR_TYPE },
		{ "self.a.matches(self.a)", "matches() needs a literal pattern", ERR_UNSUPPORTED },
		{ "self.a.lowerAscii() == 'x'", "function 'lowerAscii' is not supported",
		  ERR_UNSUPPORTED },
		{ "duration('1s') == duration('1s')", "function 'duration' is not supported",
		  ERR_UNSUPPORTED },
		{ "self.a.size(1) == 1", "function 'size' is not supported", ERR_UNSUPPORTED },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_done) struct strbuf want = STRBUF_INIT;
		char err[512] = "";
		struct api_schema *s = NULL;
		strbuf_addf(&want, "x-kubernetes-validations[0]: %s", rows[i].err);
		if (with_rule(rows[i].rule, &s, ERR_TEXT(err)) != rows[i].code ||
		    strcmp(err, want.s) != 0)
			fail_msg("%s\n got %s", rows[i].rule, err);
	}
}

static void refused_around(void **state)
{
	static const struct {
		const char *schema, *err;
	} rows[] = {
		{ "{\"type\":\"object\",\"x-kubernetes-validations\":5}",
		  "'x-kubernetes-validations' must be a list of rules" },
		{ "{\"type\":\"object\",\"x-kubernetes-validations\":[{\"rule\":\"true\",\"x\":1}]"
		  "}",
		  "x-kubernetes-validations[0]: 'x' is not supported" },
		{ "{\"type\":\"object\",\"x-kubernetes-validations\":[{\"rule\":\"true\","
		  "\"reason\":\"Other\"}]}",
		  "x-kubernetes-validations[0]: malformed reason or fieldPath" },
		{ "{\"type\":\"object\",\"x-kubernetes-validations\":[{\"rule\":\"true\","
		  "\"fieldPath\":\".x\"}]}",
		  "x-kubernetes-validations[0]: malformed reason or fieldPath" },
		{ "{\"type\":\"object\",\"x-kubernetes-validations\":[{\"rule\":\"true\","
		  "\"messageExpression\":\"1\"}]}",
		  "x-kubernetes-validations[0]: the result is of type 'int', not 'string'" },
		{ "{\"properties\":{\"a\":{\"x-kubernetes-validations\":[{\"rule\":\"true\"}]}}}",
		  "properties[a].x-kubernetes-validations[0]: rules need a field with a type" },
		{ "{\"allOf\":[{\"x-kubernetes-validations\":[{\"rule\":\"true\"}]}]}",
		  "allOf[0]: rules inside alternatives are not supported" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char err[512] = "";
		struct api_schema *s = NULL;
		json_t *v = json_loads(rows[i].schema, 0, NULL);
		assert_true(api_schema_new(v, &s, ERR_TEXT(err)) < 0);
		assert_string_equal(err, rows[i].err);
		json_decref(v);
	}
}

static void repeat(struct strbuf *b, const char *front, const char *part, size_t n,
		   const char *back)
{
	strbuf_reset(b);
	strbuf_adds(b, front);
	for (size_t i = 0; i < n; i++)
		strbuf_adds(b, part);
	strbuf_adds(b, back);
}

static void expect_code(const struct strbuf *rule, int code)
{
	char err[512] = "";
	struct api_schema *s = NULL;
	int r = with_rule(rule->s, &s, ERR_TEXT(err));
	if (r != code)
		fail_msg("%d %s: %.60s...", r, err, rule->s);
	api_schema_free(s);
}

static void limits_of_texts(void **state)
{
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	(void)state;
	repeat(&b, "self.a != '", "x", CEL_BYTES_MAX - 12, "'");
	expect_code(&b, 0);
	repeat(&b, "self.a != '", "x", CEL_BYTES_MAX - 11, "'");
	expect_code(&b, ERR_LIMIT);
	repeat(&b, "", "(", CEL_DEPTH_MAX - 1, "true");
	strbuf_adds(&b, "");
	for (int i = 0; i < CEL_DEPTH_MAX - 1; i++)
		strbuf_addc(&b, ')');
	expect_code(&b, 0);
	repeat(&b, "", "(", CEL_DEPTH_MAX, "true");
	expect_code(&b, ERR_LIMIT);
	repeat(&b, "true", " && true", CEL_DEPTH_MAX - 1, "");
	expect_code(&b, 0);
	repeat(&b, "true", " && true", CEL_DEPTH_MAX, "");
	expect_code(&b, ERR_LIMIT);
	repeat(&b, "", "!", CEL_DEPTH_MAX, "true");
	expect_code(&b, ERR_LIMIT);
	repeat(&b, "[", "1,", CEL_NODES_MAX, "1].size() > 1");
	expect_code(&b, ERR_LIMIT);
	repeat(&b, "", "self.l.all(x, ", CEL_SLOTS_MAX - CEL_SLOT_FREE, "true");
	for (int i = 0; i < CEL_SLOTS_MAX - CEL_SLOT_FREE; i++)
		strbuf_addc(&b, ')');
	expect_code(&b, 0);
	repeat(&b, "", "self.l.all(x, ", CEL_SLOTS_MAX - CEL_SLOT_FREE + 1, "true");
	expect_code(&b, ERR_LIMIT);
}

/* A rule that would run for ever, as the object gets large. */
static void limit_of_cost(void **state)
{
	struct api_schema *s = NULL;
	struct api_errors errs = { 0 };
	char err[512] = "";
	json_t *list = json_array(), *o = json_pack("{so}", "l", list);
	(void)state;
	assert_int_equal(with_rule("self.l.all(x, self.l.all(y, self.l.all(z, x + y != z)))", &s,
				   ERR_TEXT(err)),
			 0);
	for (int i = 0; i < 3; i++)
		json_array_append_new(list, json_string("ab"));
	api_schema_validate(s, o, NULL, &errs);
	assert_int_equal(errs.n, 0);
	for (int i = 0; i < 300; i++)
		json_array_append_new(list, json_string("ab"));
	api_schema_validate(s, o, NULL, &errs);
	assert_int_equal(errs.n, 1);
	assert_non_null(strstr(errs.v[0].body,
			       "Invalid value: \"object\": 'operation cancelled: actual "
			       "cost limit exceeded': no further validation rules"));
	api_errors_done(&errs);
	api_schema_free(s);
	json_decref(o);
}

/* Many cheap rules come to much together. */
static void limit_of_all_rules(void **state)
{
	struct api_schema *s = NULL;
	struct api_errors errs = { 0 };
	char err[512] = "";
	json_t *schema = json_loads(RULE_SCHEMA, 0, NULL), *rules = json_array(),
	       *list = json_array();
	json_t *o = json_pack("{so}", "l", list);
	(void)state;
	for (int i = 0; i < 20; i++)
		json_array_append_new(rules, json_pack("{ss}", "rule",
						       "self.l.all(x, self.l.exists(y, x != y))"));
	json_object_set_new(schema, "x-kubernetes-validations", rules);
	assert_int_equal(api_schema_new(schema, &s, ERR_TEXT(err)), 0);
	for (int i = 0; i < 400; i++)
		json_array_append_new(list, json_string(i < 399 ? "ab" : "c"));
	api_schema_validate(s, o, NULL, &errs);
	assert_int_equal(errs.n, 1);
	assert_string_equal(
		errs.v[0].body,
		"Invalid value: \"object\": validation failed due to running out of cost "
		"budget, no further validation rules will be run");
	api_errors_done(&errs);
	api_schema_free(s);
	json_decref(schema);
	json_decref(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recorded_answers), cmocka_unit_test(refused),
		cmocka_unit_test(refused_around),   cmocka_unit_test(limits_of_texts),
		cmocka_unit_test(limit_of_cost),    cmocka_unit_test(limit_of_all_rules),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
