/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Search lists of policies: what they have, and what a Namespace publishes. */
#include "controller/poddns/search_lists.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "controller/poddns/policy.h"

static json_t *publishing(const char *lists)
{
	return json_pack("{s:{s:s, s:{s:s}}}", "metadata", "name", "shop", "annotations",
			 "dns.fairlead.dev/search-lists", lists);
}

static const char *const add[] = { "corp.example", "cluster.local" };
static const char *const removed[] = { "svc.cluster.local", "elsewhere.example" };

static const char *const all[] = { "shop.svc.cluster.local", "svc.cluster.local", "cluster.local" };

static void lists_of_policies(void **state)
{
	static const struct {
		struct poddns_policy policy;
		const char *text; /* NULL: the suffix is the namespace's; "": there is none */
	} rows[] = {
		{ { .virtual_suffix = true }, NULL },
		{ { .virtual_suffix = true, .remove_node = true },
		  "shop.svc.cluster.local svc.cluster.local cluster.local" },
		{ { .virtual_suffix = true, .remove = all, .n_remove = 3 }, "" },
		{ { .add = add, .n_add = 2 }, NULL },
		{ { .virtual_suffix = true, .add = add, .n_add = 2 },
		  "shop.svc.cluster.local svc.cluster.local cluster.local corp.example" },
		{ { .virtual_suffix = true, .remove = removed, .n_remove = 2 },
		  "shop.svc.cluster.local cluster.local" },
		{ { .virtual_suffix = true,
		    .add = add,
		    .n_add = 1,
		    .remove = removed,
		    .n_remove = 1 },
		  "shop.svc.cluster.local cluster.local corp.example" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct dns_search_list list;
		struct arena arena;
		arena_init(&arena);
		bool own = poddns_own_list("shop", "cluster.local", &rows[i].policy, &arena, &list);
		assert_int_equal(own, rows[i].text != NULL);
		if (own)
			assert_string_equal(list.n != 0 ? list.text : "", rows[i].text);
		assert_false(poddns_own_list("shop", "", &rows[i].policy, &arena, &list));
		arena_done(&arena);
	}
}

static void parse(const char *text, struct arena *arena, struct dns_search_list *ret)
{
	char err[100];
	assert_int_equal(dns_search_list_parse(slice_of(text), arena, ret, ERR_TEXT(err)), 0);
}

static void published_lists(void **state)
{
	struct dns_search_list one, two, three;
	struct arena arena;
	json_t *ns = publishing("one.example; a..b; two.example x.example");
	(void)state;
	arena_init(&arena);
	parse("one.example", &arena, &one);
	parse("two.example x.example", &arena, &two);
	parse("three.example", &arena, &three);
	assert_true(poddns_list_is_published(ns, one.id));
	assert_true(poddns_list_is_published(ns, two.id));
	assert_false(poddns_list_is_published(ns, three.id));
	json_decref(ns);
	arena_done(&arena);
}

/* One Namespace, and the lists of its pods: texts that pods carry, and ids of pods without one. */
struct choice_row {
	const char *published, *current;
	const char *carried[10];
	const char *only_id[2]; /* texts whose ids pods have */
	const char *want;
	bool is_left_out;
};

static void use_lists(const struct choice_row *row, struct arena *arena, struct poddns_lists *lists)
{
	struct dns_search_list list;
	for (size_t i = 0; i < ARRAY_LEN(row->carried) && row->carried[i] != NULL; i++) {
		parse(row->carried[i], arena, &list);
		poddns_lists_use(lists, list.id, row->carried[i]);
	}
	for (size_t i = 0; i < ARRAY_LEN(row->only_id) && row->only_id[i] != NULL; i++) {
		parse(row->only_id[i], arena, &list);
		poddns_lists_use(lists, list.id, NULL);
		poddns_lists_use(lists, list.id, "another.example"); /* is not that list */
		poddns_lists_use(lists, list.id, "a..b");
	}
}

static void check_choice(const struct choice_row *row, uint64_t now_ns,
			 struct poddns_list_memory *memory, uint64_t want_again_ns)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	struct poddns_lists lists;
	struct dns_search_list current;
	struct arena arena;
	uint64_t again_ns;
	json_t *ns = publishing(row->published);
	arena_init(&arena);
	if (row->current != NULL)
		parse(row->current, &arena, &current);
	poddns_lists_read(ns, &arena, &lists);
	use_lists(row, &arena, &lists);
	bool fits = poddns_lists_choose(&lists, row->current != NULL ? &current : NULL, now_ns,
					memory, &again_ns, &text);
	assert_string_equal(text.s, row->want);
	assert_int_equal(fits, !row->is_left_out);
	assert_int_equal(again_ns, want_again_ns);
	arena_done(&arena);
	json_decref(ns);
}

static void chosen_lists(void **state)
{
	static const struct choice_row rows[] = {
		{ "", NULL, { NULL }, { NULL }, "", false },
		{ "", "a", { NULL }, { NULL }, "a", false },
		{ "b; a", "a", { "b", "b" }, { NULL }, "a; b", false },
		/* what pods carry comes back, whatever happened to the annotation */
		{ "", "a", { "b c", "a" }, { NULL }, "a; b c", false },
		{ "x..y", NULL, { "b c" }, { NULL }, "b c", false },
		/* an id alone keeps its list and makes none */
		{ "b", "a", { NULL }, { "b" }, "a; b", false },
		{ "", "a", { NULL }, { "b" }, "a", false },
		/* there are eight; a new pod's list yields to those that are published and used */
		{ "a1; a2; a3; a4; a5; a6; a7; a8; ignored",
		  "a9",
		  { "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8" },
		  { NULL },
		  "a1; a2; a3; a4; a5; a6; a7; a8",
		  true },
		{ "a1; a2",
		  "a0",
		  { "b1", "b2", "b3", "b4", "b5", "b6", "b7", "b8", "a1", "a2" },
		  { NULL },
		  "a0; a1; a2; b1; b2; b3; b4; b5",
		  false },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct poddns_list_memory memory = { 0 };
		check_choice(&rows[i], 5, &memory, 0);
		assert_int_equal(memory.unused.n, 0);
	}
}

/* A list that nobody has stays for a while, behind all others, and only if there is room. */
static void unused_lists(void **state)
{
	const uint64_t keep = PODDNS_UNUSED_LIST_S * NS_PER_S, start = 7 * NS_PER_S;
	static const struct choice_row replaced = { .published = "a",
						    .current = "b",
						    .want = "b; a" },
				       ended = { .published = "b; a", .current = "b", .want = "b" },
				       used = { .published = "b; a",
						.current = "b",
						.carried = { "a" },
						.want = "b; a" },
				       full = { .published = "a; b; c; d; e; f; g; h",
						.current = "x",
						.carried = { "b", "c", "d", "e", "f", "g", "h" },
						.want = "x; b; c; d; e; f; g; h" };
	static const struct choice_row mixed = { .published = "a; b; c",
						 .current = "a",
						 .carried = { "d", "c" },
						 .want = "a; b; c; d" };
	struct choice_row kept = ended;
	struct poddns_list_memory memory = { 0 };
	(void)state;
	kept.want = "b; a";
	check_choice(&replaced, start, &memory, keep);
	check_choice(&kept, start + keep - 1, &memory, 1);
	check_choice(&ended, start + keep, &memory, 0);
	assert_int_equal(memory.unused.n, 0);
	/* its time begins anew when a pod had it meanwhile */
	check_choice(&replaced, start, &memory, keep);
	check_choice(&used, start + 5, &memory, 0);
	check_choice(&kept, start + keep, &memory, keep);
	memory = (struct poddns_list_memory){ 0 };
	check_choice(&full, start, &memory, 0);
	/* the order stays, whether pods use a list or not */
	check_choice(&mixed, start, &memory, keep);
}

/* What a scan of specs found counts as used for an hour, then the list has its last minutes again. */
static void lists_of_specs(void **state)
{
	const uint64_t keep = PODDNS_UNUSED_LIST_S * NS_PER_S, hour = PODDNS_SPEC_LIST_S * NS_PER_S;
	const uint64_t start = 7 * NS_PER_S;
	static const struct choice_row kept = { .published = "b; a",
						.current = "b",
						.want = "b; a" },
				       full = { .published = "a; b; c; d; e; f; g; h",
						.current = "x",
						.carried = { "b", "c", "d", "e", "f", "g", "h" },
						.want = "a; b; c; d; e; f; g; h",
						.is_left_out = true },
				       ended = { .published = "b; a", .current = "b", .want = "b" };
	struct poddns_list_memory memory = { 0 };
	struct poddns_lists before, found;
	struct dns_search_list list;
	struct arena arena;
	json_t *ns = publishing("a; b");
	(void)state;
	arena_init(&arena);
	poddns_lists_read(ns, &arena, &before);
	parse("a", &arena, &list);
	found = before;
	assert_true(poddns_lists_drops(&before, "b; c"));
	assert_false(poddns_lists_drops(&before, "c; b; a"));
	poddns_lists_use(&found, list.id, NULL);
	poddns_lists_remember(&before, &found, start, &memory);
	assert_int_equal(memory.in_specs.n, 1);
	check_choice(&full, start, &memory, hour);
	check_choice(&kept, start + hour - 1, &memory, 1);
	assert_int_equal(memory.unused.n, 0);
	check_choice(&kept, start + hour, &memory, keep);
	assert_int_equal(memory.in_specs.n, 0);
	check_choice(&ended, start + hour + keep, &memory, 0);
	/* a second scan that finds other lists does not forget the first */
	poddns_lists_remember(&before, &found, start, &memory);
	poddns_lists_remember(&before, &before, start + 1, &memory);
	assert_int_equal(memory.in_specs.n, 1);
	json_decref(ns);
	arena_done(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_of_policies), cmocka_unit_test(published_lists),
		cmocka_unit_test(chosen_lists),	     cmocka_unit_test(unused_lists),
		cmocka_unit_test(lists_of_specs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
