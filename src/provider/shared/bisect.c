/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The search for bad changes: a binary search for the first one, again and again. */
#include "provider/shared/bisect.h"

#include <assert.h>

#include "base/compiler.h"

/* A search of so many suspects begins. Each of the hurried ones takes twice the room of another among
 * the 2^L ends of a search. */
static void begin_search(struct provider_bisect *bisect, size_t suspects)
{
	size_t ends = 2 * bisect->half;
	assert(suspects <= ends);
	bisect->suspects = suspects;
	bisect->hurried =
		suspects > bisect->half ? MIN(suspects - bisect->half, ends - suspects) : 0;
}

void provider_bisect_init(struct provider_bisect *bisect, size_t count)
{
	assert(count != 0);
	*bisect = (struct provider_bisect){ .left = count, .half = 1, .calls = 1 };
	bisect->log = count > 1;
	while (bisect->half * 2 < count) {
		bisect->half *= 2;
		bisect->log++;
	}
	bisect->group = bisect->half;
	bisect->base = 4 * count <= 6 * bisect->half ? 2 : 8 * count <= 14 * bisect->half ? 3 : 4;
	begin_search(bisect, count);
}

/* ---- how many to try ---- */

/* Of suspects: those whose ends are half of all. */
static size_t split_suspects(const struct provider_bisect *bisect)
{
	size_t ends = 1, hurried = bisect->hurried;
	if (hurried == 0)
		return bisect->suspects / 2;
	while (ends * 2 < bisect->suspects + hurried)
		ends *= 2;
	return 2 * hurried >= ends ? ends / 2 : ends - hurried;
}

/* Calls that are over if the rest of the row is good. Negative: so many are missing. */
static int count_spare(const struct provider_bisect *bisect)
{
	int most = (int)bisect->base + (int)bisect->n_bad * (int)bisect->log;
	return most - (int)bisect->calls - (bisect->left > bisect->half ? 2 : 1);
}

static size_t choose_group(const struct provider_bisect *bisect)
{
	int spare = count_spare(bisect);
	/* Mostly there is only one, and no call is left to try the rest in two parts. */
	if (bisect->n_bad == 1 && bisect->left > bisect->half &&
	    bisect->calls + 2 > 2 + bisect->log)
		return bisect->left;
	if (spare > 0 || (spare == 0 && bisect->firsts > BISECT_RUN))
		return MIN(bisect->group, bisect->left);
	return MIN(bisect->half, bisect->left);
}

size_t provider_bisect_next(const struct provider_bisect *bisect)
{
	return bisect->suspects > 1 ? split_suspects(bisect) : choose_group(bisect);
}

/* ---- results ---- */

void provider_bisect_succeeded(struct provider_bisect *bisect, size_t tried)
{
	assert(tried <= bisect->left);
	bisect->calls++;
	bisect->left -= tried;
	bisect->went_right = true;
	if (bisect->suspects == 0) {
		bisect->group = MIN(bisect->group * 2, bisect->half);
		return;
	}
	assert(tried < bisect->suspects);
	bisect->suspects -= tried;
	bisect->hurried -= MIN(bisect->hurried, tried);
}

void provider_bisect_failed(struct provider_bisect *bisect, size_t tried)
{
	assert(tried != 0 && tried <= bisect->left);
	bisect->calls++;
	if (bisect->suspects == 0) {
		bisect->went_right = false;
		begin_search(bisect, tried);
		return;
	}
	bisect->suspects = tried;
	bisect->hurried = MIN(bisect->hurried, tried);
}

/* Where bad ones follow each other, whole groups are not worth their calls: they become smaller. */
static void adapt_group(struct provider_bisect *bisect)
{
	bisect->firsts = bisect->went_right ? 0 : bisect->firsts + 1;
	if (bisect->firsts > 1)
		bisect->group = MAX(bisect->group / 2, (size_t)1);
	bisect->went_right = false;
}

bool provider_bisect_found(struct provider_bisect *bisect)
{
	if (bisect->suspects != 1)
		return false;
	adapt_group(bisect);
	bisect->n_bad++;
	bisect->suspects = 0;
	bisect->hurried = 0;
	bisect->left--;
	return true;
}
