/* SPDX-License-Identifier: GPL-3.0-or-later */
/* URLs: what is accepted, what is refused and why. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "http/client/url.h"

static void accepted(void **state)
{
	static const struct {
		const char *text;
		bool tls;
		const char *host;
		unsigned port;
		const char *rest;
		bool loopback;
	} rows[] = {
		{ "http://a.example", false, "a.example", 80, "", false },
		{ "https://a.example", true, "a.example", 443, "", false },
		{ "HTTPS://A.example:8443/p?q=http://b", true, "A.example", 8443, "/p?q=http://b",
		  false },
		{ "http://a?q@b", false, "a", 80, "?q@b", false },
		{ "http://127.0.0.1:9/", false, "127.0.0.1", 9, "/", true },
		{ "http://127.1.2.3", false, "127.1.2.3", 80, "", true },
		{ "http://127.evil.example/", false, "127.evil.example", 80, "/", false },
		{ "http://127.0.0.1.example/", false, "127.0.0.1.example", 80, "/", false },
		{ "http://LocalHost", false, "LocalHost", 80, "", true },
		{ "https://[::1]:65535/x", true, "[::1]", 65535, "/x", true },
		{ "https://[fe80::1%25eth0]/x", true, "[fe80::1%25eth0]", 443, "/x", false },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct http_url url;
		char err[256] = "";
		if (http_url_parse(rows[i].text, &url, ERR_TEXT(err)) < 0)
			fail_msg("%s: %s", rows[i].text, err);
		assert_int_equal(url.tls, rows[i].tls);
		assert_true(slice_is(url.host, rows[i].host));
		assert_int_equal(url.port, rows[i].port);
		assert_true(slice_is(url.rest, rows[i].rest));
		assert_int_equal(http_url_is_loopback(&url), rows[i].loopback);
	}
}

static void refused(void **state)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{ "", "neither http:// nor https://" },
		{ "ftp://a", "neither http:// nor https://" },
		{ "a.example/x", "neither http:// nor https://" },
		{ "http:/a", "neither http:// nor https://" },
		{ "http://", "names no host" },
		{ "http:///x", "names no host" },
		{ "http://:80", "names no host" },
		{ "http://[]", "names no host" },
		{ "http://[::1", "names no host" },
		{ "http://[%25x]", "names no host" },
		{ "http://u:s3cret@a", "user or password" },
		{ "http://a:0", "':0' behind the host" },
		{ "http://a:65536", "not a port" },
		{ "http://a:", "not a port" },
		{ "http://a:80x", "not a port" },
		{ "http://a\\b", "'\\b' behind the host" },
		{ "http://a b", "space or control character at byte 9" },
		{ "http://a/\r\nX: y", "control character at byte 10" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct http_url url;
		char err[256] = "";
		assert_int_equal(http_url_parse(rows[i].text, &url, ERR_TEXT(err)), ERR_PARSE);
		if (strstr(err, rows[i].says) == NULL || strstr(err, "s3cret") != NULL)
			fail_msg("%s: %s", rows[i].text, err);
	}
}

static void too_long(void **state)
{
	struct http_url url;
	(void)state;
	for (size_t n = HTTP_URL_MAX_BYTES; n <= HTTP_URL_MAX_BYTES + 1; n++) {
		CLEANUP(freep) char *text = xmalloc(n + 1);
		memset(text, 'a', n);
		memcpy(text, "http://", 7);
		text[n] = '\0';
		assert_int_equal(http_url_parse(text, &url, (struct err_text){ 0 }),
				 n > HTTP_URL_MAX_BYTES ? ERR_LIMIT : 0);
	}
}

static void origins(void **state)
{
	static const struct {
		const char *left, *right;
		bool same;
	} rows[] = {
		{ "http://a/x", "http://A:80/y", true },
		{ "http://a", "https://a", false },
		{ "http://a", "http://a:81", false },
		{ "http://a", "http://a.b", false },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct http_url left, right;
		assert_int_equal(http_url_parse(rows[i].left, &left, (struct err_text){ 0 }), 0);
		assert_int_equal(http_url_parse(rows[i].right, &right, (struct err_text){ 0 }), 0);
		assert_int_equal(http_url_same_origin(&left, &right), rows[i].same);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(accepted),
		cmocka_unit_test(refused),
		cmocka_unit_test(too_long),
		cmocka_unit_test(origins),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
