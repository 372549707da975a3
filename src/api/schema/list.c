/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks that lists of type set and map have no duplicates, and that embedded objects have apiVersion
 * and kind. */
#include "api/schema/list_priv.h"

#include <string.h>

#include "api/schema/node_priv.h"
#include "api/schema/path_priv.h"
#include "api/tree.h"

struct lists {
	struct strbuf path;
	struct api_errors *errs;
};

static void visit_node(struct lists *lists, const struct schema_node *node, const json_t *value);

static void report_duplicate(struct lists *lists, size_t index, const json_t *val)
{
	CLEANUP(strbuf_done) struct strbuf value = STRBUF_INIT;
	size_t at = lists->path.n;
	schema_path_index(&lists->path, index);
	api_fielderr_value(&value, val);
	api_errors_add(lists->errs, API_FIELD_DUPLICATE, lists->path.s, value.s, "");
	schema_path_cut(&lists->path, at);
}

/* What identifies an item: itself in a set, its keys in a map. A new reference. */
static json_t *identity_of(const struct schema_node *node, const json_t *item)
{
	if (node->list == SCHEMA_LIST_SET)
		return json_incref(api_tree(item));
	json_t *keys = json_object();
	for (size_t i = 0; i < node->map_keys.n; i++) {
		json_t *v = json_object_get(item, node->map_keys.v[i]);
		if (v != NULL)
			json_object_set(keys, node->map_keys.v[i], v);
	}
	return keys;
}

/* Reports each value that occurs more than once, at its second occurrence. */
static void find_twice(struct lists *lists, const struct schema_node *node, const json_t *list)
{
	struct map seen;
	size_t i;
	json_t *item;
	if (json_array_size(list) < 2)
		return;
	map_init(&seen);
	json_array_foreach (list, i, item) {
		static char once, told;
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
		json_t *id = identity_of(node, item);
		api_fielderr_value(&text, id);
		/* 1 and 1.0 are different values to the server; so are they as texts. */
		strbuf_addc(&text, json_is_real(id) ? 'r' : 'x');
		const void *was = map_get(&seen, strbuf_slice(&text));
		if (was == &once)
			report_duplicate(lists, i, id);
		map_set(&seen, strbuf_slice(&text), was == NULL ? &once : &told);
		json_decref(id);
	}
	map_done(&seen);
}

/* The first item that cannot have keys; false when there is none. */
static bool has_non_object(struct lists *lists, const json_t *list)
{
	size_t i, at = lists->path.n;
	json_t *item;
	json_array_foreach (list, i, item) {
		CLEANUP(strbuf_done) struct strbuf value = STRBUF_INIT;
		if (json_is_object(item) || json_is_null(item))
			continue;
		schema_path_index(&lists->path, i);
		api_fielderr_value(&value, item);
		api_errors_add(lists->errs, API_FIELD_INVALID, lists->path.s, value.s,
			       "must be an object for an array of list-type map");
		schema_path_cut(&lists->path, at);
		return true;
	}
	return false;
}

static void visit_array(struct lists *lists, const struct schema_node *node, const json_t *value)
{
	size_t i, at = lists->path.n;
	json_t *item;
	if (node->list == SCHEMA_LIST_SET ||
	    (node->list == SCHEMA_LIST_MAP && !has_non_object(lists, value)))
		find_twice(lists, node, value);
	if (node->items == NULL || !node->items->any_lists)
		return;
	json_array_foreach (value, i, item) {
		schema_path_index(&lists->path, i);
		visit_node(lists, node->items, item);
		schema_path_cut(&lists->path, at);
	}
}

static void visit_property(struct lists *lists, const struct schema_member *member,
			   const json_t *object)
{
	const json_t *value = json_object_getn(object, member->key, member->key_n);
	size_t at = lists->path.n;
	if (value == NULL)
		return;
	schema_path_child(&lists->path, member->key);
	visit_node(lists, member->node, value);
	schema_path_cut(&lists->path, at);
}

/* Errors are in the order of the object's members. */
static void visit_members(struct lists *lists, const struct schema_node *node, const json_t *object)
{
	size_t at = lists->path.n;
	const char *key;
	json_t *value;
	json_object_foreach (api_tree(object), key, value) {
		const struct schema_node *own = schema_node_property(node, key);
		const struct schema_node *member = own != NULL ? own : node->additional;
		if (member == NULL || !member->any_lists)
			continue;
		if (own != NULL)
			schema_path_child(&lists->path, key);
		else
			schema_path_key(&lists->path, key);
		visit_node(lists, member, value);
		schema_path_cut(&lists->path, at);
	}
}

static void visit_object(struct lists *lists, const struct schema_node *node, const json_t *object)
{
	if ((node->additional == NULL || !node->additional->any_lists) && node->with_lists.n == 1)
		visit_property(lists, &node->with_lists.v[0], object);
	else
		visit_members(lists, node, object);
}

static void visit_node(struct lists *lists, const struct schema_node *node, const json_t *value)
{
	if (node == NULL || !node->any_lists)
		return;
	if (json_is_array(value))
		visit_array(lists, node, value);
	else if (json_is_object(value))
		visit_object(lists, node, value);
}

void schema_validate_lists(const struct api_schema *schema, const json_t *object,
			   struct api_errors *errs)
{
	struct lists l = { STRBUF_INIT, errs };
	visit_node(&l, schema->root, object);
	strbuf_done(&l.path);
}

/* ---- objects inside objects ---- */

static void check_word(struct lists *lists, const json_t *object, const char *key)
{
	CLEANUP(strbuf_done) struct strbuf value = STRBUF_INIT;
	const json_t *v = json_object_get(object, key);
	size_t at = lists->path.n;
	schema_path_child(&lists->path, key);
	api_fielderr_value(&value, v);
	if (v == NULL)
		api_errors_add(lists->errs, API_FIELD_REQUIRED, lists->path.s, NULL, "");
	else if (!json_is_string(v))
		api_errors_add(lists->errs, API_FIELD_INVALID, lists->path.s, value.s,
			       "must be a string");
	else if (json_string_length(v) == 0)
		api_errors_add(lists->errs, API_FIELD_INVALID, lists->path.s, value.s,
			       "must not be empty");
	schema_path_cut(&lists->path, at);
}

static void visit_embedded(struct lists *lists, const struct schema_node *node, const json_t *val)
{
	size_t at = lists->path.n, i;
	const char *key;
	json_t *value;
	if (node == NULL || !node->any_embedded)
		return;
	if (node->embedded && json_is_object(val)) {
		check_word(lists, val, "apiVersion");
		check_word(lists, val, "kind");
	}
	json_object_foreach (api_tree(val), key, value) {
		const struct schema_node *p = schema_node_property(node, key);
		if (p != NULL)
			schema_path_child(&lists->path, key);
		else
			schema_path_key(&lists->path, key);
		visit_embedded(lists, p != NULL ? p : node->additional, value);
		schema_path_cut(&lists->path, at);
	}
	json_array_foreach (val, i, value) {
		schema_path_index(&lists->path, i);
		visit_embedded(lists, node->items, value);
		schema_path_cut(&lists->path, at);
	}
}

void schema_validate_embedded(const struct api_schema *schema, const json_t *object,
			      struct api_errors *errs)
{
	struct lists l = { STRBUF_INIT, errs };
	visit_embedded(&l, schema->root, object);
	strbuf_done(&l.path);
}
