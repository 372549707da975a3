/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sets of fields of an object, as managedFields hold them (FieldsV1), and operations on them.
 *
 *	element		one step: a field's name, an item of a list by its keys, by its value or
 *			(in what clients write) by its number
 *	path		elements from the object down
 *	member		a path that is in the set; what is below it is another matter
 *
 * Elements and sets are counted references and belong to one thread. Sets are not changed once they
 * are shared: every operation returns a new one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "api/fields/element.h"
#include "api/fields/fieldset_json.h"
#include "api/fields/go_value.h"
#include "base/compiler.h"
#include "base/strbuf.h"

enum {
	FIELDSET_DEPTH_MAX = 64,
	FIELDSET_FIELDS_MAX = 100000,
	FIELDSET_KEY_MAX_BYTES = 64 << 10, /* of one element's text */
};

struct fieldset;
struct fieldset_node {
	struct fieldset_el *el;
	struct fieldset *sub; /* NULL: nothing below */
	bool member;
};
struct fieldset {
	unsigned refs;
	size_t n, cap;
	struct fieldset_node *v; /* sorted; each is a member or has something below */
};

struct fieldset *fieldset_new(void);
struct fieldset *fieldset_ref(struct fieldset *fieldset); /* not NULL */
void fieldset_unref(struct fieldset *fieldset);		  /* NULL is fine */
static inline void fieldset_unrefp(struct fieldset **fieldset)
{
	fieldset_unref(*fieldset);
}

/* Only on sets that are not shared yet. An empty path is nothing. */
void fieldset_insert(struct fieldset *fieldset, struct fieldset_el *const *path, size_t count);
/* For sets that are built level by level. Appends an element, in any order, each once; what is below
 * it (NULL: nothing) becomes its own. Not if it would be neither a member nor have something below. */
void fieldset_append(struct fieldset *fieldset, struct fieldset_el *element, bool member,
		     struct fieldset *sub);
/* Then puts the appended elements in order. */
void fieldset_sort(struct fieldset *fieldset);
/* NULL when the element is missing. */
const struct fieldset_node *fieldset_find(const struct fieldset *fieldset,
					  const struct fieldset_el *element);
bool fieldset_empty(const struct fieldset *fieldset);

/* Operations return a reference of the caller's, which may be to one of the arguments: do not
 * insert into it. Arguments are not consumed and must not be NULL. */
struct fieldset *fieldset_union(struct fieldset *left, struct fieldset *right);
struct fieldset *fieldset_intersection(struct fieldset *left, struct fieldset *right);
/* Members of `left` that are not members of `right`. */
struct fieldset *fieldset_difference(struct fieldset *left, struct fieldset *right);
/* The same, and without what is below the members of `right`. */
struct fieldset *fieldset_without(struct fieldset *left, struct fieldset *right);

/* Each member, those of a level before those below it. */
typedef void (*fieldset_each_fn)(void *ctx, struct fieldset_el *const *path, size_t count);
void fieldset_each(const struct fieldset *fieldset, fieldset_each_fn fn, void *ctx);
void fieldset_path_text(struct strbuf *out, struct fieldset_el *const *path, size_t count);
