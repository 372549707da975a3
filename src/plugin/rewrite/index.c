/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which rule is next: exact names are found by their hash, however many rules there are, and only
 * the others are tried one by one. */
#include "plugin/rewrite/index.h"

#include "base/arena.h"
#include "plugin/rewrite/name.h"

/* Rules that are about one name; it is known what that is. */
static bool is_exact(const struct rewrite_rule *rule)
{
	return rule->match.how == REWRITE_EXACT &&
	       (rule->apply == rewrite_apply_name || rule->apply == rewrite_apply_match);
}

void rewrite_index_init(struct rewrite_conf *conf, struct arena *arena)
{
	uint32_t n = conf->n_rules;
	uint32_t slots = 1;
	while (slots < 2 * n)
		slots *= 2;
	conf->slot = arena_alloc(arena, slots * sizeof(*conf->slot));
	conf->n_slots = slots;
	conf->next = arena_alloc(arena, (n + 1) * sizeof(*conf->next));
	for (uint32_t i = 0; i < slots; i++)
		conf->slot[i] = n;
	/* From the last to the first, so that each list is in the order of the rules. */
	uint32_t other = n;
	for (uint32_t i = n; i-- > 0;) {
		const struct rewrite_rule *r = &conf->rule[i];
		if (!is_exact(r)) {
			conf->next[i] = other;
			other = i;
		} else if (r->match.wire != NULL) {
			uint32_t *head = &conf->slot[r->match.hash & (slots - 1)];
			conf->next[i] = *head;
			*head = i;
		}
	}
	conf->first_other = other;
}

static uint32_t skip_to(const struct rewrite_conf *conf, uint32_t at, uint32_t from)
{
	while (at < from)
		at = conf->next[at];
	return at;
}

void rewrite_index_start(struct rewrite_run *run)
{
	run->other = run->conf->first_other;
	run->rule = 0;
	rewrite_index_renamed(run);
}

void rewrite_index_renamed(struct rewrite_run *run)
{
	const struct rewrite_conf *c = run->conf;
	run->exact = c->slot[run->q->qname.hash[0] & (c->n_slots - 1)];
}

const struct rewrite_rule *rewrite_index_next(struct rewrite_run *run)
{
	const struct rewrite_conf *c = run->conf;
	uint32_t hash = run->q->qname.hash[0];
	run->exact = skip_to(c, run->exact, run->rule);
	while (run->exact < c->n_rules && c->rule[run->exact].match.hash != hash)
		run->exact = c->next[run->exact];
	run->other = skip_to(c, run->other, run->rule);
	uint32_t at = MIN(run->exact, run->other);
	run->rule = at + 1;
	return at < c->n_rules ? &c->rule[at] : NULL;
}
