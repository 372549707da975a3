/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Copies of object trees. */
#pragma once

#include <jansson.h>

/* A new tree that shares nothing with this one, members in the same order; NULL for NULL. As
 * json_deep_copy, without its search for loops, which prints the address of each object and list: trees
 * that were parsed or built have none. */
json_t *api_tree_copy(const json_t *value);
/* Copies an API object. Its metadata.managedFields, which are most of many objects, are shared and not
 * copied if they are those of `from`: callers may normalize their entries, but not change them. */
json_t *api_tree_copy_object(const json_t *object, const json_t *from);
