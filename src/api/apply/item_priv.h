/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Items of lists of type set and map, by their elements. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "api/apply/type_priv.h"
#include "api/fields/fieldset.h"
#include "base/compiler.h"
#include "base/strbuf.h"

/* The element that stands for an item of a set or map; ERR_PARSE with a sentence. */
MUST_CHECK int managed_item_element(const struct managed_atom *list, const json_t *item,
				    struct fieldset_el **ret, struct strbuf *err);
/* Whether managed_item_element makes one, which costs less. Both decide alike: callers rely on that. */
bool managed_item_has_element(const struct managed_atom *list, const json_t *item);

/* Items of a list with their elements, in the list's order, and an index sorted by element. */
struct managed_item {
	struct fieldset_el *el;
	const json_t *value;
	size_t at;  /* place in the list */
	bool twice; /* another item has the same element */
};
struct managed_items {
	struct managed_item *v;
	struct managed_item **sorted;
	size_t n;
};
/* Items without an element are left out. */
void managed_items_init(struct managed_items *items, const struct managed_atom *atom,
			const json_t *list);
void managed_items_done(struct managed_items *items);
/* The first with that element; NULL. */
const struct managed_item *managed_items_find(const struct managed_items *items,
					      const struct fieldset_el *element);
