/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The index gives the rules that trying all of them in order would give. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/rng.h"
#include "base/rng_test.h"
#include "plugin/rewrite/index.h"
#include "plugin/rewrite/match.h"
#include "plugin/rewrite/name.h"
#include "plugin/rewrite/rewrite_priv.h"

enum { RULES = 60, NAMES = 5, ROUNDS = 300 };

static enum rewrite_result other(const struct rewrite_rule *r, struct rewrite_run *run)
{
	(void)r;
	(void)run;
	return REWRITE_IGNORED;
}

static void set_name(struct query *q, unsigned i)
{
	uint8_t wire[] = { 1, (uint8_t)('a' + i), 0 };
	dns_qname_set(&q->qname, wire);
}

/* Every third rule or so is about any name, the others about one of a few. */
static void make(struct rewrite_conf *c, struct rng *rng, struct arena *a)
{
	*c = (struct rewrite_conf){ .n_rules = rng_below(rng, RULES + 1) };
	c->rule = arena_calloc(a, RULES * sizeof(*c->rule));
	for (uint32_t i = 0; i < c->n_rules; i++) {
		struct rewrite_rule *r = &c->rule[i];
		r->apply = rng_below(rng, 3) == 0 ? other : rewrite_apply_match;
		r->match.from = slice_of(arena_printf(a, "%c.", 'a' + (int)rng_below(rng, NAMES)));
		rewrite_matcher_init(&r->match, a);
	}
	rewrite_index_init(c, a);
}

static bool wanted(const struct rewrite_rule *r, const struct query *q)
{
	return r->apply == other || rewrite_matcher_may(&r->match, &q->qname);
}

/* Now and then a rule gives the question another name. */
static void same_as_one_by_one(void **state)
{
	(void)state;
	struct query *q = calloc(1, sizeof(*q));
	struct rewrite_conf c;
	struct rng rng;
	assert_non_null(q);
	rng_init_seed(&rng, 1);
	for (int round = 0; round < ROUNDS; round++) {
		struct rewrite_run run = { .q = q, .conf = &c };
		struct arena a;
		arena_init(&a);
		make(&c, &rng, &a);
		set_name(q, rng_below(&rng, NAMES + 1));
		rewrite_index_start(&run);
		for (uint32_t i = 0; i <= c.n_rules; i++) {
			while (i < c.n_rules && !wanted(&c.rule[i], q))
				i++;
			assert_ptr_equal(rewrite_index_next(&run),
					 i < c.n_rules ? &c.rule[i] : NULL);
			if (rng_below(&rng, 4) == 0) {
				set_name(q, rng_below(&rng, NAMES + 1));
				rewrite_index_renamed(&run);
			}
		}
		arena_done(&a);
	}
	free(q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_as_one_by_one),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
