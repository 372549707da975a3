/* Which rule is next: exact names are found by their hash, however many rules there are, and only
 * the others are tried one by one. */
#include "base/arena.h"
#include "plugin/rewrite/rewrite_priv.h"

/* Rules that are about one name; it is known what that is. */
static bool is_exact(const struct rewrite_rule *r)
{
	return r->match.how == REWRITE_EXACT &&
	       (r->apply == rewrite_apply_name || r->apply == rewrite_apply_match);
}

void rewrite_index_init(struct rewrite_conf *c, struct arena *a)
{
	uint32_t n = c->n_rules;
	uint32_t slots = 1;
	while (slots < 2 * n)
		slots *= 2;
	c->slot = arena_alloc(a, slots * sizeof(*c->slot));
	c->n_slots = slots;
	c->next = arena_alloc(a, (n + 1) * sizeof(*c->next));
	for (uint32_t i = 0; i < slots; i++)
		c->slot[i] = n;
	/* From the last to the first, so that each list is in the order of the rules. */
	uint32_t other = n;
	for (uint32_t i = n; i-- > 0;) {
		const struct rewrite_rule *r = &c->rule[i];
		if (!is_exact(r)) {
			c->next[i] = other;
			other = i;
		} else if (r->match.wire != NULL) {
			uint32_t *head = &c->slot[r->match.hash & (slots - 1)];
			c->next[i] = *head;
			*head = i;
		}
	}
	c->first_other = other;
}

static uint32_t skip(const struct rewrite_conf *c, uint32_t at, uint32_t from)
{
	while (at < from)
		at = c->next[at];
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
	run->exact = skip(c, run->exact, run->rule);
	while (run->exact < c->n_rules && c->rule[run->exact].match.hash != hash)
		run->exact = c->next[run->exact];
	run->other = skip(c, run->other, run->rule);
	uint32_t at = MIN(run->exact, run->other);
	run->rule = at + 1;
	return at < c->n_rules ? &c->rule[at] : NULL;
}
