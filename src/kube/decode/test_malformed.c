/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The log lines about objects that cannot be read. */
#include "kube/decode/malformed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"

static const struct {
	const char *json, *who;
} rows[] = {
	{ "{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\"},\"spec\":[1,,2]}", "'n/a'" },
	{ "{\"metadata\":{\"name\":\"a\"},\"spec\":", "'a'" },
	{ "{\"metadata\":{\"namespace\":\"n\",\"name\":\"b\\u0001\\n\xc3\xa4\"}}", "'n/b....'" },
	{ "{\"metadata\":{\"name\":7}}", "'(without a name)'" },
	{ "<html>", "'(without a name)'" },
	{ "", "'(without a name)'" },
};

static void names(void **state)
{
	struct kube_malformed b = { 0 };
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char text[640], want[640];
		assert_true(kube_malformed_report(&b, "services", slice_of(rows[i].json), ERR_PARSE,
						  text, sizeof(text)));
		snprintf(want, sizeof(want), "services: %s cannot be read and is left out: %s",
			 rows[i].who, err_str(ERR_PARSE));
		assert_string_equal(text, want);
		assert_false(kube_malformed_report(&b, "services", slice_of(rows[i].json),
						   ERR_PARSE, text, sizeof(text)));
	}
}

/* A name that is too long for the sentence, and more objects than are remembered. */
static void limits(void **state)
{
	static struct kube_malformed b;
	char json[600], text[640];
	(void)state;
	memset(json, 'x', sizeof(json));
	memcpy(json, "{\"metadata\":{\"name\":\"", 21);
	memcpy(json + sizeof(json) - 4, "\"}}", 4);
	assert_true(
		kube_malformed_report(&b, "pods", slice_of(json), ERR_LIMIT, text, sizeof(text)));
	assert_non_null(strstr(text, "(without a name)"));
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < KUBE_MALFORMED_MAX; i++) {
			snprintf(json, sizeof(json), "{\"metadata\":{\"name\":\"a%d\"}", i);
			assert_int_equal(kube_malformed_report(&b, "pods", slice_of(json),
							       ERR_PARSE, text, sizeof(text)),
					 round == 0);
		}
	}
	/* The first one was forgotten for the last. */
	assert_int_equal(b.count, KUBE_MALFORMED_MAX + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(names), cmocka_unit_test(limits) };
	return cmocka_run_group_tests_name("kube/bad", tests, NULL, NULL);
}
