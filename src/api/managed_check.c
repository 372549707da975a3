/* Does a value fit its schema well enough to be merged? The sentences are the server's. */
#include <string.h>

#include "api/managed_priv.h"
#include "api/tree.h"
#include "base/err.h"
#include "base/mem.h"

enum { ERRORS_MAX = 100 };

struct checking {
	bool allow_twice;
	bool atomic; /* inside of what is one field, whatever is in it */
	unsigned depth;
	size_t fields;
	struct strbuf path;
	VEC(char *) errors;
	int limit; /* 0 or ERR_LIMIT */
};

static void complain(struct checking *c, const struct strbuf *text)
{
	if (c->errors.n < ERRORS_MAX)
		vec_push(&c->errors, c->path.n > 0 ? xasprintf("%s: %s", c->path.s, text->s)
						   : xstrdup(text->s));
}

/* "expected boolean, got &{5}" */
static void expected(struct checking *c, const char *what, const json_t *v)
{
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	strbuf_addf(&b, "expected %s, got &{", what);
	fieldset_go_value(&b, v);
	strbuf_addc(&b, '}');
	complain(c, &b);
}

static void check_scalar(struct checking *c, enum managed_scalar want, const json_t *v)
{
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	switch (want) {
	case MANAGED_SCALAR_NUMBER:
		if (!json_is_number(v)) {
			strbuf_addf(&b, "expected numeric (int or float), got %s",
				    fieldset_go_type(v, "<nil>"));
			complain(c, &b);
		}
		break;
	case MANAGED_SCALAR_STRING:
		if (!json_is_string(v)) {
			strbuf_adds(&b, "expected string, got &value.valueUnstructured{Value:");
			fieldset_go_syntax(&b, v);
			strbuf_addc(&b, '}');
			complain(c, &b);
		}
		break;
	case MANAGED_SCALAR_BOOLEAN:
		if (!json_is_boolean(v))
			expected(c, "boolean", v);
		break;
	case MANAGED_SCALAR_ANY:
		if (json_is_object(v) || json_is_array(v))
			expected(c, "any scalar", v);
		break;
	case MANAGED_SCALAR_NONE:
		break;
	}
}

static void check(struct checking *c, struct managed_type t, const json_t *v);

/* False: what follows in the list cannot be looked at. */
static bool item_element(struct checking *c, const struct managed_atom *a, const json_t *item,
			 size_t at, struct fieldset_el **ret)
{
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	if (a->list_atomic) {
		*ret = fieldset_el_index((json_int_t)at);
		return true;
	}
	strbuf_addf(&b, "element %zu: ", at);
	if (managed_type_item(a, item, ret, &b) == 0)
		return true;
	complain(c, &b);
	return false;
}

static void check_list(struct checking *c, const struct managed_atom *a, const json_t *list)
{
	size_t i, cut = c->path.n;
	json_t *item;
	struct fieldset *seen = fieldset_new();
	json_array_foreach (list, i, item) {
		struct fieldset_el *e = NULL;
		if (!item_element(c, a, item, i, &e))
			break;
		if (!a->list_atomic && !c->allow_twice && fieldset_find(seen, e) != NULL) {
			CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
			strbuf_adds(&b, "duplicate entries for key ");
			fieldset_el_text(&b, e);
			complain(c, &b);
		}
		if (!a->list_atomic && !c->allow_twice)
			fieldset_insert(seen, &e, 1);
		fieldset_el_text(&c->path, e);
		check(c, managed_type_items(a), item);
		c->path.n = cut;
		c->path.s[cut] = '\0';
		fieldset_el_unref(e);
	}
	fieldset_unref(seen);
}

static void check_map(struct checking *c, const struct managed_atom *a, const json_t *map)
{
	size_t cut = c->path.n;
	const char *k;
	json_t *v;
	json_object_foreach (api_tree(map), k, v) {
		struct managed_type t;
		managed_type_field(a, k, &t, NULL);
		strbuf_addf(&c->path, ".%s", k);
		if (t.is == MANAGED_NONE) {
			CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
			strbuf_adds(&b, "field not declared in schema");
			complain(c, &b);
		} else {
			check(c, t, v);
		}
		c->path.n = cut;
		c->path.s[cut] = '\0';
		if (t.is == MANAGED_NONE)
			return;
	}
}

static void check(struct checking *c, struct managed_type t, const json_t *v)
{
	struct managed_atom a = managed_type_deduce(managed_type_resolve(t), v);
	bool atomic = c->atomic;
	c->fields += !atomic;
	if (c->fields > API_MANAGED_FIELDS_MAX || c->depth >= API_MANAGED_DEPTH_MAX)
		c->limit = ERR_LIMIT;
	if (c->limit < 0 || json_is_null(v))
		return;
	c->depth++;
	c->atomic = atomic || (a.map && a.map_atomic) || (a.list && a.list_atomic && !a.map);
	if (a.map) {
		if (json_is_object(v))
			check_map(c, &a, v);
		else
			expected(c, "map", v);
	} else if (a.scalar != MANAGED_SCALAR_NONE) {
		check_scalar(c, a.scalar, v);
	} else if (json_is_array(v)) {
		check_list(c, &a, v);
	} else {
		expected(c, "list", v);
	}
	c->depth--;
	c->atomic = atomic;
}

int managed_check(struct managed_type t, const json_t *v, bool allow_twice, struct strbuf *err)
{
	struct checking c = { .allow_twice = allow_twice, .path = STRBUF_INIT };
	check(&c, t, v);
	if (c.errors.n == 1)
		strbuf_adds(err, c.errors.v[0]);
	else if (c.errors.n > 1)
		strbuf_adds(err, "errors:");
	for (size_t i = 0; i < c.errors.n; i++) {
		if (c.errors.n > 1)
			strbuf_addf(err, "\n  %s", c.errors.v[i]);
		free(c.errors.v[i]);
	}
	int r = c.limit < 0 ? c.limit : c.errors.n > 0 ? ERR_TYPE : 0;
	if (c.limit < 0) {
		strbuf_reset(err);
		strbuf_addf(err, "the object has more than %d fields or is nested deeper than %d",
			    API_MANAGED_FIELDS_MAX, API_MANAGED_DEPTH_MAX);
	}
	vec_done(&c.errors);
	strbuf_done(&c.path);
	return r;
}
