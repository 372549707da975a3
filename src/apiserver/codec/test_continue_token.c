/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Continue tokens: round trips, and the server's messages for invalid ones. */
#include "apiserver/codec/continue_token.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/text/base64.h"

static void round_trip(void **state)
{
	CLEANUP(strbuf_done)
	struct strbuf token = STRBUF_INIT, after = STRBUF_INIT, err = STRBUF_INIT;
	int64_t rv = 0;
	(void)state;
	apiserver_continue_token_make(&token, "core/configmaps/a/b?>", "core/configmaps/", 7);
	assert_null(strpbrk(token.s, "+/="));
	assert_int_equal(
		apiserver_continue_token_read(token.s, "core/configmaps/", &after, &rv, &err), 0);
	assert_string_equal(after.s, "core/configmaps/a/b?>");
	assert_int_equal(rv, 7);
	/* As the server has it, so that tokens of both look alike. */
	strbuf_reset(&token);
	apiserver_continue_token_make(&token, "core/configmaps/x/a", "core/configmaps/x/", 12);
	assert_string_equal(token.s,
			    "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MTIsInN0YXJ0IjoiYVx1MDAwMCJ9");
}

static void refused(void **state)
{
	static const struct {
		const char *json, *want;
	} rows[] = {
		{ "x", "invalid character 'x' looking for beginning of value" },
		{ "[]",
		  "json: cannot unmarshal value into Go value of type storage.continueToken" },
		{ "{}", "server does not recognize this encoded version " },
		{ "{\"v\":\"meta.k8s.io/v1\",\"rv\":0,\"start\":\"a\"}",
		  "incorrect encoded start resourceVersion (version meta.k8s.io/v1)" },
		{ "{\"v\":\"meta.k8s.io/v1\",\"rv\":5}",
		  "encoded start key is empty (version meta.k8s.io/v1)" },
		{ "{\"v\":\"meta.k8s.io/v1\",\"rv\":5,\"start\":\"../secrets/a\"}",
		  "../secrets/a" },
		{ "{\"v\":\"meta.k8s.io/v1\",\"rv\":5,\"start\":\"a//b\"}", "a//b" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_done)
		struct strbuf token = STRBUF_INIT, after = STRBUF_INIT, err = STRBUF_INIT,
			      want = STRBUF_INIT;
		int64_t rv;
		base64_encode(&token, slice_of(rows[i].json));
		while (token.s[token.n - 1] == '=')
			token.s[--token.n] = '\0';
		assert_int_equal(apiserver_continue_token_read(token.s, "p/", &after, &rv, &err),
				 ERR_PARSE);
		strbuf_addf(&want, "continue key is not valid: %s", rows[i].want);
		assert_string_equal(err.s, want.s);
	}
}

static void not_base64(void **state)
{
	CLEANUP(strbuf_done)
	struct strbuf after = STRBUF_INIT, err = STRBUF_INIT, big = STRBUF_INIT;
	int64_t rv;
	(void)state;
	assert_int_equal(apiserver_continue_token_read("ab*d", "p/", &after, &rv, &err), ERR_PARSE);
	assert_string_equal(err.s,
			    "continue key is not valid: illegal base64 data at input byte 2");
	assert_int_equal(apiserver_continue_token_read("abcde", "p/", &after, &rv, &err),
			 ERR_PARSE);
	for (int i = 0; i <= APISERVER_CONTINUE_TOKEN_MAX_BYTES; i++)
		strbuf_addc(&big, 'a');
	assert_int_equal(apiserver_continue_token_read(big.s, "p/", &after, &rv, &err), ERR_PARSE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_trip),
		cmocka_unit_test(refused),
		cmocka_unit_test(not_base64),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
