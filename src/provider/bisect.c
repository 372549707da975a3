/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The search for bad changes: a binary search for the first one, again and again. */
#include "provider/bisect_priv.h"

#include <assert.h>

#include "base/compiler.h"

void provider_bisect_init(struct provider_bisect *bisect, size_t count)
{
	assert(count != 0);
	*bisect = (struct provider_bisect){ .left = count, .suspects = count, .group = count };
	bisect->half = 1;
	while (bisect->half * 2 < count)
		bisect->half *= 2;
}

size_t provider_bisect_next(const struct provider_bisect *bisect)
{
	if (bisect->suspects > 1)
		return bisect->suspects / 2;
	return MIN(bisect->group, bisect->left);
}

void provider_bisect_succeeded(struct provider_bisect *bisect, size_t tried)
{
	assert(tried <= bisect->left);
	bisect->left -= tried;
	bisect->went_right = true;
	if (bisect->suspects != 0) {
		assert(tried < bisect->suspects);
		bisect->suspects -= tried;
		return;
	}
	if (bisect->n_bad > 1)
		bisect->group = MIN(bisect->group * 2, bisect->half);
}

void provider_bisect_failed(struct provider_bisect *bisect, size_t tried)
{
	assert(tried != 0 && tried <= bisect->left);
	if (bisect->suspects == 0)
		bisect->went_right = false;
	bisect->suspects = tried;
}

/* Where bad ones follow each other, whole groups are not worth their calls: they become smaller. */
static void adapt_group(struct provider_bisect *bisect)
{
	bisect->firsts = bisect->went_right ? 0 : bisect->firsts + 1;
	if (bisect->firsts > 1)
		bisect->group = MAX(bisect->group / 2, (size_t)1);
	if (++bisect->n_bad > 1)
		bisect->group = MIN(bisect->group, bisect->half);
	bisect->went_right = false;
}

bool provider_bisect_found(struct provider_bisect *bisect)
{
	if (bisect->suspects != 1)
		return false;
	adapt_group(bisect);
	bisect->suspects = 0;
	bisect->left--;
	return true;
}
