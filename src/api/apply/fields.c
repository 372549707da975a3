/* The set of fields of a value, and sets seen through a schema. */
#include "api/apply/managed_priv.h"
#include "api/tree.h"

struct collecting {
	struct managed_path path;
	struct fieldset *set;
};

static void collect(struct collecting *c, struct managed_type t, const json_t *v);

static void here(struct collecting *collecting)
{
	fieldset_insert(collecting->set, collecting->path.v, collecting->path.n);
}

/* Items that are there twice are one member, with nothing below. */
static void collect_list(struct collecting *collecting, const struct managed_atom *atom,
			 const json_t *list)
{
	struct managed_items items;
	managed_items_init(&items, atom, list);
	for (size_t i = 0; i < items.n; i++) {
		const struct managed_item *it = items.sorted[i];
		managed_path_push(&collecting->path, it->el);
		if (!it->twice)
			collect(collecting, managed_type_items(atom), it->v);
		here(collecting);
		managed_path_pop(&collecting->path);
	}
	managed_items_done(&items);
}

static void collect_map(struct collecting *collecting, const struct managed_atom *atom,
			const json_t *map)
{
	struct managed_names names;
	managed_names_init(&names, map, NULL);
	for (size_t i = 0; i < names.n; i++) {
		struct managed_type t;
		const json_t *v = json_object_get(map, names.v[i]);
		bool named = managed_type_field(atom, names.v[i], &t, NULL);
		bool empty = json_is_null(v) || (json_is_object(v) && json_object_size(v) == 0);
		managed_path_push_name(&collecting->path, names.v[i]);
		collect(collecting, t, v);
		if (empty || !named)
			here(collecting);
		managed_path_pop(&collecting->path);
	}
	managed_names_done(&names);
}

static void collect(struct collecting *collecting, struct managed_type type, const json_t *value)
{
	struct managed_atom a = managed_type_deduce(managed_type_resolve(type), value);
	if (a.map && a.map_atomic)
		here(collecting);
	else if (a.map)
		collect_map(collecting, &a, json_is_object(value) ? value : NULL);
	else if (a.scalar != MANAGED_SCALAR_NONE || (a.list && a.list_atomic))
		here(collecting);
	else if (a.list)
		collect_list(collecting, &a, json_is_array(value) ? value : NULL);
}

struct fieldset *managed_fields(struct managed_type type, const json_t *value)
{
	struct collecting c = { .set = fieldset_new() };
	collect(&c, type, value);
	managed_path_done(&c.path);
	return c.set;
}

/* The type of what an element stands for; false: it has no name in the schema. */
static bool type_below(const struct managed_atom *atom, const struct fieldset_el *element,
		       struct managed_type *ret)
{
	*ret = (struct managed_type){ .is = MANAGED_NONE };
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

struct settling {
	struct managed_path path;
	struct fieldset *atomic; /* owned in parts, and one value now */
};

static void settle(struct settling *w, struct managed_type t, const struct fieldset_node *node);

static void settle_below(struct settling *settling, const struct managed_atom *atom,
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
		if (t.is == MANAGED_NONE)
			continue;
		managed_path_push(&settling->path, fieldset->v[i].el);
		settle(settling, t, &fieldset->v[i]);
		managed_path_pop(&settling->path);
	}
}

static void settle(struct settling *settling, struct managed_type type,
		   const struct fieldset_node *node)
{
	struct managed_atom a = managed_type_resolve(type);
	if (a.map && managed_type_is_free_map(&a))
		return;
	if (!a.map && (a.scalar != MANAGED_SCALAR_NONE || !a.list))
		return;
	if (a.map ? a.map_atomic : a.list_atomic) {
		if (node->sub != NULL)
			fieldset_insert(settling->atomic, settling->path.v, settling->path.n);
		return;
	}
	settle_below(settling, &a, node->sub);
}

struct fieldset *managed_fields_settle(struct managed_type type, struct fieldset *fieldset)
{
	struct settling w = { .atomic = fieldset_new() };
	struct fieldset_node root = { .sub = fieldset };
	settle(&w, type, &root);
	struct fieldset *rest = fieldset_without(fieldset, w.atomic);
	struct fieldset *out = fieldset_union(rest, w.atomic);
	fieldset_unref(rest);
	fieldset_unref(w.atomic);
	managed_path_done(&w.path);
	return out;
}
