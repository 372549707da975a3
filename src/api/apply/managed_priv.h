/* Inside of server-side apply: objects by their schema.
 *
 *	type	what a schema says of a place; cheap, by value, borrows from the schema
 *	atom	a type with the question answered what a value there may be: scalar, list, map
 *	named	a field that the schema names, against a member of a map
 *
 * A list is atomic (one value), a set (of scalars) or a map (items by keys); a map is atomic or
 * granular. Where the schema says nothing the value decides: maps granular, lists atomic. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "api/fields/fieldset.h"
#include "api/apply/managed.h"
#include "base/strbuf.h"
#include "base/vec.h"

/* ---- type.c ---- */

enum managed_type_is {
	MANAGED_NONE,	 /* nothing may be there */
	MANAGED_SCHEMA,	 /* as `s` says */
	MANAGED_ROOT,	 /* the same, and it is a whole object with metadata */
	MANAGED_TEXT,	 /* apiVersion, kind */
	MANAGED_DEDUCED, /* by the value */
	MANAGED_UNTYPED, /* one value, whatever is in it */
};

struct managed_type {
	enum managed_type_is is;
	bool preserve; /* unknown fields, here and below */
	const json_t *s;
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

/* NULL: everything is deduced. */
struct managed_type managed_type_root(const json_t *schema);
struct managed_atom managed_type_resolve(struct managed_type type);
/* What the value makes of it; NULL and null leave it as it is. */
struct managed_atom managed_type_deduce(struct managed_atom atom, const json_t *value);
/* The type of a member; false: it is not a named field. `ret_default` may be NULL. */
bool managed_type_field(const struct managed_atom *atom, const char *key, struct managed_type *ret,
			const json_t **ret_default);
struct managed_type managed_type_items(const struct managed_atom *atom);
bool managed_type_same(const struct managed_atom *left, const struct managed_atom *right);
/* Does it say no more than that anything may be in the map? */
bool managed_type_is_free_map(const struct managed_atom *atom);

/* The element that stands for an item of a set or map; ERR_PARSE with a sentence. */
MUST_CHECK int managed_type_item(const struct managed_atom *list, const json_t *item,
				 struct fieldset_el **ret, struct strbuf *err);

/* Items of a list with their elements, in the list's order, and an index sorted by element. */
struct managed_item {
	struct fieldset_el *el;
	const json_t *v;
	size_t at;
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

/* ---- paths while walking ---- */

struct managed_path {
	struct fieldset_el **v;
	size_t n, cap;
};
void managed_path_push(struct managed_path *path, struct fieldset_el *element);
void managed_path_push_name(struct managed_path *path, const char *name);
void managed_path_pop(struct managed_path *path);
void managed_path_done(struct managed_path *path);

/* Names of one or two objects, sorted, each once. */
struct managed_names {
	const char **v;
	size_t n;
};
void managed_names_init(struct managed_names *managed_names, const json_t *left,
			const json_t *right);
void managed_names_done(struct managed_names *names);

/* ---- check.c ---- */

/* Does the value fit the type? 0; ERR_TYPE with the server's sentence; ERR_LIMIT. */
MUST_CHECK int managed_check(struct managed_type type, const json_t *value, bool allow_twice,
			     struct strbuf *err);

/* ---- fields.c ---- */

/* All that is in a value: leaves, items and members of maps. */
struct fieldset *managed_fields(struct managed_type type, const json_t *value);
/* Fields with something below become members, where the schema names them. */
struct fieldset *managed_fields_named(struct managed_type type, struct fieldset *fieldset);
/* As the schema has it now: what became atomic is owned as one. */
struct fieldset *managed_fields_settle(struct managed_type type, struct fieldset *fieldset);

/* ---- compare.c ---- */

struct managed_change {
	struct fieldset *removed, *modified, *added;
};
void managed_compare(struct managed_type type, const json_t *from, const json_t *to,
		     struct managed_change *ret);
void managed_change_done(struct managed_change *change);
/* Without what is in `fields` or below; NULL for nothing. */
void managed_change_without(struct managed_change *change, struct fieldset *fields);
/* Numbers by their value. */
bool managed_equal(const json_t *left, const json_t *right);

/* ---- merge.c ---- */

/* `config` laid over `live`; nothing goes. A new reference that shares parts with both. */
json_t *managed_merge(struct managed_type type, const json_t *live, const json_t *config);
/* Without the items and fields of the set; what gets empty is null. */
json_t *managed_remove(struct managed_type type, const json_t *value, struct fieldset *set);

/* ---- entry.c ---- */

/* One writer's entry. */
struct managed_entry {
	char *id; /* names, operation, version and subresource as one text, by which it is found */
	char *manager, *api_version, *subresource;
	bool applied;
	int64_t time_s; /* 0: none */
	struct fieldset *set;
};
struct managed_entries {
	struct managed_entry *v;
	size_t n, cap;
};
void managed_entries_done(struct managed_entries *entries);
void managed_entries_copy(struct managed_entries *to, const struct managed_entries *from);
/* ERR_PARSE, ERR_LIMIT. */
MUST_CHECK int managed_entries_read(struct managed_entries *entries, const json_t *managed_fields);
/* Sorted; NULL when there are none. */
json_t *managed_entries_write(const struct managed_entries *entries);
struct managed_entry *managed_entries_find(struct managed_entries *entries, const char *id);
/* The entry of that id; made if need be. */
struct managed_entry *managed_entries_add(struct managed_entries *entries,
					  const struct managed_entry *like);
void managed_entries_del(struct managed_entries *entries, size_t index);
void managed_entry_set(struct managed_entry *entry, struct fieldset *set); /* takes it */
/* More updaters than ten: the oldest become one. */
void managed_entries_cap(struct managed_entries *entries);

/* ---- conflict.c ---- */

void managed_conflicts_add(struct api_conflicts *conflicts, const struct managed_entry *entry,
			   struct fieldset *set);
/* ---- write.c ---- */

/* One write. `from` is the object before it, without managedFields. */
struct managed_write {
	const struct api_managed_write *w;
	struct managed_type type;
	struct fieldset *reset; /* NULL: nothing */
	json_t *from;
	bool create;
	int64_t now_s;
};
void managed_write_init(struct managed_write *write, const struct api_managed_write *managed_write);
void managed_write_done(struct managed_write *write);
bool managed_write_knows(const struct api_managed_write *write, const char *version);
/* Entries in versions that are gone go; what became atomic is owned as one. */
void managed_write_settle(const struct managed_write *write, struct managed_entries *entries);

/* A comparison, as this version sees it and as others do: what this write cannot change counts only
 * for the latter. */
struct managed_changes {
	struct managed_change own, others;
};
void managed_changes_init(const struct managed_write *write, const json_t *to,
			  struct managed_changes *changes);
void managed_changes_done(struct managed_changes *changes);

/* What a write would take from others: entries by their place. */
struct managed_taking {
	struct {
		size_t at;
		struct fieldset *set;
	} * v;
	size_t n, cap;
};
void managed_taking_done(struct managed_taking *taking);
/* What others own of what changed; `self` (NULL: nobody) is not asked. */
void managed_write_conflicts(const struct managed_write *write, struct managed_entries *entries,
			     const char *self, const struct managed_changes *changes,
			     struct managed_taking *ret);
/* Takes it from them, and what was removed too. Who owns nothing any more goes. */
void managed_write_take(const struct managed_write *write, struct managed_entries *entries,
			const char *self, const struct managed_changes *changes,
			const struct managed_taking *taking);
/* The writer's own entry, made if need be. */
struct managed_entry *managed_write_self(const struct managed_write *write,
					 struct managed_entries *entries, const char *manager,
					 bool applied);
/* Gives what changed between x->from and `to` to an updater. */
void managed_write_update(const struct managed_write *write, struct managed_entries *entries,
			  const json_t *to, const char *manager);

/* Replaces a set by what an operation makes of it and another. */
void managed_set_change(struct fieldset **fieldset,
			struct fieldset *(*op)(struct fieldset *, struct fieldset *),
			struct fieldset *with);
/* Nobody owns what says which object it is, and what the server counts. */
struct fieldset *managed_set_strip(struct fieldset *fieldset);

/* managedFields of an object; NULL. */
const json_t *managed_write_fields(const json_t *object);
/* The object without them: a shallow copy. */
json_t *managed_write_without(const json_t *object);
/* A tree of its own with these managedFields, which may be NULL; takes them. */
json_t *managed_write_finish(const json_t *object, json_t *managed);

/* ---- applied.c: what client-side apply left ---- */

/* Fields that kubectl's annotation says it set and that are still so; NULL: there is none, or it
 * cannot be read. */
struct fieldset *managed_applied_fields(struct managed_type type, const char *api_version,
					const json_t *live);
/* Brings the annotation up to date where there is one. */
void managed_applied_set(json_t *object, const json_t *config);
