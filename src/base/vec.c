/* Growth of vec.h's arrays. */
#include "base/vec.h"

void *vec_grow(void *v, size_t n, size_t *cap, size_t elem_bytes)
{
	if (n < *cap)
		return v;
	size_t want = *cap != 0 ? *cap * 2 : 8;
	v = xreallocarray(v, want, elem_bytes);
	*cap = want;
	return v;
}
