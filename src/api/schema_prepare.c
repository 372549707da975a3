/* What the server does to an object before it looks at it: prune, drop nulls, put defaults in. */
#include <string.h>

#include "api/schema_priv.h"
#include "api/tree.h"

struct schema_node *schema_property(const struct schema_node *n, const char *key)
{
	return map_get(&n->properties, slice_of(key));
}

const struct schema_node *schema_member(const struct schema_node *n, const char *key)
{
	const struct schema_node *p = n != NULL ? schema_property(n, key) : NULL;
	return p != NULL || n == NULL ? p : n->additional;
}

static bool is_meta(const char *key)
{
	return strcmp(key, "apiVersion") == 0 || strcmp(key, "kind") == 0 ||
	       strcmp(key, "metadata") == 0;
}

static void prune(const struct schema_node *n, json_t *v, bool resource);

static void prune_object(const struct schema_node *n, json_t *v, bool resource)
{
	const char *key;
	json_t *value;
	void *next;
	json_object_foreach_safe(v, next, key, value)
	{
		const struct schema_node *m = schema_member(n, key);
		if (resource && is_meta(key))
			continue;
		if (m != NULL)
			prune(m, value, m->embedded);
		else if (n == NULL || !n->preserve)
			json_object_del(v, key);
	}
}

/* What is kept whole is still pruned below the fields that are described. A list that is kept
 * passes this on to its items. */
static void prune_kept_items(const struct schema_node *n, json_t *v)
{
	size_t i;
	json_t *item;
	json_array_foreach (v, i, item) {
		if (json_is_object(item) && n != NULL) {
			struct schema_node kept = *n;
			kept.preserve = true;
			prune_object(&kept, item, n->embedded);
		} else if (json_is_array(item) && n != NULL) {
			prune_kept_items(n->items, item);
		}
	}
}

static void prune(const struct schema_node *n, json_t *v, bool resource)
{
	size_t i;
	json_t *item;
	if (json_is_object(v)) {
		prune_object(n, v, resource);
	} else if (json_is_array(v) && n != NULL && n->preserve) {
		prune_kept_items(n->items, v);
	} else if (json_is_array(v)) {
		const struct schema_node *items = n != NULL ? n->items : NULL;
		json_array_foreach (v, i, item)
			prune(items, item, items != NULL && items->embedded);
	}
}

static bool may_not_be_null(const struct schema_node *n, const json_t *v)
{
	return json_is_null(v) && n != NULL && !n->nullable;
}

static void prune_nulls(const struct schema_node *n, json_t *v)
{
	const char *key;
	json_t *value;
	void *next;
	size_t i;
	json_object_foreach_safe(v, next, key, value)
	{
		const struct schema_node *m = schema_member(n, key);
		if (may_not_be_null(m, value) && m->default_value == NULL)
			json_object_del(v, key);
		else
			prune_nulls(m, value);
	}
	json_array_foreach (v, i, value)
		prune_nulls(n != NULL ? n->items : NULL, value);
}

static json_t *default_of(const struct schema_node *n)
{
	return n->default_value != NULL ? json_deep_copy(n->default_value) : json_null();
}

static void put_defaults(const struct schema_node *n, json_t *v);

static void put_defaults_object(const struct schema_node *n, json_t *v)
{
	const char *key;
	json_t *value;
	size_t pos = 0;
	for (const struct map_entry *e; (e = map_next(&n->properties, &pos)) != NULL;) {
		const struct schema_node *p = e->value;
		const json_t *old = json_object_get(v, e->key);
		if (p->default_value != NULL && (old == NULL || may_not_be_null(p, old)))
			json_object_set_new(v, e->key, default_of(p));
	}
	json_object_foreach (v, key, value) {
		const struct schema_node *m = schema_member(n, key);
		if (m != NULL && m == n->additional && may_not_be_null(m, value)) {
			value = default_of(m);
			json_object_set_new(v, key, value);
		}
		put_defaults(m, value);
	}
}

static void put_defaults(const struct schema_node *n, json_t *v)
{
	size_t i;
	json_t *item;
	if (n == NULL)
		return;
	if (json_is_object(v)) {
		put_defaults_object(n, v);
		return;
	}
	json_array_foreach (v, i, item) {
		if (may_not_be_null(n->items, item)) {
			item = default_of(n->items);
			json_array_set_new(v, i, item);
		}
		put_defaults(n->items, item);
	}
}

void api_schema_prepare(const struct api_schema *s, json_t *o)
{
	prune(s->root, o, true);
	prune_nulls(s->root, o);
	put_defaults(s->root, o);
}

void api_schema_prepare_applied(const struct api_schema *s, json_t *o)
{
	prune(s->root, o, true);
	put_defaults(s->root, o);
}
