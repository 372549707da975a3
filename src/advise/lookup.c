/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares the walks of a look-up with the search list first and with the bare name first. A log
 * does not say which types a program wanted at once, and the common format does not say whether a
 * NOERROR had records: a judgement holds for all that is possible. */
#include "advise/lookup.h"

#include <assert.h>

#include "base/compiler.h"

enum { GUESSES_MAX = 6 };

/* Whether a program may have asked for these types at once. */
static const unsigned type_sets[] = {
	1U << ADVISE_TYPE_A | 1U << ADVISE_TYPE_AAAA,
	1U << ADVISE_TYPE_A,
	1U << ADVISE_TYPE_AAAA,
	1U << ADVISE_TYPE_OTHER,
};

/* ---- NOERROR with or without records ---- */

static unsigned count_guesses(const struct advise_elements *elements, unsigned types)
{
	unsigned n = 0;
	for (size_t i = 0; i < elements->n; i++) {
		for (unsigned type = 0; type < ADVISE_TYPES; type++)
			n += (types & 1U << type) != 0 && elements->seen[i][type] == ADVISE_NOERROR;
	}
	return n;
}

/* The elements with each NOERROR replaced by what the bits of `guess` say. */
static struct advise_elements apply_guess(const struct advise_elements *elements, unsigned types,
					  unsigned guess)
{
	struct advise_elements guessed = *elements;
	for (size_t i = 0; i < elements->n; i++) {
		for (unsigned type = 0; type < ADVISE_TYPES; type++) {
			if ((types & 1U << type) == 0 || elements->seen[i][type] != ADVISE_NOERROR)
				continue;
			guessed.seen[i][type] = (guess & 1) != 0 ? ADVISE_DATA : ADVISE_NODATA;
			guess >>= 1;
		}
	}
	return guessed;
}

/* ---- judgement ---- */

static enum advise_judgement compare_walks(const struct advise_elements *elements, unsigned types,
					   enum advise_libc libc, size_t *ret_element)
{
	struct advise_result now = advise_walk(elements, types, libc, false);
	struct advise_result then = advise_walk(elements, types, libc, true);
	*ret_element = now.element;
	if (now.end == ADVISE_END_UNPROVEN)
		return ADVISE_UNPROVEN;
	if (now.end == then.end && (now.end != ADVISE_END_FOUND || now.element == then.element))
		return ADVISE_SAME;
	if (now.end == ADVISE_END_FOUND && now.element + 1 < elements->n)
		return ADVISE_SEARCHED;
	if (then.end != ADVISE_END_UNPROVEN)
		return ADVISE_DIFFERS;
	*ret_element = then.element;
	return ADVISE_UNPROVEN;
}

static enum advise_judgement judge_types(const struct advise_elements *elements, unsigned types,
					 unsigned libcs, size_t *ret_element)
{
	enum advise_judgement worst = ADVISE_SAME;
	unsigned guesses = count_guesses(elements, types);
	*ret_element = elements->n - 1;
	if (guesses > GUESSES_MAX)
		return ADVISE_UNPROVEN;
	for (unsigned guess = 0; guess < 1U << guesses; guess++) {
		struct advise_elements guessed = apply_guess(elements, types, guess);
		for (unsigned libc = 0; libc < ADVISE_LIBCS; libc++) {
			size_t element;
			if ((libcs & 1U << libc) == 0)
				continue;
			enum advise_judgement one =
				compare_walks(&guessed, types, (enum advise_libc)libc, &element);
			/* A domain that has the name is the better reason to read. */
			if (one == ADVISE_SAME || worst == ADVISE_SEARCHED)
				continue;
			worst = one;
			*ret_element = element;
		}
	}
	return worst;
}

/* Types that were asked for with any domain of the list. */
static unsigned asked_types(const struct advise_elements *elements)
{
	unsigned types = 0;
	for (size_t i = 0; i + 1 < elements->n; i++) {
		for (unsigned type = 0; type < ADVISE_TYPES; type++)
			types |= elements->seen[i][type] != 0 ? 1U << type : 0;
	}
	return types;
}

enum advise_judgement advise_lookup_judge(const struct advise_lookup *lookup, size_t *ret_element)
{
	struct advise_elements elements;
	enum advise_judgement worst = ADVISE_SAME;
	advise_elements_fill(&elements, lookup->client, lookup->list, lookup->base);
	unsigned asked = asked_types(&elements);
	assert(asked != 0 && lookup->libcs != 0);
	for (size_t i = 0; i < ARRAY_LEN(type_sets); i++) {
		size_t element;
		if ((asked & type_sets[i]) != type_sets[i])
			continue;
		enum advise_judgement one =
			judge_types(&elements, type_sets[i], lookup->libcs, &element);
		if (one == ADVISE_SAME || worst == ADVISE_SEARCHED)
			continue;
		worst = one;
		*ret_element = element;
	}
	return worst;
}

/* ---- queries ---- */

/* The least number of queries for any of the elements that a walk asks for: an element may also be
 * part of another look-up's walk. */
static uint64_t count_walks(const struct advise_lookup *lookup, size_t asked, enum advise_type type)
{
	uint64_t least = UINT64_MAX;
	for (size_t i = 0; i < asked; i++) {
		struct slice domain = { NULL, 0 };
		if (i < lookup->list->n)
			domain = lookup->list->domain[i];
		const struct advise_fact *fact =
			advise_trace_fact(lookup->client, lookup->base, domain);
		least = MIN(least, fact != NULL ? fact->count[type] : 0);
	}
	return least;
}

static void add_cost(const struct advise_lookup *lookup, const struct advise_elements *elements,
		     unsigned types, uint64_t walks, struct advise_cost *cost)
{
	unsigned width = (unsigned)__builtin_popcount(types);
	uint64_t best_now = UINT64_MAX, least_saved = UINT64_MAX;
	bool is_found = false;
	for (unsigned libc = 0; libc < ADVISE_LIBCS; libc++) {
		if ((lookup->libcs & 1U << libc) == 0)
			continue;
		struct advise_result now =
			advise_walk(elements, types, (enum advise_libc)libc, false);
		struct advise_result then =
			advise_walk(elements, types, (enum advise_libc)libc, true);
		if (now.end == ADVISE_END_UNPROVEN)
			return;
		best_now = MIN(best_now, now.asked);
		least_saved = MIN(least_saved, now.asked > then.asked ? now.asked - then.asked : 0);
		is_found = now.end == ADVISE_END_FOUND;
	}
	cost->lookups += walks;
	cost->now += walks * width * best_now;
	cost->bare_first += walks * width * (best_now - MIN(best_now, least_saved));
	cost->virtual_suffix += walks * width * MIN(best_now, is_found ? 1U : 2U);
}

/* How many queries of a type each look-up sends now: A and AAAA end at the same element. */
static size_t count_asked(const struct advise_elements *elements, unsigned type)
{
	unsigned types = asked_types(elements);
	bool is_pair = (types & type_sets[0]) == type_sets[0] && (type_sets[0] & 1U << type) != 0;
	return advise_walk(elements, is_pair ? type_sets[0] : 1U << type, ADVISE_GLIBC, false)
		.asked;
}

void advise_lookup_cost(const struct advise_lookup *lookup, struct advise_cost *ret)
{
	struct advise_elements elements;
	uint64_t walks[ADVISE_TYPES] = { 0 };
	*ret = (struct advise_cost){ 0 };
	advise_elements_fill(&elements, lookup->client, lookup->list, lookup->base);
	/* Most NOERRORs are answers; this is a count, not a proof. */
	for (unsigned type = 0; type < ADVISE_TYPES; type++)
		elements = apply_guess(&elements, 1U << type, UINT32_MAX);
	for (unsigned type = 0; type < ADVISE_TYPES; type++) {
		if (elements.seen[0][type] != 0)
			walks[type] = count_walks(lookup, count_asked(&elements, type),
						  (enum advise_type)type);
	}
	uint64_t both = MIN(walks[ADVISE_TYPE_A], walks[ADVISE_TYPE_AAAA]);
	walks[ADVISE_TYPE_A] -= both;
	walks[ADVISE_TYPE_AAAA] -= both;
	if (both > 0)
		add_cost(lookup, &elements, type_sets[0], both, ret);
	for (unsigned type = 0; type < ADVISE_TYPES; type++) {
		if (walks[type] > 0)
			add_cost(lookup, &elements, 1U << type, walks[type], ret);
	}
}
