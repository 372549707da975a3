/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Search lists: their text, ids, limits, and the table of them. */
#include "plugin/kubernetes/objects/search_lists.h"
#include "plugin/kubernetes/objects/search_lists.h"
#include "plugin/kubernetes/objects/search_lists_test.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/strbuf.h"

static struct kubernetes_search_list *parse(const char *ns, const char *text, char err[256])
{
	return kubernetes_search_list_parse(slice_of(ns), slice_of(text),
					    (struct err_text){ err, 256 });
}

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
		struct kubernetes_search_list *l = parse("n", rows[i].text, err);
		assert_string_equal(err, rows[i].error != NULL ? rows[i].error : "");
		assert_true((l == NULL) == (rows[i].error != NULL));
		if (rows[i].id != NULL)
			assert_string_equal(l->id, rows[i].id);
		else if (l != NULL)
			assert_string_not_equal(l->id, rows[0].id);
		kubernetes_search_list_free(l);
	}
}

static void limits(void **state)
{
	(void)state;
	char err[256] = "";
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	for (int i = 0; i < KUBERNETES_SEARCH_LIST_NAMES; i++)
		strbuf_addf(&b, "e%d.test ", i);
	struct kubernetes_search_list *l = parse("n", b.s, err);
	assert_non_null(l);
	assert_int_equal(l->n, KUBERNETES_SEARCH_LIST_NAMES);
	kubernetes_search_list_free(l);
	strbuf_adds(&b, "x");
	assert_null(parse("n", b.s, err));
	assert_string_equal(err, "more than 32 names");
	strbuf_reset(&b);
	for (int i = 0; i < KUBERNETES_SEARCH_LIST_BYTES; i++)
		strbuf_addc(&b, i < 4 ? 'a' : ' ');
	l = parse("n", b.s, err);
	assert_non_null(l);
	kubernetes_search_list_free(l);
	strbuf_addc(&b, ' ');
	assert_null(parse("n", b.s, err));
	assert_string_equal(err, "longer than 2048 bytes");
}

static void table(void **state)
{
	(void)state;
	char err[256];
	struct kubernetes_search_lists *l = kubernetes_search_lists_new();
	struct slice a = slice_of("a"), b = slice_of("b"), id = slice_of("l77038942b3efb94");
	kubernetes_search_lists_set(l, a, NULL);
	assert_null(kubernetes_search_lists_by_ns(l, a));
	/* Two namespaces with one list: the id stays as long as one of them has it. */
	kubernetes_search_lists_set(l, a, parse("a", "a.example b.example", err));
	kubernetes_search_lists_set(l, b, parse("b", "a.example b.example", err));
	assert_string_equal(kubernetes_search_lists_by_id(l, id)->id, id.p);
	kubernetes_search_lists_set(l, a, parse("a", "c.example", err));
	assert_non_null(kubernetes_search_lists_by_id(l, id));
	assert_int_equal(kubernetes_search_lists_by_ns(l, a)->n, 1);
	kubernetes_search_lists_set(l, b, NULL);
	assert_null(kubernetes_search_lists_by_id(l, id));
	assert_null(kubernetes_search_lists_by_ns(l, b));
	kubernetes_search_lists_set(l, b, parse("b", "a.example b.example", err));
	rcu_barrier_all();
	kubernetes_search_lists_free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts),
		cmocka_unit_test(limits),
		cmocka_unit_test(table),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
