/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When keys are made, and when they end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "controller/egressfirewall/transfer/key_text.h"

#define OLD "hmac-sha256:egress-1000000:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
#define NEW "hmac-sha256:egress-9000000:HxwdHhAREhMUFRYXGBkaG0ECAwQFBgcICQoLDA0ODxA="

enum { NEW_S = 9000000, DAY_S = 86400 };

static size_t count_of(const struct strbuf *text)
{
	return egressfirewall_transfer_keys_count(strbuf_slice(text));
}

static void first_key(void **state)
{
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT, again = STRBUF_INIT;
	struct dns_tsig_key key = { 0 };
	(void)state;
	assert_true(egressfirewall_transfer_keys_renew(SLICE(""), NEW_S, &out));
	assert_int_equal(count_of(&out), 1);
	assert_int_equal(egressfirewall_transfer_keys_pick(strbuf_slice(&out), 0, &key,
							   (struct err_text){ 0 }),
			 0);
	assert_int_equal(key.secret.n, 32);
	assert_string_equal(key.algorithm->text, "hmac-sha256");
	assert_memory_equal(key.name, "\016egress-9000000", 16);
	dns_tsig_key_done(&key);
	/* Another time another secret. */
	assert_true(egressfirewall_transfer_keys_renew(SLICE("# none\n\n"), NEW_S, &again));
	assert_string_not_equal(out.s, again.s);
	/* It is written once. */
	strbuf_reset(&again);
	assert_false(egressfirewall_transfer_keys_renew(strbuf_slice(&out), NEW_S, &again));
}

static void rotation(void **state)
{
	static const struct {
		const char *text;
		uint64_t now_s;
		const char *expected; /* NULL: it stays; %: a new key */
	} rows[] = {
		{ NEW "\n", NEW_S + 30 * DAY_S - 1, NULL },
		{ NEW "\n", NEW_S + 30 * DAY_S, "%\n" NEW "\n" },
		{ NEW "\n" OLD "\n", NEW_S + 30 * DAY_S, "%\n" NEW "\n" },
		{ NEW "\n" OLD "\n", NEW_S + DAY_S - 1, NULL },
		{ NEW "\n" OLD "\n", NEW_S + DAY_S, NEW "\n" },
		{ OLD "\n" NEW "\n", NEW_S + DAY_S, NEW "\n" },
		{ NEW "\n", 5, NULL }, /* the clock was set back */
		{ "mine:c2VjcmV0\n", NEW_S + 90 * DAY_S, NULL },
		{ NEW "\nhmac-sha256:egress-soon:c2VjcmV0\n", NEW_S + 90 * DAY_S, NULL },
		{ "hmac-sha512:egress-1:c2VjcmV0", NEW_S, NULL },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
		bool changed = egressfirewall_transfer_keys_renew(slice_of(rows[i].text),
								  rows[i].now_s, &out);
		const char *expected = rows[i].expected;
		assert_int_equal(changed, expected != NULL);
		if (expected == NULL)
			continue;
		if (expected[0] == '%') {
			assert_true(count_of(&out) == 2);
			assert_string_equal(strchr(out.s, '\n'), expected + 1);
		} else {
			assert_string_equal(out.s, expected);
		}
	}
}

static void picks_by_number(void **state)
{
	struct dns_tsig_key key = { 0 };
	struct slice text = SLICE("# first\n" NEW "\n\n  " OLD "  \nnonsense");
	char err[200] = "";
	(void)state;
	assert_int_equal(egressfirewall_transfer_keys_count(text), 3);
	assert_int_equal(egressfirewall_transfer_keys_pick(text, 1, &key, ERR_TEXT(err)), 0);
	assert_memory_equal(key.name, "\016egress-1000000", 16);
	assert_int_equal(egressfirewall_transfer_keys_pick(text, 2, &key, ERR_TEXT(err)),
			 ERR_PARSE);
	assert_int_equal(egressfirewall_transfer_keys_pick(text, 3, &key, ERR_TEXT(err)),
			 ERR_NOTFOUND);
	assert_string_equal(err, "there is no key");
	dns_tsig_key_done(&key);
}

static void limits(void **state)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT, out = STRBUF_INIT;
	(void)state;
	for (int i = 0; i < 20; i++)
		strbuf_adds(&text, NEW "\n");
	assert_int_equal(count_of(&text), EGRESSFIREWALL_TRANSFER_KEYS_MAX);
	while (text.n <= EGRESSFIREWALL_TRANSFER_KEYS_BYTES)
		strbuf_adds(&text, OLD "\n");
	assert_int_equal(count_of(&text), 0);
	assert_false(egressfirewall_transfer_keys_renew(strbuf_slice(&text), 90 * NEW_S, &out));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_key),
		cmocka_unit_test(rotation),
		cmocka_unit_test(picks_by_number),
		cmocka_unit_test(limits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
