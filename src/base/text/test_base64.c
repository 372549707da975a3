/* SPDX-License-Identifier: GPL-3.0-or-later */
/* RFC 4648 section 10's vectors, all lengths, and what is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/rng.h"
#include "base/rng_test.h"
#include "base/text/base64.h"

static void vectors(void **state)
{
	static const struct {
		const char *plain, *text;
	} rows[] = {
		{ "", "" },
		{ "f", "Zg==" },
		{ "fo", "Zm8=" },
		{ "foo", "Zm9v" },
		{ "foob", "Zm9vYg==" },
		{ "fooba", "Zm9vYmE=" },
		{ "foobar", "Zm9vYmFy" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
		base64_encode(&b, slice_of(rows[i].plain));
		assert_string_equal(b.s, rows[i].text);
		strbuf_reset(&b);
		assert_int_equal(base64_decode(&b, slice_of(rows[i].text)), 0);
		assert_string_equal(b.s, rows[i].plain);
	}
}

static void all_bytes_come_back(void **state)
{
	struct rng r;
	(void)state;
	rng_init_seed(&r, 1);
	for (size_t n = 0; n < 300; n++) {
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
		CLEANUP(strbuf_done) struct strbuf back = STRBUF_INIT;
		char bytes[300];
		for (size_t i = 0; i < n; i++)
			bytes[i] = (char)rng_u64(&r);
		base64_encode(&text, (struct slice){ bytes, n });
		assert_int_equal(base64_decode(&back, strbuf_slice(&text)), 0);
		assert_int_equal(back.n, n);
		assert_memory_equal(back.s, bytes, n);
	}
}

static void refused(void **state)
{
	static const char *const bad[] = { "Z",	    "Zg",    "Zg=",  "Zg===", "=",   "====",
					   "Zm9v=", "Zg==Z", "Z=g=", "Zm9v!", "Zm-_" };
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
		strbuf_adds(&b, "x");
		assert_int_equal(base64_decode(&b, slice_of(bad[i])), ERR_PARSE);
		assert_string_equal(b.s, "x");
	}
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	assert_int_equal(base64_decode(&b, SLICE("Zm9v\nYg ==\n")), 0);
	assert_string_equal(b.s, "foob");
	strbuf_reset(&b);
	assert_int_equal(base64_decode(&b, SLICE("Zh==")), 0); /* as Go */
	assert_string_equal(b.s, "f");
	assert_int_equal(base64_value('/'), 63);
	assert_int_equal(base64_value('='), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vectors),
		cmocka_unit_test(all_bytes_come_back),
		cmocka_unit_test(refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
