/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks a value against its schema before server-side apply merges it: types, undeclared fields,
 * duplicate list items, and the limits on fields and depth. The messages are the API server's. */
#include "api/apply/schema_check_priv.h"

#include <assert.h>

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
	const struct managed_atom *list;
	const json_t *item;
	size_t at;
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

/* The element of an item that has one. */
static struct fieldset_el *make_item_element(const struct managed_atom *list, const json_t *item,
					     size_t at)
{
	CLEANUP(strbuf_done) struct strbuf why = STRBUF_INIT;
	struct fieldset_el *element = NULL;
	if (list->list_atomic)
		return fieldset_el_index((json_int_t)at);
	int r = managed_item_element(list, item, &element, &why);
	assert(r == 0 && element != NULL);
	return element;
}

static void add_item_text(struct strbuf *out, const struct step *step)
{
	struct fieldset_el *element = make_item_element(step->list, step->item, step->at);
	fieldset_el_text(out, element);
	fieldset_el_unref(element);
}

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
			add_item_text(&error, step);
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

static bool fits_scalar(enum managed_scalar want, const json_t *value)
{
	switch (want) {
	case MANAGED_SCALAR_NUMBER:
		return json_is_number(value);
	case MANAGED_SCALAR_STRING:
		return json_is_string(value);
	case MANAGED_SCALAR_BOOLEAN:
		return json_is_boolean(value);
	case MANAGED_SCALAR_ANY:
		return !json_is_object(value) && !json_is_array(value);
	case MANAGED_SCALAR_NONE:
		break;
	}
	return true;
}

static void check_scalar(struct checker *checker, enum managed_scalar want, const json_t *value)
{
	if (fits_scalar(want, value))
		return;
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	if (want == MANAGED_SCALAR_NUMBER) {
		strbuf_addf(&b, "expected numeric (int or float), got %s",
			    fieldset_go_type(value, "<nil>"));
		add_error(checker, &b);
	} else if (want == MANAGED_SCALAR_STRING) {
		strbuf_adds(&b, "expected string, got &value.valueUnstructured{Value:");
		fieldset_go_syntax(&b, value);
		strbuf_addc(&b, '}');
		add_error(checker, &b);
	} else {
		add_type_error(checker, want == MANAGED_SCALAR_BOOLEAN ? "boolean" : "any scalar",
			       value);
	}
}

static void check_value(struct checker *checker, struct managed_type type, const json_t *value);

static void add_item_error(struct checker *checker, const struct managed_atom *atom,
			   const json_t *item, size_t at)
{
	CLEANUP(strbuf_done) struct strbuf why = STRBUF_INIT, error = STRBUF_INIT;
	struct fieldset_el *none = NULL;
	int r = managed_item_element(atom, item, &none, &why);
	assert(r < 0);
	strbuf_addf(&error, "element %zu: %s", at, why.s);
	add_error(checker, &error);
}

static void check_duplicate(struct checker *checker, struct fieldset *seen,
			    struct fieldset_el *element)
{
	if (fieldset_find(seen, element) != NULL) {
		CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
		strbuf_adds(&b, "duplicate entries for key ");
		fieldset_el_text(&b, element);
		add_error(checker, &b);
	}
	fieldset_insert(seen, &element, 1);
}

static void check_list(struct checker *checker, const struct managed_atom *atom, const json_t *list)
{
	size_t i;
	json_t *item;
	struct fieldset *seen =
		atom->list_atomic || checker->allow_duplicates ? NULL : fieldset_new();
	json_array_foreach (list, i, item) {
		if (!atom->list_atomic && !managed_item_has_element(atom, item)) {
			add_item_error(checker, atom, item, i);
			break; /* the rest of the list cannot be checked */
		}
		if (seen != NULL) {
			struct fieldset_el *e = make_item_element(atom, item, i);
			check_duplicate(checker, seen, e);
			fieldset_el_unref(e);
		}
		vec_push(&checker->path, (struct step){ .list = atom, .item = item, .at = i });
		check_value(checker, managed_type_items(atom), item);
		checker->path.n--;
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
