/* The set of fields of a value, and sets seen through a schema. */
#include "api/managed_priv.h"
#include "api/tree.h"

struct collecting {
	struct managed_path path;
	struct fieldset *set;
};

static void collect(struct collecting *c, struct managed_type t, const json_t *v);

static void here(struct collecting *c)
{
	fieldset_insert(c->set, c->path.v, c->path.n);
}

/* Items that are there twice are one member, with nothing below. */
static void collect_list(struct collecting *c, const struct managed_atom *a, const json_t *list)
{
	struct managed_items items;
	managed_items_init(&items, a, list);
	for (size_t i = 0; i < items.n; i++) {
		const struct managed_item *it = items.sorted[i];
		managed_path_push(&c->path, it->el);
		if (!it->twice)
			collect(c, managed_type_items(a), it->v);
		here(c);
		managed_path_pop(&c->path);
	}
	managed_items_done(&items);
}

static void collect_map(struct collecting *c, const struct managed_atom *a, const json_t *map)
{
	struct managed_names names;
	managed_names_init(&names, map, NULL);
	for (size_t i = 0; i < names.n; i++) {
		struct managed_type t;
		const json_t *v = json_object_get(map, names.v[i]);
		bool named = managed_type_field(a, names.v[i], &t, NULL);
		bool empty = json_is_null(v) || (json_is_object(v) && json_object_size(v) == 0);
		managed_path_push_name(&c->path, names.v[i]);
		collect(c, t, v);
		if (empty || !named)
			here(c);
		managed_path_pop(&c->path);
	}
	managed_names_done(&names);
}

static void collect(struct collecting *c, struct managed_type t, const json_t *v)
{
	struct managed_atom a = managed_type_deduce(managed_type_resolve(t), v);
	if (a.map && a.map_atomic)
		here(c);
	else if (a.map)
		collect_map(c, &a, json_is_object(v) ? v : NULL);
	else if (a.scalar != MANAGED_SCALAR_NONE || (a.list && a.list_atomic))
		here(c);
	else if (a.list)
		collect_list(c, &a, json_is_array(v) ? v : NULL);
}

struct fieldset *managed_fields(struct managed_type t, const json_t *v)
{
	struct collecting c = { .set = fieldset_new() };
	collect(&c, t, v);
	managed_path_done(&c.path);
	return c.set;
}

/* The type of what an element stands for; false: it has no name in the schema. */
static bool type_below(const struct managed_atom *a, const struct fieldset_el *e,
		       struct managed_type *ret)
{
	*ret = (struct managed_type){ .is = MANAGED_NONE };
	if (e->type == FIELDSET_NAME && a->map)
		return managed_type_field(a, e->name, ret, NULL);
	if (e->type == FIELDSET_KEY && a->list)
		*ret = managed_type_items(a);
	return false;
}

struct fieldset *managed_fields_named(struct managed_type t, struct fieldset *s)
{
	struct managed_atom a = managed_type_resolve(t);
	struct fieldset *out = fieldset_new();
	for (size_t i = 0; i < s->n; i++) {
		const struct fieldset_node *node = &s->v[i];
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

static void settle_below(struct settling *w, const struct managed_atom *a, const struct fieldset *s)
{
	for (size_t i = 0; s != NULL && i < s->n; i++) {
		struct managed_type t;
		if (a->map)
			managed_type_field(
				a, s->v[i].el->type == FIELDSET_NAME ? s->v[i].el->name : "", &t,
				NULL);
		else
			t = managed_type_items(a);
		if (t.is == MANAGED_NONE)
			continue;
		managed_path_push(&w->path, s->v[i].el);
		settle(w, t, &s->v[i]);
		managed_path_pop(&w->path);
	}
}

static void settle(struct settling *w, struct managed_type t, const struct fieldset_node *node)
{
	struct managed_atom a = managed_type_resolve(t);
	if (a.map && managed_type_is_free_map(&a))
		return;
	if (!a.map && (a.scalar != MANAGED_SCALAR_NONE || !a.list))
		return;
	if (a.map ? a.map_atomic : a.list_atomic) {
		if (node->sub != NULL)
			fieldset_insert(w->atomic, w->path.v, w->path.n);
		return;
	}
	settle_below(w, &a, node->sub);
}

struct fieldset *managed_fields_settle(struct managed_type t, struct fieldset *s)
{
	struct settling w = { .atomic = fieldset_new() };
	struct fieldset_node root = { .sub = s };
	settle(&w, t, &root);
	struct fieldset *rest = fieldset_without(s, w.atomic);
	struct fieldset *out = fieldset_union(rest, w.atomic);
	fieldset_unref(rest);
	fieldset_unref(w.atomic);
	managed_path_done(&w.path);
	return out;
}
