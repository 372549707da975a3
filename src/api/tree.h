/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Object trees are jansson's. A tree comes from outside and may hold anything anywhere: its texts
 * are read by the functions below, which have an answer for every value. jansson's own
 * json_string_value returns NULL for what is no string; tools/check-json keeps it out. */
#pragma once

#include <stdint.h>

#include <jansson.h>

#include "base/compiler.h"
#include "base/slice.h"

/* jansson's iterators and counts take what they do not change as if they did. */
static inline json_t *api_tree(const json_t *value)
{
	return (json_t *)(uintptr_t)value;
}

/* The text of a string, borrowed; "" for every other value and for NULL. Where a missing text and
 * an empty one differ, ask json_is_string first. */
static inline const char *api_text(const json_t *value)
{
	return json_is_string(value) ? json_string_value(value) : "";
}

/* The text of an object's member. */
static inline const char *api_member_text(const json_t *object, const char *key)
{
	return api_text(json_object_get(object, key));
}

/* The same with another answer for what is no string; NULL only where the caller tests for it. */
static inline const char *api_text_or(const json_t *value, const char *otherwise)
{
	return json_is_string(value) ? json_string_value(value) : otherwise;
}

/* The same with its length: a text may hold NUL. */
static inline struct slice api_text_slice(const json_t *value)
{
	return (struct slice){ api_text(value), json_string_length(value) };
}
