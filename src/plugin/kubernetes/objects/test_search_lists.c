/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of search lists. */
#include "plugin/kubernetes/objects/search_lists.h"

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
	assert_string_equal(kubernetes_search_lists_by_id(l, id)->list.id, id.p);
	kubernetes_search_lists_set(l, a, parse("a", "c.example", err));
	assert_non_null(kubernetes_search_lists_by_id(l, id));
	assert_int_equal(kubernetes_search_lists_by_ns(l, a)->list.n, 1);
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
		cmocka_unit_test(table),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
