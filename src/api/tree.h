/* Object trees are jansson's. */
#pragma once

#include <stdint.h>

#include <jansson.h>

/* jansson's iterators and counts take what they do not change as if they did. */
static inline json_t *api_tree(const json_t *v)
{
	return (json_t *)(uintptr_t)v;
}
