/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The set of fields of a value, and sets of fields as a schema sees them. */
#include "api/apply/fields_priv.h"

#include <stdlib.h>
#include <string.h>

#include "api/apply/item_priv.h"
#include "api/apply/walk_path_priv.h"
#include "api/tree.h"
#include "base/mem.h"
#include "base/vec.h"

struct collector {
	struct managed_path path;
	struct fieldset *set;
};

static void collect_value(struct collector *collector, struct managed_type type,
			  const json_t *value);

static void add_path(struct collector *collector)
{
	fieldset_insert(collector->set, collector->path.v, collector->path.n);
}

/* Items that are there twice are one member, with nothing below. */
static void collect_list(struct collector *collector, const struct managed_atom *atom,
			 const json_t *list)
{
	struct managed_items items;
	managed_items_init(&items, atom, list);
	for (size_t i = 0; i < items.n; i++) {
		const struct managed_item *it = items.sorted[i];
		managed_path_push(&collector->path, it->el);
		if (!it->twice)
			collect_value(collector, managed_type_items(atom), it->value);
		add_path(collector);
		managed_path_pop(&collector->path);
	}
	managed_items_done(&items);
}

static int by_text(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* The names of an object's members in the order of fieldsets, in which they are appended fastest; free
 * the list. */
static const char **sorted_names(const json_t *object)
{
	const char *name, **names = xcalloc(json_object_size(object) + 1, sizeof(*names));
	json_t *value;
	size_t n = 0;
	json_object_foreach (api_tree(object), name, value)
		names[n++] = name;
	qsort(names, n, sizeof(*names), by_text);
	return names;
}

static void collect_member(struct collector *collector, const struct managed_atom *atom,
			   const char *name, const json_t *value)
{
	struct managed_type type;
	const bool named = managed_type_field(atom, name, &type, NULL);
	const bool empty =
		json_is_null(value) || (json_is_object(value) && json_object_size(value) == 0);
	managed_path_push_name(&collector->path, name);
	collect_value(collector, type, value);
	if (empty || !named)
		add_path(collector);
	managed_path_pop(&collector->path);
}

static void collect_map(struct collector *collector, const struct managed_atom *atom,
			const json_t *map)
{
	CLEANUP(freep) const char **names = sorted_names(map);
	for (size_t i = 0; i < json_object_size(map); i++)
		collect_member(collector, atom, names[i], json_object_get(map, names[i]));
}

static void collect_value(struct collector *collector, struct managed_type type,
			  const json_t *value)
{
	struct managed_atom a = managed_type_deduce(managed_type_resolve(type), value);
	if (a.map && a.map_atomic)
		add_path(collector);
	else if (a.map)
		collect_map(collector, &a, json_is_object(value) ? value : NULL);
	else if (a.scalar != MANAGED_SCALAR_NONE || (a.list && a.list_atomic))
		add_path(collector);
	else if (a.list)
		collect_list(collector, &a, json_is_array(value) ? value : NULL);
}

struct fieldset *managed_fields(struct managed_type type, const json_t *value)
{
	struct collector c = { .set = fieldset_new() };
	collect_value(&c, type, value);
	managed_path_done(&c.path);
	return c.set;
}

/* The type of what an element stands for; false: it has no name in the schema. */
static bool type_below(const struct managed_atom *atom, const struct fieldset_el *element,
		       struct managed_type *ret)
{
	*ret = (struct managed_type){ .kind = MANAGED_NONE };
	if (element->type == FIELDSET_NAME && atom->map)
		return managed_type_field(atom, element->name, ret, NULL);
	if (element->type == FIELDSET_KEY && atom->list)
		*ret = managed_type_items(atom);
	return false;
}

struct fieldset *managed_fields_named(struct managed_type type, struct fieldset *fieldset)
{
	struct managed_atom a = managed_type_resolve(type);
	struct fieldset *out = fieldset_new();
	for (size_t i = 0; i < fieldset->n; i++) {
		const struct fieldset_node *node = &fieldset->v[i];
		struct managed_type below;
		bool named = type_below(&a, node->el, &below);
		vec_push(out,
			 (struct fieldset_node){
				 .el = fieldset_el_ref(node->el),
				 .sub = node->sub != NULL ? managed_fields_named(below, node->sub)
							  : NULL,
				 .member = node->member || (named && node->sub != NULL),
			 });
	}
	return out;
}

/* ---- schemas that changed ---- */

struct reconciler {
	struct managed_path path;
	struct fieldset *atomic; /* owned in parts, and one value now */
};

static void reconcile_node(struct reconciler *reconciler, struct managed_type type,
			   const struct fieldset_node *node);

static void reconcile_below(struct reconciler *reconciler, const struct managed_atom *atom,
			    const struct fieldset *fieldset)
{
	for (size_t i = 0; fieldset != NULL && i < fieldset->n; i++) {
		struct managed_type t;
		if (atom->map)
			managed_type_field(atom,
					   fieldset->v[i].el->type == FIELDSET_NAME
						   ? fieldset->v[i].el->name
						   : "",
					   &t, NULL);
		else
			t = managed_type_items(atom);
		if (t.kind == MANAGED_NONE)
			continue;
		managed_path_push(&reconciler->path, fieldset->v[i].el);
		reconcile_node(reconciler, t, &fieldset->v[i]);
		managed_path_pop(&reconciler->path);
	}
}

static void reconcile_node(struct reconciler *reconciler, struct managed_type type,
			   const struct fieldset_node *node)
{
	struct managed_atom a = managed_type_resolve(type);
	if (a.map && managed_type_is_untyped_map(&a))
		return;
	if (!a.map && (a.scalar != MANAGED_SCALAR_NONE || !a.list))
		return;
	if (a.map ? a.map_atomic : a.list_atomic) {
		if (node->sub != NULL)
			fieldset_insert(reconciler->atomic, reconciler->path.v, reconciler->path.n);
		return;
	}
	reconcile_below(reconciler, &a, node->sub);
}

struct fieldset *managed_fields_reconcile(struct managed_type type, struct fieldset *fieldset)
{
	struct reconciler w = { .atomic = fieldset_new() };
	struct fieldset_node root = { .sub = fieldset };
	reconcile_node(&w, type, &root);
	struct fieldset *rest = fieldset_without(fieldset, w.atomic);
	struct fieldset *out = fieldset_union(rest, w.atomic);
	fieldset_unref(rest);
	fieldset_unref(w.atomic);
	managed_path_done(&w.path);
	return out;
}
