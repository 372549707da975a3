/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When the watch's copy may be used, and how often changes by others are repaired. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "controller/shared/own_writes.h"

/* Each row goes on from the one before: what the server said (when it said something), then what
 * the copy shows, and whether that is enough. */
static const struct {
	bool said;
	const char *rv, *copy_then; /* NULL: there is none */
	const char *copy;
	bool trusts;
} rows[] = {
	{ false, NULL, NULL, NULL, false }, /* the first time the server is asked */
	{ false, NULL, NULL, "7", false },
	{ true, "7", "7", "7", true },
	{ false, NULL, NULL, "8", true },   /* changed by another writer */
	{ false, NULL, NULL, NULL, false }, /* deleted: the watch must show it */
	{ true, NULL, NULL, NULL, true },
	{ false, NULL, NULL, "9", true },    /* and created by another writer */
	{ true, "99", "9", "9", false },     /* ours: the copy is behind */
	{ false, NULL, NULL, NULL, false },  /* still, or deleted since */
	{ false, NULL, NULL, "100", true },  /* compared as numbers, not as strings */
	{ true, NULL, "100", "100", false }, /* deleted by us, and the copy does not know */
	{ false, NULL, NULL, NULL, true },
	{ false, NULL, NULL, "101", true },
	{ true, "abc", "101", "101", true },
	{ false, NULL, NULL, "abc", false }, /* what is no number is never newer */
};

static void believed(void **state)
{
	(void)state;
	struct own_write s = { 0 };
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (rows[i].said)
			own_write_note(&s, rows[i].rv, rows[i].copy_then);
		if (own_write_shown(&s, rows[i].copy) != rows[i].trusts)
			fail_msg("row %zu", i);
	}
}

/* Somebody puts his text back as often as we put ours: five times at once, then one a minute. */
static void not_for_ever(void **state)
{
	(void)state;
	struct own_write s = { 0 };
	uint64_t now = 1000 * NS_PER_S;
	assert_int_equal(own_write_repair(&s, 1, now), 0);
	for (int i = 0; i < 5; i++)
		assert_int_equal(own_write_repair(&s, 1, now), 0);
	assert_int_equal(own_write_repair(&s, 1, now), 60 * NS_PER_S);
	now += 20 * NS_PER_S;
	assert_int_equal(own_write_repair(&s, 1, now), 40 * NS_PER_S);
	now += 40 * NS_PER_S;
	assert_int_equal(own_write_repair(&s, 1, now), 0);
	assert_true(own_write_repair(&s, 1, now) > 0);
	/* a new text is written at once */
	assert_int_equal(own_write_repair(&s, 2, now), 0);
	assert_int_equal(own_write_repair(&s, 2, now), 0);
}

/* Contested: from the first repair that had to wait, until a minute passed without need of one. */
static void contested(void **state)
{
	(void)state;
	struct own_write s = { 0 };
	uint64_t now = 1000 * NS_PER_S;
	for (int i = 0; i < 6; i++) {
		assert_int_equal(own_write_repair(&s, 1, now), 0);
		assert_false(s.contested);
		assert_int_equal(own_write_quiet(&s, now), 0);
	}
	assert_true(own_write_repair(&s, 1, now) > 0);
	assert_true(s.contested);
	now += 60 * NS_PER_S;
	assert_int_equal(own_write_repair(&s, 1, now), 0);
	/* put right, which will not last */
	now += 20 * NS_PER_S;
	assert_int_equal(own_write_quiet(&s, now), 40 * NS_PER_S);
	assert_true(s.contested);
	assert_true(own_write_repair(&s, 1, now) > 0);
	now += 40 * NS_PER_S;
	assert_int_equal(own_write_repair(&s, 1, now), 0);
	now += 60 * NS_PER_S;
	assert_int_equal(own_write_quiet(&s, now), 0);
	assert_false(s.contested);
}

/* A write that the server refuses is no contest: the work queue retries it, and it is reported. */
static void refused(void **state)
{
	(void)state;
	struct own_write s = { 0 };
	uint64_t now = 1000 * NS_PER_S;
	for (int i = 0; i < 20; i++) {
		assert_int_equal(own_write_repair(&s, 1, now), 0);
		own_write_failed(&s);
	}
	for (int i = 0; i < 6; i++)
		assert_int_equal(own_write_repair(&s, 1, now), 0);
	assert_true(own_write_repair(&s, 1, now) > 0);
}

/* What the watch shows of our own write is an echo, unless a reconcile began since. */
static void echoes(void **state)
{
	struct own_write write = { 0 };
	(void)state;
	assert_false(own_write_is_echo(&write, "7"));
	own_write_begin(&write);
	own_write_note(&write, "7", NULL);
	assert_true(own_write_is_echo(&write, "6"));
	assert_true(own_write_is_echo(&write, "7"));
	assert_false(own_write_is_echo(&write, "8"));
	assert_false(own_write_is_echo(&write, NULL));
	own_write_begin(&write);
	assert_false(own_write_is_echo(&write, "7"));
	own_write_note(&write, NULL, "7");
	assert_false(own_write_is_echo(&write, "7"));
}

/* An object that is wanted again later begins anew. */
static void forgotten(void **state)
{
	struct own_writes writes;
	(void)state;
	own_writes_init(&writes);
	own_write_note(own_write_of(&writes, "ConfigMap", "a", "x"), "7", NULL);
	own_write_note(own_write_of(&writes, "ConfigMap", "b", "x"), "8", NULL);
	own_write_forget(&writes, "ConfigMap", "a", "x");
	own_write_forget(&writes, "ConfigMap", "a", "x");
	assert_false(own_write_of(&writes, "ConfigMap", "a", "x")->known);
	assert_true(own_write_of(&writes, "ConfigMap", "b", "x")->known);
	own_writes_done(&writes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(believed),	cmocka_unit_test(echoes),
		cmocka_unit_test(not_for_ever), cmocka_unit_test(contested),
		cmocka_unit_test(refused),	cmocka_unit_test(forgotten)
	};
	return cmocka_run_group_tests_name("controller/dnsoperator/own_writes", tests, NULL, NULL);
}
