/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether an update left a value as it was. */
#pragma once

#include <stdbool.h>

#include <jansson.h>

struct schema_node;

/* The item of a list of type map that has the same keys as `item`, or NULL. */
const json_t *schema_find_item(const struct schema_node *node, const json_t *list,
			       const json_t *item);
/* Equal, as the API server compares an update with the old object: items of maps by their keys. */
bool schema_unchanged(const struct schema_node *node, const json_t *left, const json_t *right);
