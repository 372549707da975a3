/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks a value against its schema before server-side apply merges it: types, undeclared fields,
 * duplicate list items, and the limits on fields and depth. The messages are the API server's. */
#include "api/apply/schema_check_priv.h"

#include <string.h>

#include "api/apply/item_priv.h"
#include "api/apply/managed.h"
#include "api/tree.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/vec.h"

enum { ERRORS_MAX = 100 };

/* Into a member of a map, or an item of a list; borrowed. */
struct step {
	const char *name; /* NULL: an item */
	const struct fieldset_el *item;
};

struct checker {
	bool allow_duplicates;
	bool atomic; /* inside of what is one field, whatever is in it */
	unsigned depth;
	size_t fields;
	VEC(struct step) path; /* becomes text only for an error */
	VEC(char *) errors;
	int limit; /* 0 or ERR_LIMIT */
};

static void add_error(struct checker *checker, const struct strbuf *text)
{
	CLEANUP(strbuf_done) struct strbuf error = STRBUF_INIT;
	if (checker->errors.n >= ERRORS_MAX)
		return;
	for (size_t i = 0; i < checker->path.n; i++) {
		const struct step *step = &checker->path.v[i];
		if (step->name != NULL)
			strbuf_addf(&error, ".%s", step->name);
		else
			fieldset_el_text(&error, step->item);
	}
	strbuf_addf(&error, "%s%s", checker->path.n > 0 ? ": " : "", text->s);
	vec_push(&checker->errors, strbuf_take(&error));
}

/* "expected boolean, got &{5}" */
static void add_type_error(struct checker *checker, const char *what, const json_t *value)
{
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	strbuf_addf(&b, "expected %s, got &{", what);
	fieldset_go_value(&b, value);
	strbuf_addc(&b, '}');
	add_error(checker, &b);
}

static void check_scalar(struct checker *checker, enum managed_scalar want, const json_t *value)
{
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	switch (want) {
	case MANAGED_SCALAR_NUMBER:
		if (!json_is_number(value)) {
			strbuf_addf(&b, "expected numeric (int or float), got %s",
				    fieldset_go_type(value, "<nil>"));
			add_error(checker, &b);
		}
		break;
	case MANAGED_SCALAR_STRING:
		if (!json_is_string(value)) {
			strbuf_adds(&b, "expected string, got &value.valueUnstructured{Value:");
			fieldset_go_syntax(&b, value);
			strbuf_addc(&b, '}');
			add_error(checker, &b);
		}
		break;
	case MANAGED_SCALAR_BOOLEAN:
		if (!json_is_boolean(value))
			add_type_error(checker, "boolean", value);
		break;
	case MANAGED_SCALAR_ANY:
		if (json_is_object(value) || json_is_array(value))
			add_type_error(checker, "any scalar", value);
		break;
	case MANAGED_SCALAR_NONE:
		break;
	}
}

static void check_value(struct checker *checker, struct managed_type type, const json_t *value);

/* False: the rest of the list cannot be checked. */
static bool identify_item(struct checker *checker, const struct managed_atom *atom,
			  const json_t *item, size_t at, struct fieldset_el **ret)
{
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	if (atom->list_atomic) {
		*ret = fieldset_el_index((json_int_t)at);
		return true;
	}
	if (managed_item_element(atom, item, ret, &b) == 0)
		return true;
	CLEANUP(strbuf_done) struct strbuf error = STRBUF_INIT;
	strbuf_addf(&error, "element %zu: %s", at, b.s);
	add_error(checker, &error);
	return false;
}

static void check_list(struct checker *checker, const struct managed_atom *atom, const json_t *list)
{
	size_t i;
	json_t *item;
	struct fieldset *seen = fieldset_new();
	json_array_foreach (list, i, item) {
		struct fieldset_el *e = NULL;
		if (!identify_item(checker, atom, item, i, &e))
			break;
		if (!atom->list_atomic && !checker->allow_duplicates &&
		    fieldset_find(seen, e) != NULL) {
			CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
			strbuf_adds(&b, "duplicate entries for key ");
			fieldset_el_text(&b, e);
			add_error(checker, &b);
		}
		if (!atom->list_atomic && !checker->allow_duplicates)
			fieldset_insert(seen, &e, 1);
		vec_push(&checker->path, (struct step){ .item = e });
		check_value(checker, managed_type_items(atom), item);
		checker->path.n--;
		fieldset_el_unref(e);
	}
	fieldset_unref(seen);
}

static void check_map(struct checker *checker, const struct managed_atom *atom, const json_t *map)
{
	const char *k;
	json_t *v;
	json_object_foreach (api_tree(map), k, v) {
		struct managed_type t;
		managed_type_field(atom, k, &t, NULL);
		vec_push(&checker->path, (struct step){ .name = k });
		if (t.kind == MANAGED_NONE) {
			CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
			strbuf_adds(&b, "field not declared in schema");
			add_error(checker, &b);
		} else {
			check_value(checker, t, v);
		}
		checker->path.n--;
		if (t.kind == MANAGED_NONE)
			return;
	}
}

static void check_value(struct checker *checker, struct managed_type type, const json_t *value)
{
	struct managed_atom a = managed_type_deduce(managed_type_resolve(type), value);
	bool atomic = checker->atomic;
	checker->fields += !atomic;
	if (checker->fields > API_MANAGED_FIELDS_MAX || checker->depth >= API_MANAGED_DEPTH_MAX)
		checker->limit = ERR_LIMIT;
	if (checker->limit < 0 || json_is_null(value))
		return;
	checker->depth++;
	checker->atomic = atomic || (a.map && a.map_atomic) || (a.list && a.list_atomic && !a.map);
	if (a.map) {
		if (json_is_object(value))
			check_map(checker, &a, value);
		else
			add_type_error(checker, "map", value);
	} else if (a.scalar != MANAGED_SCALAR_NONE) {
		check_scalar(checker, a.scalar, value);
	} else if (json_is_array(value)) {
		check_list(checker, &a, value);
	} else {
		add_type_error(checker, "list", value);
	}
	checker->depth--;
	checker->atomic = atomic;
}

int managed_schema_check(struct managed_type type, const json_t *value, bool allow_duplicates,
			 struct strbuf *err)
{
	struct checker c = { .allow_duplicates = allow_duplicates };
	check_value(&c, type, value);
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
	vec_done(&c.path);
	return r;
}
