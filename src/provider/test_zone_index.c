/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The index of zones: longest match, several zones of one name, ages (DR-15, DR-19, DR-20). */
#include "provider/zone_index_priv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "provider/provider.h"

static struct provider_zone make_zone(const char *zone_id, const char *name, bool is_private)
{
	static char texts[2][64];
	snprintf(texts[0], sizeof(texts[0]), "%s", zone_id);
	snprintf(texts[1], sizeof(texts[1]), "%s", name);
	return (struct provider_zone){ .id = texts[0], .name = texts[1], .is_private = is_private };
}

static void add_zone(struct provider_zone_index *index, const char *zone_id, const char *name,
		     bool is_private)
{
	struct provider_zone zone = make_zone(zone_id, name, is_private);
	provider_zone_index_add(index, &zone);
}

static void expect_zone(struct provider_zone_index *index, const char *name, uint64_t now_ns,
			const char *zone_id)
{
	const struct provider_zone_choice *choice = NULL;
	assert_int_equal(provider_zone_index_find(index, name, now_ns, &choice),
			 PROVIDER_ZONE_FOUND);
	assert_string_equal(choice->id, zone_id);
}

static enum provider_zone_answer ask(struct provider_zone_index *index, const char *name,
				     uint64_t now_ns)
{
	const struct provider_zone_choice *choice;
	return provider_zone_index_find(index, name, now_ns, &choice);
}

static void longest_match(void **state)
{
	struct provider_zone_index index;
	uint64_t now = 100 * NS_PER_S;
	(void)state;
	provider_zone_index_init(&index);
	assert_int_equal(ask(&index, "a.example.com", now), PROVIDER_ZONE_UNKNOWN);
	provider_zone_index_begin(&index, now - 2 * NS_PER_S);
	add_zone(&index, "Z1", "example.com", false);
	add_zone(&index, "Z2", "b.a.example.com", false);
	add_zone(&index, "Z3", "com", false);
	assert_int_equal(ask(&index, "a.example.com", now),
			 PROVIDER_ZONE_UNKNOWN); /* half a list */
	provider_zone_index_complete(&index, now);
	expect_zone(&index, "example.com", now, "Z1");
	expect_zone(&index, "*.a.example.com", now, "Z1");
	expect_zone(&index, "b.a.example.com", now, "Z2");
	expect_zone(&index, "x.b.a.example.com", now, "Z2");
	expect_zone(&index, "a.badexample.com", now, "Z3");
	assert_int_equal(ask(&index, "example.org", now), PROVIDER_ZONE_MISSING);
	/* A name without a zone is asked for again after a minute, the others after a hundred times the time
	 * that the list took. */
	assert_int_equal(ask(&index, "example.org", now + 61 * NS_PER_S), PROVIDER_ZONE_UNKNOWN);
	expect_zone(&index, "example.com", now + 199 * NS_PER_S, "Z1");
	assert_int_equal(ask(&index, "example.com", now + 201 * NS_PER_S), PROVIDER_ZONE_UNKNOWN);
	/* Without one of the list no other of it is taken. */
	provider_zone_index_forget(&index, "Z2");
	assert_int_equal(ask(&index, "b.a.example.com", now), PROVIDER_ZONE_UNKNOWN);
	provider_zone_index_done(&index);
}

static void public_zone_with_the_lowest_id(void **state)
{
	static const char *const orders[][4] = { { "P1", "Z9", "Z3", "Z5" },
						 { "Z3", "P1", "Z5", "Z9" },
						 { "Z5", "Z9", "P1", "Z3" } };
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(orders); i++) {
		struct provider_zone_index index;
		const struct provider_zone_choice *choice;
		provider_zone_index_init(&index);
		provider_zone_index_begin(&index, 1);
		for (size_t j = 0; j < 4; j++)
			add_zone(&index, orders[i][j], "example.com", orders[i][j][0] == 'P');
		add_zone(&index, "Z3", "example.com", false); /* a page twice */
		provider_zone_index_complete(&index, 1);
		assert_int_equal(provider_zone_index_find(&index, "example.com", 1, &choice),
				 PROVIDER_ZONE_FOUND);
		assert_string_equal(choice->id, "Z3");
		assert_false(choice->is_private);
		assert_int_equal(strlen(choice->others), strlen("P1 Z9 Z5"));
		provider_zone_index_done(&index);
	}
}

/* The list is used for a second at least and an hour at most; names without a zone wait a minute all the same. */
static void age_of_a_list(void **state)
{
	static const struct {
		uint64_t took_s, used_s;
	} rows[] = { { 0, 1 }, { 1, 100 }, { 3600, 3600 } };
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct provider_zone_index index;
		uint64_t begun = 100 * NS_PER_S, now = begun + rows[i].took_s * NS_PER_S;
		uint64_t end = now + rows[i].used_s * NS_PER_S;
		provider_zone_index_init(&index);
		provider_zone_index_begin(&index, begun);
		add_zone(&index, "Z1", "example.com", false);
		provider_zone_index_complete(&index, now);
		expect_zone(&index, "a.example.com", end - 1, "Z1");
		assert_int_equal(ask(&index, "a.example.com", end), PROVIDER_ZONE_UNKNOWN);
		assert_int_equal(ask(&index, "a.example.org", now + 59 * NS_PER_S),
				 PROVIDER_ZONE_MISSING);
		provider_zone_index_done(&index);
	}
}

/* Zones that callers name. */
static void given_zones(void **state)
{
	static const struct {
		const char *name, *zone_id;
		enum provider_zone_check check;
		const char *longer;
	} rows[] = {
		{ "a.example.com", "Z1.", PROVIDER_ZONE_FITS, NULL },
		{ "a.example.com", "Z1", PROVIDER_ZONE_FITS, NULL },
		{ "a.example.com", "Z4", PROVIDER_ZONE_FITS, NULL }, /* another of that name */
		{ "a.example.com", "Z3", PROVIDER_ZONE_TOO_SHORT, "Z1." },
		{ "a.example.com", "Z2", PROVIDER_ZONE_FITS, NULL }, /* not above: refused later */
		{ "a.example.com", "Z9", PROVIDER_ZONE_FITS, NULL },
		{ "b.example.com", "Z4", PROVIDER_ZONE_TOO_SHORT, "Z2" },
		{ "a.b.example.com", "Z1.", PROVIDER_ZONE_TOO_SHORT, "Z2" },
		{ "a.b.example.com", "Z2", PROVIDER_ZONE_FITS, NULL },
		{ "a.bb.example.com", "Z1.", PROVIDER_ZONE_FITS, NULL },
		/* Private zones are compared among themselves. */
		{ "a.b.example.com", "P1", PROVIDER_ZONE_FITS, NULL },
		{ "a.p.b.example.com", "P1", PROVIDER_ZONE_TOO_SHORT, "P2" },
		{ "a.p.b.example.com", "P2", PROVIDER_ZONE_FITS, NULL },
		{ "a.p.b.example.com", "Z2", PROVIDER_ZONE_FITS, NULL },
		{ "a.p.b.example.com", "Z1.", PROVIDER_ZONE_TOO_SHORT, "Z2" },
	};
	const char *longer = NULL;
	struct provider_zone_index index;
	uint64_t now = 100 * NS_PER_S;
	(void)state;
	provider_zone_index_init(&index);
	assert_int_equal(provider_zone_index_check(&index, "a.example.com", "Z1.", now, &longer),
			 PROVIDER_ZONE_UNCHECKED);
	provider_zone_index_begin(&index, now);
	add_zone(&index, "Z1.", "example.com", false);
	add_zone(&index, "Z4", "example.com", false);
	add_zone(&index, "Z2", "b.example.com", false);
	add_zone(&index, "Z3", "com", false);
	add_zone(&index, "P1", "example.com", true);
	add_zone(&index, "P2", "p.b.example.com", true);
	provider_zone_index_complete(&index, now);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(provider_zone_index_check(&index, rows[i].name, rows[i].zone_id,
							   now, &longer),
				 rows[i].check);
		if (rows[i].longer != NULL)
			assert_string_equal(longer, rows[i].longer);
	}
	assert_int_equal(provider_zone_index_check(&index, "a.example.com", "Z1.",
						   now + 61 * NS_PER_S, &longer),
			 PROVIDER_ZONE_UNCHECKED);
	provider_zone_index_done(&index);
}

static void zones_of_single_names(void **state)
{
	struct provider_zone_index index;
	struct provider_zone zone = make_zone("Z1", "example.com", false);
	uint64_t now = NS_PER_S;
	(void)state;
	provider_zone_index_init(&index);
	provider_zone_index_learn(&index, "a.example.com", &zone, now);
	expect_zone(&index, "a.example.com", now, "Z1");
	expect_zone(&index, "b.example.com", now, "Z1");
	provider_zone_index_learn(&index, "a.example.org", NULL, now);
	assert_int_equal(ask(&index, "a.example.org", now), PROVIDER_ZONE_MISSING);
	assert_int_equal(ask(&index, "b.example.org", now), PROVIDER_ZONE_UNKNOWN);
	assert_int_equal(ask(&index, "a.example.org", now + 60 * NS_PER_S), PROVIDER_ZONE_UNKNOWN);
	for (int i = 0; i < 2 * PROVIDER_ZONE_MISSING_MAX; i++) { /* bounded */
		char name[32];
		snprintf(name, sizeof(name), "n%d.example.org", i);
		provider_zone_index_learn(&index, name, NULL, now);
		assert_true(index.missing.n <= PROVIDER_ZONE_MISSING_MAX);
	}
	provider_zone_index_forget(&index, "Z1");
	assert_int_equal(ask(&index, "a.example.com", now), PROVIDER_ZONE_UNKNOWN);
	provider_zone_index_done(&index);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(longest_match),
		cmocka_unit_test(public_zone_with_the_lowest_id),
		cmocka_unit_test(age_of_a_list),
		cmocka_unit_test(given_zones),
		cmocka_unit_test(zones_of_single_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
