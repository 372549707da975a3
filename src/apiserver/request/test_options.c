/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Options of lists, writes and deletes. tests/kube/conformance compares the messages, too. */
#include "apiserver/request/options.h"
#include "apiserver/request/resource_version.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"

static struct apiserver_call call_of(const struct apiserver_arg *args, size_t n, const char *body)
{
	return (struct apiserver_call){ .args = args,
					.n_args = n,
					.accept = "",
					.content_type = "",
					.user_agent = "kubectl/v1.37 (x)",
					.body = slice_of(body) };
}

static void booleans(void **state)
{
	static const struct {
		const char *value;
		bool want;
	} rows[] = { { "1", true },  { "true", true },	 { "", true },	    { "x", true },
		     { "0", false }, { "false", false }, { "False", false } };
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct apiserver_arg arg = { "watch", rows[i].value };
		struct apiserver_call c = call_of(&arg, 1, "");
		struct apiserver_list_options o;
		struct apiserver_status status = APISERVER_STATUS_INIT;
		assert_int_equal(apiserver_list_options(&c, &o, &status), 0);
		assert_int_equal(o.watch, rows[i].want);
		apiserver_status_done(&status);
	}
}

static void numbers(void **state)
{
	static const struct {
		const char *value, *want;
	} rows[] = { { "x", "strconv.ParseInt: parsing \"x\": invalid syntax" },
		     { "", "strconv.ParseInt: parsing \"\": invalid syntax" },
		     { " 1", "strconv.ParseInt: parsing \" 1\": invalid syntax" },
		     { "99999999999999999999",
		       "strconv.ParseInt: parsing \"99999999999999999999\": value out of range" } };
	struct apiserver_list_options o;
	struct apiserver_status status = APISERVER_STATUS_INIT;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct apiserver_arg arg = { "limit", rows[i].value };
		struct apiserver_call c = call_of(&arg, 1, "");
		assert_int_equal(apiserver_list_options(&c, &o, &status), ERR_DENIED);
		assert_string_equal(status.message.s, rows[i].want);
	}
	struct apiserver_arg good[] = { { "limit", "7" }, { "timeoutSeconds", "9" } };
	struct apiserver_call c = call_of(good, 2, "");
	assert_int_equal(apiserver_list_options(&c, &o, &status), 0);
	assert_int_equal(o.limit, 7);
	assert_int_equal(o.timeout_s, 9);
	apiserver_status_done(&status);
}

static void managers(void **state)
{
	struct apiserver_write_options o;
	struct apiserver_status status = APISERVER_STATUS_INIT;
	struct apiserver_call c = call_of(NULL, 0, "");
	CLEANUP(strbuf_done) struct strbuf agent = STRBUF_INIT;
	(void)state;
	assert_int_equal(apiserver_write_options(&c, APISERVER_WRITE_CREATE, &o, &status), 0);
	assert_string_equal(o.manager, "kubectl");
	c.user_agent = "";
	assert_int_equal(apiserver_write_options(&c, APISERVER_WRITE_CREATE, &o, &status), 0);
	assert_string_equal(o.manager, "Go-http-client");
	for (int i = 0; i < 2 * APISERVER_MANAGER_MAX_BYTES; i++)
		strbuf_adds(&agent, i == 3 ? "\x01" : "a");
	c.user_agent = "a\xff/1";
	assert_int_equal(apiserver_write_options(&c, APISERVER_WRITE_CREATE, &o, &status), 0);
	assert_string_equal(o.manager, "a\xef\xbf\xbd");
	c.user_agent = agent.s;
	assert_int_equal(apiserver_write_options(&c, APISERVER_WRITE_UPDATE, &o, &status), 0);
	assert_int_equal(strlen(o.manager), APISERVER_MANAGER_MAX_BYTES);
	assert_null(strchr(o.manager, '\x01'));
	assert_int_equal(apiserver_write_options(&c, APISERVER_WRITE_APPLY, &o, &status),
			 ERR_DENIED);
	assert_int_equal(status.code, 422);
	apiserver_status_done(&status);
}

static void deletes(void **state)
{
	struct apiserver_delete_options o;
	struct apiserver_status status = APISERVER_STATUS_INIT;
	struct apiserver_call c =
		call_of(NULL, 0,
			"{\"propagationPolicy\":\"Orphan\",\"dryRun\":[\"All\"],\"preconditions\":{"
			"\"uid\":\"u\",\"resourceVersion\":\"7\"}}");
	(void)state;
	assert_int_equal(apiserver_delete_options(&c, &o, &status), 0);
	assert_string_equal(o.policy, "Orphan");
	assert_string_equal(o.uid, "u");
	assert_string_equal(o.resource_version, "7");
	assert_true(o.dry_run);
	apiserver_delete_options_done(&o);
	/* Arguments count only where there is no body. */
	struct apiserver_arg arg = { "propagationPolicy", "Foreground" };
	c = call_of(&arg, 1, "{}");
	assert_int_equal(apiserver_delete_options(&c, &o, &status), 0);
	assert_string_equal(o.policy, "");
	apiserver_delete_options_done(&o);
	c = call_of(&arg, 1, "");
	assert_int_equal(apiserver_delete_options(&c, &o, &status), 0);
	assert_string_equal(o.policy, "Foreground");
	apiserver_delete_options_done(&o);
	static const char *const wrong[] = { "{\"orphanDependents\":1}", "{\"dryRun\":\"All\"}",
					     "{\"preconditions\":[]}",
					     "{\"propagationPolicy\":7}" };
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		c = call_of(NULL, 0, wrong[i]);
		assert_int_equal(apiserver_delete_options(&c, &o, &status), ERR_DENIED);
		assert_int_equal(status.code, 400);
	}
	apiserver_status_done(&status);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(booleans),
		cmocka_unit_test(numbers),
		cmocka_unit_test(managers),
		cmocka_unit_test(deletes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
