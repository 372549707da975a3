/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Types of places in an object, as its schema describes them.
 *
 *	type	what a schema says of a place; cheap, by value, borrows from the schema
 *	atom	a resolved type: which of scalar, list and map a value there may be
 *	named	a field that the schema names, in contrast to a member of a map
 *
 * A list is atomic (one value), a set (of scalars) or a map (items by keys); a map is atomic or
 * granular. Where the schema says nothing the value decides: maps granular, lists atomic. */
#pragma once

#include <stdbool.h>

#include <jansson.h>

enum managed_kind {
	MANAGED_NONE,	 /* nothing may be there */
	MANAGED_SCHEMA,	 /* as `schema` says */
	MANAGED_ROOT,	 /* the same, and it is a whole object with metadata */
	MANAGED_TEXT,	 /* apiVersion, kind */
	MANAGED_DEDUCED, /* by the value */
	MANAGED_UNTYPED, /* one value, whatever is in it */
};

struct managed_type {
	enum managed_kind kind;
	bool preserve; /* unknown fields, here and below */
	const json_t *schema;
	const struct managed_facts *facts; /* of the schema, if remembered for good; else NULL */
};

enum managed_scalar {
	MANAGED_SCALAR_NONE,
	MANAGED_SCALAR_NUMBER,
	MANAGED_SCALAR_STRING,
	MANAGED_SCALAR_BOOLEAN,
	MANAGED_SCALAR_ANY,
};

struct managed_atom {
	enum managed_scalar scalar;
	bool list, map; /* may be one */
	bool list_atomic, map_atomic;
	const json_t *keys; /* of a list of type map; NULL: a set */
	struct managed_type type;
};

/* Between these what was read from schemas is remembered, for this thread: schemas must stay as they
 * are. `for_good`: for later writes, too, since the schemas are never freed. */
void managed_type_memo_begin(bool for_good);
void managed_type_memo_end(void);

/* NULL: everything is deduced. */
struct managed_type managed_type_root(const json_t *schema);
struct managed_atom managed_type_resolve(struct managed_type type);
/* What the value makes of it; NULL and null leave it as it is. */
struct managed_atom managed_type_deduce(struct managed_atom atom, const json_t *value);
/* The type of a member; false: it is not a named field. `ret_default` may be NULL. */
bool managed_type_field(const struct managed_atom *atom, const char *key, struct managed_type *ret,
			const json_t **ret_default);
struct managed_type managed_type_items(const struct managed_atom *atom);
bool managed_type_same_shape(const struct managed_atom *left, const struct managed_atom *right);
/* Does it say no more than that anything may be in the map? */
bool managed_type_is_untyped_map(const struct managed_atom *atom);
