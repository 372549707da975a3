/* Lists of type set and map hold nothing twice; objects inside objects say what they are. */
#include <string.h>

#include "api/schema_priv.h"
#include "api/tree.h"

struct lists {
	struct strbuf path;
	struct api_errors *errs;
};

static void visit(struct lists *l, const struct schema_node *n, const json_t *v);

static void twice(struct lists *l, size_t i, const json_t *v)
{
	CLEANUP(strbuf_done) struct strbuf value = STRBUF_INIT;
	size_t at = l->path.n;
	schema_path_index(&l->path, i);
	api_fielderr_value(&value, v);
	api_errors_add(l->errs, API_FIELD_DUPLICATE, l->path.s, value.s, "");
	schema_path_cut(&l->path, at);
}

/* What an item is told apart by: itself in a set, its keys in a map. A new reference. */
static json_t *identity(const struct schema_node *n, const json_t *item)
{
	if (n->list == SCHEMA_LIST_SET)
		return json_incref(api_tree(item));
	json_t *keys = json_object();
	for (size_t i = 0; i < n->map_keys.n; i++) {
		json_t *v = json_object_get(item, n->map_keys.v[i]);
		if (v != NULL)
			json_object_set(keys, n->map_keys.v[i], v);
	}
	return keys;
}

/* Tells each value that stands more than once, at its second place. */
static void find_twice(struct lists *l, const struct schema_node *n, const json_t *list)
{
	struct map seen;
	size_t i;
	json_t *item;
	map_init(&seen);
	json_array_foreach (list, i, item) {
		static char once, told;
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
		json_t *id = identity(n, item);
		api_fielderr_value(&text, id);
		/* 1 and 1.0 are different values to the server; so are they as texts. */
		strbuf_addc(&text, json_is_real(id) ? 'r' : 'x');
		const void *was = map_get(&seen, strbuf_slice(&text));
		if (was == &once)
			twice(l, i, id);
		map_set(&seen, strbuf_slice(&text), was == NULL ? &once : &told);
		json_decref(id);
	}
	map_done(&seen);
}

/* The first item that cannot have keys; false when there is none. */
static bool has_non_object(struct lists *l, const json_t *list)
{
	size_t i, at = l->path.n;
	json_t *item;
	json_array_foreach (list, i, item) {
		CLEANUP(strbuf_done) struct strbuf value = STRBUF_INIT;
		if (json_is_object(item) || json_is_null(item))
			continue;
		schema_path_index(&l->path, i);
		api_fielderr_value(&value, item);
		api_errors_add(l->errs, API_FIELD_INVALID, l->path.s, value.s,
			       "must be an object for an array of list-type map");
		schema_path_cut(&l->path, at);
		return true;
	}
	return false;
}

static void visit_array(struct lists *l, const struct schema_node *n, const json_t *v)
{
	size_t i, at = l->path.n;
	json_t *item;
	if (n->list == SCHEMA_LIST_SET || (n->list == SCHEMA_LIST_MAP && !has_non_object(l, v)))
		find_twice(l, n, v);
	json_array_foreach (v, i, item) {
		schema_path_index(&l->path, i);
		visit(l, n->items, item);
		schema_path_cut(&l->path, at);
	}
}

static void visit_object(struct lists *l, const struct schema_node *n, const json_t *v)
{
	size_t at = l->path.n;
	const char *key;
	json_t *value;
	json_object_foreach (api_tree(v), key, value) {
		const struct schema_node *p = schema_property(n, key);
		if (p != NULL)
			schema_path_child(&l->path, key);
		else
			schema_path_key(&l->path, key);
		visit(l, p != NULL ? p : n->additional, value);
		schema_path_cut(&l->path, at);
	}
}

static void visit(struct lists *l, const struct schema_node *n, const json_t *v)
{
	if (n == NULL)
		return;
	if (json_is_array(v))
		visit_array(l, n, v);
	else if (json_is_object(v))
		visit_object(l, n, v);
}

void schema_validate_lists(const struct api_schema *s, const json_t *o, struct api_errors *errs)
{
	struct lists l = { STRBUF_INIT, errs };
	visit(&l, s->root, o);
	strbuf_done(&l.path);
}

/* ---- objects inside objects ---- */

static void check_word(struct lists *l, const json_t *o, const char *key)
{
	CLEANUP(strbuf_done) struct strbuf value = STRBUF_INIT;
	const json_t *v = json_object_get(o, key);
	size_t at = l->path.n;
	schema_path_child(&l->path, key);
	api_fielderr_value(&value, v);
	if (v == NULL)
		api_errors_add(l->errs, API_FIELD_REQUIRED, l->path.s, NULL, "");
	else if (!json_is_string(v))
		api_errors_add(l->errs, API_FIELD_INVALID, l->path.s, value.s, "must be a string");
	else if (json_string_length(v) == 0)
		api_errors_add(l->errs, API_FIELD_INVALID, l->path.s, value.s, "must not be empty");
	schema_path_cut(&l->path, at);
}

static void visit_embedded(struct lists *l, const struct schema_node *n, const json_t *v)
{
	size_t at = l->path.n, i;
	const char *key;
	json_t *value;
	if (n == NULL)
		return;
	if (n->embedded && json_is_object(v)) {
		check_word(l, v, "apiVersion");
		check_word(l, v, "kind");
	}
	json_object_foreach (api_tree(v), key, value) {
		const struct schema_node *p = schema_property(n, key);
		if (p != NULL)
			schema_path_child(&l->path, key);
		else
			schema_path_key(&l->path, key);
		visit_embedded(l, p != NULL ? p : n->additional, value);
		schema_path_cut(&l->path, at);
	}
	json_array_foreach (v, i, value) {
		schema_path_index(&l->path, i);
		visit_embedded(l, n->items, value);
		schema_path_cut(&l->path, at);
	}
}

void schema_validate_embedded(const struct api_schema *s, const json_t *o, struct api_errors *errs)
{
	struct lists l = { STRBUF_INIT, errs };
	visit_embedded(&l, s->root, o);
	strbuf_done(&l.path);
}
