/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The walks of glibc and musl over what is known of a search list's elements. */
#include "advise/walk.h"

#include <assert.h>

#include "base/compiler.h"

void advise_elements_fill(struct advise_elements *elements, const struct advise_client *client,
			  const struct advise_list *list, struct slice base)
{
	assert(list->n <= ADVISE_LIST_MAX);
	*elements = (struct advise_elements){ .n = list->n + 1 };
	for (size_t i = 0; i < elements->n; i++) {
		struct slice domain = i < list->n ? list->domain[i] : (struct slice){ NULL, 0 };
		const struct advise_fact *fact = advise_trace_fact(client, base, domain);
		for (unsigned type = 0; fact != NULL && type < ADVISE_TYPES; type++)
			elements->seen[i][type] = fact->seen[type];
	}
}

/* The set of outcomes of one element, over all types. 0 when a type is missing or has several. */
static unsigned collect_outcomes(const uint8_t seen[ADVISE_TYPES], unsigned types)
{
	unsigned outcomes = 0;
	for (unsigned type = 0; type < ADVISE_TYPES; type++) {
		if ((types & 1U << type) == 0)
			continue;
		unsigned one = seen[type];
		if (one == 0 || (one & (one - 1)) != 0)
			return 0;
		outcomes |= one;
	}
	return outcomes;
}

/* Data of one type is enough: programs get what there is. Otherwise all types must agree, since how
 * different failures add up depends on the version of a libc. */
static enum advise_end end_of_element(const uint8_t seen[ADVISE_TYPES], unsigned types)
{
	static const struct {
		unsigned outcome;
		enum advise_end end;
	} ends[] = {
		{ ADVISE_NXDOMAIN, ADVISE_END_NXDOMAIN },
		{ ADVISE_NODATA, ADVISE_END_NODATA },
		{ ADVISE_SERVFAIL, ADVISE_END_AGAIN },
		{ ADVISE_DATA, ADVISE_END_FOUND },
		{ ADVISE_DATA | ADVISE_NODATA, ADVISE_END_FOUND },
	};
	unsigned outcomes = collect_outcomes(seen, types);
	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		if (ends[i].outcome == outcomes)
			return ends[i].end;
	}
	return ADVISE_END_UNPROVEN;
}

/* Elements from the first to the one before `end`, as long as the name does not exist. */
static struct advise_result walk_musl(const struct advise_elements *elements, unsigned types,
				      bool bare_first)
{
	struct advise_result result = { .end = ADVISE_END_NXDOMAIN };
	for (size_t i = bare_first ? elements->n - 1 : 0; i < elements->n; i++) {
		result.end = end_of_element(elements->seen[i], types);
		result.element = i;
		result.asked++;
		if (result.end != ADVISE_END_NXDOMAIN)
			break;
	}
	return result;
}

/* What res_search() returns when no element had an answer: the error of the bare name where that
 * was asked for first, otherwise the first that applies of "no data" anywhere, SERVFAIL anywhere and
 * the error of the bare name. */
static struct advise_result walk_glibc(const struct advise_elements *elements, unsigned types,
				       bool bare_first)
{
	struct advise_result result = { .end = ADVISE_END_NXDOMAIN };
	enum advise_end bare = ADVISE_END_NXDOMAIN;
	bool no_data = false, again = false;
	for (size_t step = 0; step < elements->n; step++) {
		size_t i = !bare_first ? step : step == 0 ? elements->n - 1 : step - 1;
		enum advise_end end = end_of_element(elements->seen[i], types);
		result.asked++;
		result.element = i;
		if (end == ADVISE_END_FOUND || end == ADVISE_END_UNPROVEN) {
			result.end = end;
			return result;
		}
		if (i == elements->n - 1)
			bare = end;
		else {
			no_data |= end == ADVISE_END_NODATA;
			again |= end == ADVISE_END_AGAIN;
		}
	}
	result.end = bare_first ? bare
		     : no_data	? ADVISE_END_NODATA
		     : again	? ADVISE_END_AGAIN
				: bare;
	return result;
}

struct advise_result advise_walk(const struct advise_elements *elements, unsigned types,
				 enum advise_libc libc, bool bare_first)
{
	assert(elements->n > 0 && types != 0);
	return libc == ADVISE_GLIBC ? walk_glibc(elements, types, bare_first)
				    : walk_musl(elements, types, bare_first);
}
