/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Types of frames, bookmarks, errors inside a watch, a list's metadata. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "kube/decode/watchframe.h"

static void types(void **state)
{
	(void)state;
	assert_int_equal(kube_event_of(SLICE("ADDED")), KUBE_EVENT_ADDED);
	assert_int_equal(kube_event_of(SLICE("MODIFIED")), KUBE_EVENT_MODIFIED);
	assert_int_equal(kube_event_of(SLICE("DELETED")), KUBE_EVENT_DELETED);
	assert_int_equal(kube_event_of(SLICE("BOOKMARK")), KUBE_EVENT_BOOKMARK);
	assert_int_equal(kube_event_of(SLICE("ERROR")), KUBE_EVENT_ERROR);
	assert_int_equal(kube_event_of(SLICE("added")), KUBE_EVENT_UNKNOWN);
	assert_int_equal(kube_event_of(SLICE("")), KUBE_EVENT_UNKNOWN);
}

/* 1.4: the bookmark that ends the initial events; 1.5: ordinary ones */
static void bookmarks(void **state)
{
	struct kube_bookmark b;
	(void)state;
	assert_int_equal(
		kube_bookmark_parse(
			SLICE("{\"kind\":\"Pod\",\"metadata\":{\"resourceVersion\":\"42\","
			      "\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}"),
			&b),
		0);
	assert_string_equal(b.rv, "42");
	assert_true(b.initial_end);
	assert_int_equal(
		kube_bookmark_parse(
			SLICE("{\"metadata\":{\"resourceVersion\":\"9007199254740993\"}}"), &b),
		0);
	assert_string_equal(b.rv, "9007199254740993");
	assert_false(b.initial_end);
	static const char *const bad[] = {
		"{}",
		"[]",
		"{",
		"{\"metadata\":{\"resourceVersion\":7}}",
		"{\"metadata\":{\"resourceVersion\":\"7a\"}}",
		"{\"metadata\":{\"resourceVersion\":\"123456789012345678901234567890123\"}}",
	};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(kube_bookmark_parse(slice_of(bad[i]), &b), ERR_PARSE);
}

static void errors(void **state)
{
	struct kube_error e;
	(void)state;
	assert_int_equal(
		kube_error_parse(
			SLICE("{\"kind\":\"Status\",\"message\":\"too old resource version\","
			      "\"reason\":\"Expired\",\"code\":410}"),
			&e),
		0);
	assert_int_equal(e.code, 410);
	assert_string_equal(e.message, "too old resource version");
	assert_true(kube_error_is_gone(&e));
	assert_int_equal(kube_error_parse(SLICE("{\"reason\":\"Gone\"}"), &e), 0);
	assert_true(kube_error_is_gone(&e));
	assert_int_equal(
		kube_error_parse(
			SLICE("{\"code\":504,\"reason\":\"Timeout\",\"details\":{\"causes\":"
			      "[{\"reason\":\"ResourceVersionTooLarge\"}]}}"),
			&e),
		0);
	assert_true(e.too_large);
	assert_false(kube_error_is_gone(&e));
	assert_int_equal(kube_error_parse(SLICE("{\"code\":1e99}"), &e), 0);
	assert_int_equal(e.code, 0);
	assert_int_equal(kube_error_parse(SLICE("null"), &e), ERR_PARSE);
}

static void list_meta(void **state)
{
	struct kube_list_meta m = { .next = STRBUF_INIT };
	(void)state;
	assert_int_equal(kube_list_meta_parse(SLICE("{\"resourceVersion\":\"5\",\"continue\":"
						    "\"abc\",\"remainingItemCount\":3}"),
					      &m),
			 0);
	assert_string_equal(m.rv, "5");
	assert_string_equal(m.next.s, "abc");
	assert_int_equal(kube_list_meta_parse(SLICE("{\"resourceVersion\":\"6\"}"), &m), 0);
	assert_string_equal(m.next.s, "");
	assert_int_equal(kube_list_meta_parse(SLICE("{\"continue\":\"x\"}"), &m), ERR_PARSE);
	assert_string_equal(m.rv, "6");
	strbuf_done(&m.next);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(types),
		cmocka_unit_test(bookmarks),
		cmocka_unit_test(errors),
		cmocka_unit_test(list_meta),
	};
	return cmocka_run_group_tests_name("kube/watchframe", tests, NULL, NULL);
}
