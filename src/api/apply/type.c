/* What a schema says of a place, as server-side apply sees it. */
#include <stdlib.h>
#include <string.h>

#include "api/apply/managed_priv.h"
#include "api/patch/strategic.h"
#include "api/tree.h"
#include "base/err.h"
#include "base/mem.h"

static const char *word(const json_t *s, const char *key)
{
	return api_text(json_object_get(s, key));
}

static struct managed_type of_schema(const json_t *s, bool preserve)
{
	if (json_is_true(json_object_get(s, "x-kubernetes-preserve-unknown-fields")))
		preserve = true;
	bool whole = json_is_true(json_object_get(s, "x-kubernetes-embedded-resource"));
	return (struct managed_type){ whole ? MANAGED_ROOT : MANAGED_SCHEMA, preserve, s };
}

struct managed_type managed_type_root(const json_t *schema)
{
	if (schema == NULL)
		return (struct managed_type){ .is = MANAGED_DEDUCED };
	struct managed_type t = of_schema(schema, false);
	t.is = MANAGED_ROOT;
	return t;
}

static enum managed_scalar scalar_of(const char *type, const char *format)
{
	if (strcmp(type, "integer") == 0 || strcmp(type, "number") == 0)
		return MANAGED_SCALAR_NUMBER;
	if (strcmp(type, "boolean") == 0)
		return MANAGED_SCALAR_BOOLEAN;
	if (strcmp(type, "string") == 0 && (format[0] == '\0' || strcmp(format, "byte") == 0))
		return MANAGED_SCALAR_STRING;
	return MANAGED_SCALAR_ANY;
}

/* A list is as its own words say, else as the older ones of strategic patches do. */
static void resolve_list(struct managed_atom *atom, const json_t *s)
{
	const char *type = word(s, "x-kubernetes-list-type");
	const char *strategy = word(s, "x-kubernetes-patch-strategy");
	atom->list = true;
	atom->list_atomic = true;
	if (strcmp(type, "set") == 0) {
		atom->list_atomic = false;
	} else if (strcmp(type, "map") == 0) {
		atom->list_atomic = false;
		atom->keys = json_object_get(s, "x-kubernetes-list-map-keys");
	} else if (type[0] == '\0' && strncmp(strategy, "merge", strlen("merge")) == 0) {
		atom->list_atomic = false;
		atom->keys = json_object_get(s, "x-kubernetes-patch-merge-key");
	}
}

static void resolve_schema(struct managed_atom *atom, const json_t *s)
{
	const char *type = word(s, "type");
	bool any = type[0] == '\0';
	if (strcmp(word(json_object_get(s, "x-go"), "type"), "resource.Quantity") == 0) {
		atom->scalar = MANAGED_SCALAR_ANY;
		return;
	}
	if (any || strcmp(type, "object") == 0) {
		atom->map = true;
		atom->map_atomic = strcmp(word(s, "x-kubernetes-map-type"), "atomic") == 0;
	}
	if (any || strcmp(type, "array") == 0)
		resolve_list(atom, s);
	if (any)
		atom->scalar = MANAGED_SCALAR_ANY;
	else if (!atom->map && !atom->list)
		atom->scalar = scalar_of(type, word(s, "format"));
}

struct managed_atom managed_type_resolve(struct managed_type type)
{
	struct managed_atom a = { .type = type };
	switch (type.is) {
	case MANAGED_NONE:
		break;
	case MANAGED_SCHEMA:
	case MANAGED_ROOT:
		resolve_schema(&a, type.s);
		break;
	case MANAGED_TEXT:
		a.scalar = MANAGED_SCALAR_STRING;
		break;
	case MANAGED_DEDUCED:
	case MANAGED_UNTYPED:
		a.scalar = MANAGED_SCALAR_ANY;
		a.list = a.map = a.list_atomic = true;
		a.map_atomic = type.is == MANAGED_UNTYPED;
		break;
	}
	return a;
}

struct managed_atom managed_type_deduce(struct managed_atom atom, const json_t *value)
{
	if (json_is_object(value) && atom.map) {
		atom.scalar = MANAGED_SCALAR_NONE;
		atom.list = false;
	} else if (json_is_array(value) && atom.list) {
		atom.scalar = MANAGED_SCALAR_NONE;
		atom.map = false;
	} else if ((json_is_string(value) || json_is_number(value) || json_is_boolean(value)) &&
		   atom.scalar != MANAGED_SCALAR_NONE) {
		atom.list = atom.map = false;
	}
	return atom;
}

bool managed_type_same(const struct managed_atom *left, const struct managed_atom *right)
{
	return left->scalar == right->scalar && left->list == right->list &&
	       left->map == right->map;
}

/* What is not named: the schema of all others, else free where nothing is named or all is kept. */
static struct managed_type element_type(const struct managed_type *type)
{
	const json_t *more = json_object_get(type->s, "additionalProperties");
	bool named = json_object_size(json_object_get(type->s, "properties")) > 0 ||
		     type->is == MANAGED_ROOT;
	if (json_is_object(more))
		return of_schema(more, type->preserve);
	if (json_is_true(more) || (more == NULL && (type->preserve || !named)))
		return (struct managed_type){ .is = MANAGED_DEDUCED };
	return (struct managed_type){ .is = MANAGED_NONE };
}

bool managed_type_field(const struct managed_atom *atom, const char *key, struct managed_type *ret,
			const json_t **ret_default)
{
	const struct managed_type *t = &atom->type;
	if (ret_default != NULL)
		*ret_default = NULL;
	if (t->is == MANAGED_DEDUCED || t->is == MANAGED_UNTYPED) {
		*ret = *t;
		return false;
	}
	if (t->is == MANAGED_ROOT && strcmp(key, "metadata") == 0) {
		*ret = of_schema(api_metadata_schema(), false);
		return true;
	}
	if (t->is == MANAGED_ROOT && (strcmp(key, "apiVersion") == 0 || strcmp(key, "kind") == 0)) {
		*ret = (struct managed_type){ .is = MANAGED_TEXT };
		return true;
	}
	const json_t *s = json_object_get(json_object_get(t->s, "properties"), key);
	if (s == NULL) {
		*ret = element_type(t);
		return false;
	}
	*ret = of_schema(s, t->preserve);
	if (ret_default != NULL)
		*ret_default = json_object_get(s, "default");
	return true;
}

struct managed_type managed_type_items(const struct managed_atom *atom)
{
	const json_t *items = json_object_get(atom->type.s, "items");
	if (!json_is_object(items))
		return (struct managed_type){ .is = MANAGED_UNTYPED };
	return of_schema(items, atom->type.preserve);
}

bool managed_type_is_free_map(const struct managed_atom *atom)
{
	if (atom->type.is == MANAGED_DEDUCED || atom->type.is == MANAGED_UNTYPED)
		return true;
	if (atom->type.is != MANAGED_SCHEMA ||
	    json_object_size(json_object_get(atom->type.s, "properties")) > 0)
		return false;
	struct managed_type t = element_type(&atom->type);
	return t.is == MANAGED_DEDUCED ||
	       (t.is == MANAGED_SCHEMA && managed_type_resolve(t).scalar == MANAGED_SCALAR_ANY);
}

/* ---- items of lists ---- */

/* One key of an item, defaulted if the item does not say it; left out when there is none. Threads
 * share the schema: its default is copied, not referred to. */
static void add_key(json_t *keys, const struct managed_atom *items, const json_t *item,
		    const char *name)
{
	struct managed_type t;
	const json_t *fallback = NULL;
	const json_t *v = json_object_get(item, name);
	if (v != NULL)
		json_object_set(keys, name, api_tree(v));
	else if (items->map && managed_type_field(items, name, &t, &fallback) && fallback != NULL)
		json_object_set_new(keys, name, json_deep_copy(fallback));
}

static void quote_keys(struct strbuf *err, const json_t *keys)
{
	size_t i;
	json_t *k;
	strbuf_addc(err, '[');
	json_array_foreach (keys, i, k) {
		strbuf_adds(err, i > 0 ? " " : "");
		strbuf_add_quoted(err, slice_of(api_text(k)));
	}
	strbuf_addc(err, ']');
}

static int keyed_item(const struct managed_atom *list, const json_t *item, struct fieldset_el **ret,
		      struct strbuf *err)
{
	size_t i;
	json_t *k;
	struct managed_atom items = managed_type_resolve(managed_type_items(list));
	json_t *one = json_is_string(list->keys) ? json_pack("[s]", api_text(list->keys)) : NULL;
	const json_t *names = one != NULL ? one : list->keys;
	json_t *keys = json_object();
	int r = 0;
	json_array_foreach (names, i, k) {
		if (json_is_string(k))
			add_key(keys, &items, item, api_text(k));
	}
	if (json_object_size(keys) == 0) {
		strbuf_adds(err, "associative list with keys has an element that omits all key "
				 "fields ");
		quote_keys(err, names);
		strbuf_adds(err, " (and doesn't have default values for any key fields)");
		r = ERR_PARSE;
	} else {
		*ret = fieldset_el_key(keys);
	}
	json_decref(keys);
	json_decref(one);
	return r;
}

int managed_type_item(const struct managed_atom *list, const json_t *item, struct fieldset_el **ret,
		      struct strbuf *err)
{
	const char *wrong = NULL;
	if (list->keys != NULL && json_is_null(item))
		wrong = "associative list with keys may not have a null element";
	else if (list->keys != NULL && !json_is_object(item))
		wrong = "associative list with keys may not have non-map elements";
	else if (list->keys != NULL)
		return keyed_item(list, item, ret, err);
	else if (json_is_object(item))
		wrong = "associative list without keys has an element that's a map type";
	else if (json_is_array(item))
		wrong = "not supported: associative list with lists as elements";
	else if (json_is_null(item))
		wrong = "associative list without keys has an element that's an explicit null";
	if (wrong != NULL) {
		strbuf_adds(err, wrong);
		return ERR_PARSE;
	}
	*ret = fieldset_el_value(item);
	return 0;
}

static int by_element(const void *left, const void *right)
{
	const struct managed_item *x = *(struct managed_item *const *)left;
	const struct managed_item *y = *(struct managed_item *const *)right;
	int c = fieldset_el_cmp(x->el, y->el);
	return c != 0 ? c : (x->at > y->at) - (x->at < y->at);
}

void managed_items_init(struct managed_items *items, const struct managed_atom *atom,
			const json_t *list)
{
	CLEANUP(strbuf_done) struct strbuf err = STRBUF_INIT;
	size_t i;
	json_t *item;
	*items = (struct managed_items){ 0 };
	items->v = xcalloc(json_array_size(list) + 1, sizeof(*items->v));
	items->sorted = xcalloc(json_array_size(list) + 1, sizeof(struct managed_item *));
	json_array_foreach (list, i, item) {
		struct managed_item *it = &items->v[items->n];
		if (managed_type_item(atom, item, &it->el, &err) < 0)
			continue;
		it->v = item;
		it->at = i;
		items->sorted[items->n++] = it;
	}
	qsort(items->sorted, items->n, sizeof(struct managed_item *), by_element);
	for (i = 1; i < items->n; i++) {
		if (fieldset_el_cmp(items->sorted[i - 1]->el, items->sorted[i]->el) == 0)
			items->sorted[i - 1]->twice = items->sorted[i]->twice = true;
	}
}

void managed_items_done(struct managed_items *items)
{
	for (size_t i = 0; i < items->n; i++)
		fieldset_el_unref(items->v[i].el);
	free(items->v);
	free(items->sorted);
}

const struct managed_item *managed_items_find(const struct managed_items *items,
					      const struct fieldset_el *element)
{
	size_t lo = 0, hi = items->n;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (fieldset_el_cmp(items->sorted[mid]->el, element) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < items->n && fieldset_el_cmp(items->sorted[lo]->el, element) == 0
		       ? items->sorted[lo]
		       : NULL;
}

/* ---- paths and names ---- */

void managed_path_push(struct managed_path *path, struct fieldset_el *element)
{
	vec_push(path, fieldset_el_ref(element));
}

void managed_path_push_name(struct managed_path *path, const char *name)
{
	vec_push(path, fieldset_el_name(name));
}

void managed_path_pop(struct managed_path *path)
{
	fieldset_el_unref(path->v[--path->n]);
}

void managed_path_done(struct managed_path *path)
{
	while (path->n > 0)
		managed_path_pop(path);
	vec_done(path);
}

static int by_text(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

void managed_names_init(struct managed_names *managed_names, const json_t *left,
			const json_t *right)
{
	const char *k;
	json_t *v;
	size_t n = 0;
	const char **names =
		xcalloc(json_object_size(left) + json_object_size(right) + 1, sizeof(*names));
	json_object_foreach (api_tree(left), k, v)
		names[n++] = k;
	json_object_foreach (api_tree(right), k, v) {
		if (json_object_get(left, k) == NULL)
			names[n++] = k;
	}
	qsort(names, n, sizeof(*names), by_text);
	*managed_names = (struct managed_names){ names, n };
}

void managed_names_done(struct managed_names *names)
{
	free(names->v);
}
