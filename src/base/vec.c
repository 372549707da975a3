/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Growth of the arrays of vec.h, the one part that need not be a macro. */
#include "base/vec.h"

void *vec_grow(void *value, size_t len, size_t *cap, size_t elem_bytes)
{
	if (len < *cap)
		return value;
	size_t want = *cap != 0 ? *cap * 2 : 8;
	value = xreallocarray(value, want, elem_bytes);
	*cap = want;
	return value;
}
