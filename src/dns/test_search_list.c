/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Search lists: their text, ids, limits. */
#include "dns/search_list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/strbuf.h"

/* The digests are of sha512sum(1). */
static const struct {
	const char *text, *id, *error;
} rows[] = {
	{ "a.example b.example", "l77038942b3efb94", NULL },
	{ " A.Example.,\tb.EXAMPLE\n", "l77038942b3efb94", NULL },
	{ "b.example a.example", NULL, NULL },
	{ "", NULL, "empty" },
	{ " , ", NULL, "empty" },
	{ "a.example .", NULL, "'.' is not a domain name" },
	{ "a..b", NULL, "'a..b' is not a domain name" },
	{ "a\\044b.example", NULL, "'a\\044b.example' is not a domain name" },
};

static void texts(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char err[256] = "";
		struct arena arena;
		struct dns_search_list list;
		arena_init(&arena);
		int r = dns_search_list_parse(slice_of(rows[i].text), &arena, &list, ERR_TEXT(err));
		assert_string_equal(err, rows[i].error != NULL ? rows[i].error : "");
		assert_int_equal(r, rows[i].error != NULL ? ERR_PARSE : 0);
		if (rows[i].id != NULL)
			assert_string_equal(list.id, rows[i].id);
		else if (r == 0)
			assert_string_not_equal(list.id, rows[0].id);
		if (i < 2)
			assert_string_equal(list.text, rows[0].text);
		arena_done(&arena);
	}
}

static void limits(void **state)
{
	(void)state;
	char err[256] = "";
	struct dns_search_list list;
	struct arena arena;
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	arena_init(&arena);
	for (int i = 0; i < DNS_SEARCH_LIST_NAMES; i++)
		strbuf_addf(&text, "e%d.test ", i);
	assert_int_equal(dns_search_list_parse(strbuf_slice(&text), &arena, &list, ERR_TEXT(err)),
			 0);
	assert_int_equal(list.n, DNS_SEARCH_LIST_NAMES);
	strbuf_adds(&text, "x");
	assert_int_equal(dns_search_list_parse(strbuf_slice(&text), &arena, &list, ERR_TEXT(err)),
			 ERR_LIMIT);
	assert_string_equal(err, "more than 32 names");
	strbuf_reset(&text);
	for (int i = 0; i < DNS_SEARCH_LIST_BYTES; i++)
		strbuf_addc(&text, i < 4 ? 'a' : ' ');
	assert_int_equal(dns_search_list_parse(strbuf_slice(&text), &arena, &list, ERR_TEXT(err)),
			 0);
	strbuf_addc(&text, ' ');
	assert_int_equal(dns_search_list_parse(strbuf_slice(&text), &arena, &list, ERR_TEXT(err)),
			 ERR_LIMIT);
	assert_string_equal(err, "longer than 2048 bytes");
	arena_done(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts),
		cmocka_unit_test(limits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
