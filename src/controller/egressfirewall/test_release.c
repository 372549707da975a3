/* SPDX-License-Identifier: GPL-3.0-or-later */
/* EF-15: when a DNSName that no rule uses may go, from marks and reports of nodes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "controller/egressfirewall/release.h"

#define NOW  (1800000000 * NS_PER_S) /* 2027-01-15T08:00:00Z */
#define MARK "2027-01-15T08:00:00.000000Z,regular"
#define NAME "www.example"
#define LINE NAME " " MARK "\n"

enum { REGULAR = EGRESS_USE_REGULAR, WILDCARD = EGRESS_USE_WILDCARD, ANY = EGRESS_USE_ANY_DEPTH };

/* `reports`: up to three, those that are not NULL. */
static struct release_verdict decide(const char *const reports[3], unsigned claimed, unsigned used,
				     const char *mark, uint64_t now_ns)
{
	struct release_votes votes;
	struct release_verdict verdict;
	release_votes_init(&votes);
	for (size_t i = 0; i < 3 && reports[i] != NULL; i++)
		release_votes_add(&votes, slice_of(reports[i]));
	release_decide(&votes, &(struct release_case){ NAME, claimed, used, mark, now_ns },
		       &verdict);
	release_votes_done(&votes);
	return verdict;
}

static void assert_gone(struct release_verdict verdict)
{
	assert_int_equal(verdict.kept, 0);
	assert_string_equal(verdict.mark, "");
	assert_int_equal(verdict.again_ns, 0);
}

static void assert_kept(struct release_verdict verdict, unsigned kept, const char *mark,
			uint64_t again_ns)
{
	assert_int_equal(verdict.kept, kept);
	assert_string_equal(verdict.mark, mark);
	assert_int_equal(verdict.again_ns, again_ns);
}

static void without_agents_at_once(void **state UNUSED)
{
	assert_gone(decide((const char *[3]){ NULL }, REGULAR, 0, NULL, NOW));
	/* The last report went while it waited. */
	assert_gone(decide((const char *[3]){ NULL }, REGULAR, 0, MARK, NOW));
}

static void used_ones_have_no_mark(void **state UNUSED)
{
	assert_gone(decide((const char *[3]){ "" }, REGULAR, REGULAR, NULL, NOW));
	/* The rule came again: what nodes said about the mark counts no more. */
	assert_gone(decide((const char *[3]){ LINE }, REGULAR, REGULAR, MARK, NOW));
	assert_gone(decide((const char *[3]){ "" }, 0, REGULAR, NULL, NOW));
}

static void marked_first(void **state UNUSED)
{
	assert_kept(decide((const char *[3]){ "" }, REGULAR, 0, NULL, NOW), REGULAR, MARK,
		    RELEASE_WAIT_NS);
	assert_kept(decide((const char *[3]){ "" }, REGULAR, 0, "odd", NOW), REGULAR, MARK,
		    RELEASE_WAIT_NS);
}

static void each_node_counts(void **state UNUSED)
{
	uint64_t later = NOW + NS_PER_S, left = RELEASE_WAIT_NS - NS_PER_S;
	assert_kept(decide((const char *[3]){ "" }, REGULAR, 0, MARK, later), REGULAR, MARK, left);
	assert_kept(decide((const char *[3]){ LINE, "", LINE }, REGULAR, 0, MARK, later), REGULAR,
		    MARK, left);
	assert_kept(decide((const char *[3]){ LINE LINE, "" }, REGULAR, 0, MARK, later), REGULAR,
		    MARK, left);
	assert_gone(decide((const char *[3]){ LINE }, REGULAR, 0, MARK, later));
	assert_gone(decide((const char *[3]){ "a.example x\n" LINE, LINE, LINE "z.example x\n" },
			   REGULAR, 0, MARK, later));
}

/* Reports about another name, or an earlier mark of this one. */
static void stale_reports_say_nothing(void **state UNUSED)
{
	static const char *const rows[] = {
		"other.example " MARK "\n",
		NAME " 2027-01-15T07:59:59.999999Z,regular\n",
		NAME " 2027-01-15T08:00:00.000000Z,wildcard\n",
		NAME "\n",
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_kept(decide((const char *[3]){ rows[i] }, REGULAR, 0, MARK, NOW), REGULAR,
			    MARK, RELEASE_WAIT_NS);
}

static void not_for_ever(void **state UNUSED)
{
	const char *const one[3] = { "" };
	assert_kept(decide(one, REGULAR, 0, MARK, NOW + RELEASE_WAIT_NS - 1), REGULAR, MARK, 1);
	struct release_verdict late = decide(one, REGULAR, 0, MARK, NOW + RELEASE_WAIT_NS);
	assert_gone(late);
	assert_true(late.is_late);
	late = decide((const char *[3]){ LINE }, REGULAR, 0, MARK, NOW + RELEASE_WAIT_NS);
	assert_gone(late);
	assert_false(late.is_late);
	/* A clock that was set back does not make it longer. */
	assert_kept(decide(one, REGULAR, 0, "2027-01-15T08:00:01.000000Z,regular", NOW), REGULAR,
		    MARK, RELEASE_WAIT_NS);
}

/* EF-17, EF-18: one use ends, then another one: the mark is for both, and nodes have to say so again. */
static void one_use_after_the_other(void **state UNUSED)
{
	const char *const reports[3] = { LINE };
	assert_kept(decide((const char *[3]){ "" }, REGULAR | WILDCARD, WILDCARD, MARK, NOW),
		    REGULAR, MARK, RELEASE_WAIT_NS);
	assert_gone(decide(reports, REGULAR | WILDCARD, WILDCARD, MARK, NOW));
	assert_kept(decide(reports, REGULAR | WILDCARD, 0, MARK, NOW), REGULAR | WILDCARD,
		    MARK ",wildcard", RELEASE_WAIT_NS);
	assert_kept(decide(reports, WILDCARD | ANY, WILDCARD, NULL, NOW), ANY,
		    "2027-01-15T08:00:00.000000Z,any-depth", RELEASE_WAIT_NS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_agents_at_once),
		cmocka_unit_test(used_ones_have_no_mark),
		cmocka_unit_test(marked_first),
		cmocka_unit_test(each_node_counts),
		cmocka_unit_test(stale_reports_say_nothing),
		cmocka_unit_test(not_for_ever),
		cmocka_unit_test(one_use_after_the_other),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
