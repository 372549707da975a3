/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Steps in their order: leftovers go first, then an attempt is brought to its end, then comes what is
 * wanted. Guards keep what others wrote (P6). */
#include "controller/dnsrecord/plan/step.h"

#include <string.h>

#include "base/mem.h"

/* ---- edits ---- */

static bool is_at(const struct dnsrecord_set *before, const struct dnsrecord_set *set)
{
	return before != NULL && dnsrecord_is_same_place(before, set);
}

/* What was adopted is ours from then on, and is compared as any other. */
static bool is_unguarded(const struct dnsrecord *record, const struct dnsrecord_set *set,
			 const struct dnsrecord_rules *rules)
{
	bool is_written = is_at(record->applied, set) && !record->applied->is_taken_over;
	return rules->is_drop_in || rules->is_restore || (record->adopts && !is_written);
}

/* How a set that should become `set` is kept from another's. */
static void guard_put(const struct dnsrecord *record, const struct dnsrecord_set *set,
		      const struct dnsrecord_rules *rules, struct dnsrecord_step *step)
{
	struct provider_edit *edit = &step->edits[0];
	edit->guard = is_unguarded(record, set, rules) ? PROVIDER_GUARD_NONE : PROVIDER_GUARD_OWNED;
	if (edit->guard == PROVIDER_GUARD_NONE || !is_at(record->applied, set) ||
	    rules->may_be_gone)
		return;
	edit->before = record->applied->set;
	edit->may_lack_mark = true;
	step->has_second_try = true;
}

static void guard_drop(const struct dnsrecord *record, const struct dnsrecord_set *set,
		       const struct dnsrecord_rules *rules, struct provider_edit *ret)
{
	*ret = (struct provider_edit){
		.set = { .name = set->set.name, .type = set->set.type, .owner = record->owner }
	};
	ret->guard = rules->is_drop_in ? PROVIDER_GUARD_NONE : PROVIDER_GUARD_OWNED;
	if (ret->guard != PROVIDER_GUARD_OWNED)
		return;
	ret->before = set->set;
	/* An attempt that was written has a mark, where there are any. */
	ret->may_lack_mark = set != record->attempt;
}

/* A set of another name or type in the same zone goes in the same request (DR-12). */
static bool is_replaced(const struct dnsrecord_set *before, const struct dnsrecord_set *set)
{
	bool is_same_zone = before != NULL && before->zone != NULL && set->zone != NULL &&
			    strcmp(before->zone, set->zone) == 0;
	return is_same_zone && !dnsrecord_is_same_place(before, set);
}

/* The zone that has the set already needs no check: it was found, or checked when it was written (DR-16). */
static bool needs_check(const struct dnsrecord *record, const struct dnsrecord_set *set)
{
	const struct dnsrecord_set *before = record->applied;
	return set->zone != NULL &&
	       (before == NULL || before->zone == NULL || strcmp(before->zone, set->zone) != 0 ||
		strcmp(before->set.name, set->set.name) != 0);
}

static void make_put(const struct dnsrecord *record, const struct dnsrecord_set *set,
		     const struct dnsrecord_rules *rules, struct dnsrecord_step *step)
{
	step->zone = rules->searches_zone ? NULL : set->zone;
	step->edits[0].set = set->set;
	step->edits[0].set.owner = record->owner;
	step->n_edits = 1;
	guard_put(record, set, rules, step);
	step->checks_zone = step->zone != NULL && needs_check(record, set);
	step->maybe_applied = record->attempt != NULL || is_at(record->applied, set);
	if (!rules->searches_zone && is_replaced(record->applied, set))
		guard_drop(record, record->applied, rules, &step->edits[step->n_edits++]);
}

static void make_drop(const struct dnsrecord *record, const struct dnsrecord_set *set,
		      const struct dnsrecord_rules *rules, struct dnsrecord_step *step)
{
	step->zone = set->zone;
	step->n_edits = 1;
	guard_drop(record, set, rules, &step->edits[0]);
}

/* ---- the order ---- */

static enum dnsrecord_step_kind choose_step(const struct dnsrecord *record, bool withdraws)
{
	if (record->leftover != NULL)
		return DNSRECORD_DROP_LEFTOVER;
	if (!withdraws)
		return record->attempt != NULL &&
				       !dnsrecord_is_same_set(record->attempt, &record->wanted)
			       ? DNSRECORD_PUT_ATTEMPT
			       : DNSRECORD_PUT_WANTED;
	if (record->attempt != NULL)
		return DNSRECORD_DROP_ATTEMPT;
	return record->applied != NULL ? DNSRECORD_DROP_APPLIED : DNSRECORD_NO_STEP;
}

static const struct dnsrecord_set *set_of(const struct dnsrecord *record,
					  enum dnsrecord_step_kind kind)
{
	switch (kind) {
	case DNSRECORD_NO_STEP:
		return NULL;
	case DNSRECORD_PUT_WANTED:
		return &record->wanted;
	case DNSRECORD_PUT_ATTEMPT:
	case DNSRECORD_DROP_ATTEMPT:
		return record->attempt;
	case DNSRECORD_DROP_LEFTOVER:
		return record->leftover;
	case DNSRECORD_DROP_APPLIED:
		return record->applied;
	}
	return NULL;
}

static void make_step(const struct dnsrecord *record, enum dnsrecord_step_kind kind,
		      const struct dnsrecord_rules *rules, struct dnsrecord_step *ret)
{
	const struct dnsrecord_set *set = set_of(record, kind);
	*ret = (struct dnsrecord_step){ .kind = kind };
	if (set == NULL)
		return;
	if (kind == DNSRECORD_PUT_WANTED || kind == DNSRECORD_PUT_ATTEMPT)
		make_put(record, set, rules, ret);
	else
		make_drop(record, set, rules, ret);
}

void dnsrecord_next_step(const struct dnsrecord *record, bool withdraws,
			 const struct dnsrecord_rules *rules, struct dnsrecord_step *ret)
{
	make_step(record, choose_step(record, withdraws), rules, ret);
}

/* A set of before in another zone goes when the new one is there. */
static bool leaves_applied(const struct dnsrecord *record, bool withdraws)
{
	const struct dnsrecord_set *before = record->applied;
	return before != NULL && (withdraws || (!dnsrecord_is_same_place(before, &record->wanted) &&
						!is_replaced(before, &record->wanted)));
}

size_t dnsrecord_steps_ahead(const struct dnsrecord *record, bool withdraws,
			     const struct dnsrecord_rules *rules,
			     struct dnsrecord_step ret[DNSRECORD_STEPS_AHEAD])
{
	bool drops_attempt =
		withdraws && record->attempt != NULL && !is_at(record->applied, record->attempt);
	size_t n = 0;
	if (record->leftover != NULL)
		make_step(record, DNSRECORD_DROP_LEFTOVER, rules, &ret[n++]);
	if (drops_attempt)
		make_step(record, DNSRECORD_DROP_ATTEMPT, rules, &ret[n++]);
	else if (!withdraws)
		make_step(record, DNSRECORD_PUT_WANTED, rules, &ret[n++]);
	if (leaves_applied(record, withdraws))
		make_step(record, DNSRECORD_DROP_APPLIED, rules, &ret[n++]);
	return n;
}

bool dnsrecord_can_search_zone(const struct dnsrecord *record, const struct dnsrecord_step *step,
			       enum provider_code code)
{
	bool is_put = step->kind == DNSRECORD_PUT_WANTED || step->kind == DNSRECORD_PUT_ATTEMPT;
	bool is_wrong = code == PROVIDER_NO_ZONE || (code == PROVIDER_OTHER_ZONE && is_put);
	return is_wrong && !record->is_zone_given && step->zone != NULL;
}

/* ---- what is known ---- */

static struct dnsrecord_known known_of(const struct dnsrecord *record)
{
	const char *zone = record->spec.status_zone;
	return (struct dnsrecord_known){ record->attempt, record->applied, record->leftover,
					 zone[0] != '\0' ? zone : NULL };
}

struct dnsrecord_known dnsrecord_begin_known(const struct dnsrecord *record, bool withdraws)
{
	struct dnsrecord_known known = known_of(record);
	if (!withdraws && known.attempt == NULL)
		known.attempt = &record->wanted;
	return known;
}

struct dnsrecord_known dnsrecord_waiting_known(const struct dnsrecord *record, bool withdraws,
					       bool is_sent)
{
	struct dnsrecord_known known = dnsrecord_begin_known(record, withdraws);
	if (!withdraws && !is_sent && record->applied == NULL)
		known.attempt = NULL;
	return known;
}

static struct dnsrecord_known put_succeeded(const struct dnsrecord *record,
					    const struct dnsrecord_step *step, const char *zone,
					    struct arena *arena)
{
	struct dnsrecord_known known = known_of(record);
	struct dnsrecord_set *set = arena_memdup(arena, set_of(record, step->kind), sizeof(*set));
	const struct dnsrecord_set *before = record->applied;
	set->zone = arena_strdup(arena, zone);
	if (before != NULL && !dnsrecord_is_same_place(before, set) && step->n_edits == 1)
		known.leftover = before;
	known.applied = set;
	known.zone = set->zone;
	/* What the spec asks for by now follows. */
	known.attempt = step->kind == DNSRECORD_PUT_ATTEMPT ? &record->wanted : NULL;
	return known;
}

struct dnsrecord_known dnsrecord_succeeded_known(const struct dnsrecord *record,
						 const struct dnsrecord_step *step,
						 const char *zone, struct arena *arena)
{
	struct dnsrecord_known known = known_of(record);
	switch (step->kind) {
	case DNSRECORD_NO_STEP:
		break;
	case DNSRECORD_PUT_WANTED:
	case DNSRECORD_PUT_ATTEMPT:
		return put_succeeded(record, step, zone, arena);
	case DNSRECORD_DROP_LEFTOVER:
		known.leftover = NULL;
		break;
	case DNSRECORD_DROP_ATTEMPT:
		known.attempt = NULL;
		break;
	case DNSRECORD_DROP_APPLIED:
		known.applied = NULL;
		break;
	}
	return known;
}

struct dnsrecord_known dnsrecord_refused_known(const struct dnsrecord *record,
					       const struct dnsrecord_step *step)
{
	struct dnsrecord_known known = known_of(record);
	/* Of a set that is to be removed it is still unknown whether it is there. */
	if (step->kind == DNSRECORD_PUT_WANTED)
		known.attempt = NULL;
	else if (step->kind == DNSRECORD_PUT_ATTEMPT)
		known.attempt = &record->wanted;
	return known;
}
