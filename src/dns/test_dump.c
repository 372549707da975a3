/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages as text: header bits, odd numbers, unknown types, options, damage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "dns/dump_test.h"

static void test_texts(void **state)
{
	static const struct {
		const char *msg;
		size_t n;
		const char *text;
	} rows[] = {
#undef ROW
#define ROW(msg_, text_) { msg_, sizeof(msg_) - 1, text_ }
		ROW("\0\0\0\0\0\0\0\0\0\0\0\0", "NOERROR\n"),
		ROW("\0\0\377\377\0\0\0\0\0\0\0\0", "15 qr aa tc rd ra z ad cd opcode=15\n"),
		ROW("\0\0\201\203\0\1\0\0\0\0\0\0\0\0\34\0\3",
		    "NXDOMAIN qr rd ra\nquestion . CH AAAA\n"),
		ROW("\0\0\204\0\0\1\0\1\0\0\0\0\1a\0\377\0\0\376\300\14\377\0\0\1\0\0\0\1\0\2hi",
		    "NOERROR qr aa\nquestion a. NONE TYPE65280\n"
		    "answer a. 1 IN TYPE65280 \\# 2 6869\n"),
		ROW("\0\0\204\0\0\0\0\0\0\0\0\1\0\0\51\20\0\0\0\200\0\0\4\0\3\0\0",
		    "NOERROR qr aa\nopt 4096 do 3:\n"),
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
		assert_int_equal(dns_dump((const uint8_t *)rows[i].msg, rows[i].n, &out), 0);
		assert_string_equal(out.s, rows[i].text);
	}
}

static void test_damage(void **state)
{
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	(void)state;
	assert_int_equal(dns_dump((const uint8_t *)"", 0, &out), ERR_PARSE);
	assert_int_equal(dns_dump((const uint8_t *)"\0\0\0\0\0\1\0\0\0\0\0\0", 12, &out),
			 ERR_PARSE);
	assert_int_equal(out.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_damage),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
