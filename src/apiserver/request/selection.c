/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Label and field selectors of lists and watches: parsing, the server's messages for invalid ones,
 * and matching. */
#include "apiserver/request/selection.h"

#include <assert.h>
#include <string.h>

#include "api/json_text.h"
#include "api/meta.h"
#include "api/tree.h"
#include "apiserver/request/selector_error.h"
#include "apiserver/store/key.h"
#include "base/err_text.h"
#include "base/text/charset.h"

enum { NAME_MAX_BYTES = 253 };

static bool is_known_field(const struct apiserver_resource *resource, const char *field)
{
	if (strcmp(field, "metadata.name") == 0 ||
	    (strcmp(field, "metadata.namespace") == 0 && resource->kind->namespaced))
		return true;
	for (const char *const *f = resource->fields; f != NULL && *f != NULL; f++) {
		if (strcmp(*f, field) == 0)
			return true;
	}
	return false;
}

/* The server compares fields of Go structs, in which a missing boolean is false. */
static bool is_boolean_field(const struct apiserver_resource *resource, const char *field)
{
	struct slice rest = slice_of(field);
	const json_t *schema = resource->openapi;
	while (rest.p != NULL) {
		struct slice part = slice_cut(&rest, '.');
		schema = json_object_getn(json_object_get(schema, "properties"), part.p, part.n);
	}
	return strcmp(api_text(json_object_get(schema, "type")), "boolean") == 0;
}

static int refuse_unknown_field(const struct apiserver_resource *resource, const char *field,
				struct apiserver_status *status)
{
	bool own = !resource->built_in || (resource->fields != NULL && resource->fields[0] != NULL);
	if (own)
		return apiserver_status_bad_request(status, "field label not supported: %s", field);
	return apiserver_status_bad_request(
		status,
		"\"%s\" is not a known field selector: only \"metadata.name\", "
		"\"metadata.namespace\"",
		field);
}

/* Up to the next `stop` that is not escaped. */
static struct slice cut_unescaped(struct slice *rest, char stop)
{
	size_t n = 0;
	while (n < rest->n && rest->p[n] != stop)
		n += rest->p[n] == '\\' ? 2 : 1;
	n = MIN(n, rest->n);
	struct slice part = { rest->p, n };
	*rest = n < rest->n ? slice_from(*rest, n + 1) : (struct slice){ 0 };
	return part;
}

static int check_value(struct slice value, struct apiserver_status *status)
{
	for (size_t i = 0; i < value.n; i++) {
		if (value.p[i] == '=' || value.p[i] == ',')
			return apiserver_status_bad_request(
				status,
				"invalid field selector: unescaped character "
				"in value: %d",
				value.p[i]);
		if (value.p[i] != '\\')
			continue;
		if (i + 1 == value.n || !charset_has("\\,=", value.p[i + 1]))
			return apiserver_status_bad_request(
				status, "invalid field selector: invalid escape sequence: \\%.*s",
				i + 1 < value.n, value.p + i + 1);
		i++;
	}
	return 0;
}

/* Refuses a field selector with the server's message for its first invalid term. */
static int refuse_field_selector(const char *text, struct apiserver_status *status)
{
	struct slice rest = slice_of(text);
	while (rest.p != NULL) {
		struct slice term = cut_unescaped(&rest, ','), value = term;
		(void)cut_unescaped(&value, '=');
		if (term.n != 0 && value.p == NULL)
			return apiserver_status_bad_request(
				status, "invalid selector: '%s'; can't understand '%.*s'", text,
				(int)term.n, term.p);
		if (value.n != 0 && value.p[0] == '=')
			value = slice_from(value, 1); /* `==` */
		if (check_value(value, status) < 0)
			return ERR_DENIED;
	}
	return apiserver_status_bad_request(status, "invalid selector: '%s'", text);
}

static int check_label_syntax(const char *label, struct apiserver_status *status)
{
	CLEANUP(strbuf_done) struct strbuf why = STRBUF_INIT;
	return apiserver_selector_error(label, &why)
		       ? apiserver_status_bad_request(status, "%s", why.s)
		       : 0;
}

int apiserver_selection_check_syntax(const char *label, const char *field,
				     struct apiserver_status *status)
{
	struct arena arena;
	struct api_selector parsed;
	char err[256];
	int e = check_label_syntax(label, status);
	if (e < 0 || field[0] == '\0')
		return e;
	arena_init(&arena);
	if (api_field_selector_parse(slice_of(field), &arena, &parsed, ERR_TEXT(err)) < 0)
		e = refuse_field_selector(field, status);
	arena_done(&arena);
	return e;
}

static int parse_fields(const struct apiserver_resource *resource, const char *text,
			struct apiserver_selection *ret, struct apiserver_status *status)
{
	char err[256];
	if (api_field_selector_parse(slice_of(text), &ret->arena, &ret->field, ERR_TEXT(err)) < 0)
		return refuse_field_selector(text, status);
	for (size_t i = 0; i < ret->field.n; i++) {
		struct api_selector_term *t = &ret->field.term[i];
		if (!is_known_field(resource, t->key))
			return refuse_unknown_field(resource, t->key, status);
		if (resource->built_in && is_boolean_field(resource, t->key))
			t->absent = "false";
		if (strcmp(t->key, "metadata.name") == 0 && t->op == API_SEL_IN)
			ret->name = t->value[0];
	}
	return 0;
}

int apiserver_selection_parse(const struct apiserver_resource *resource, const char *label,
			      const char *field, struct apiserver_selection *ret,
			      struct apiserver_status *status)
{
	char err[256];
	*ret = (struct apiserver_selection){ 0 };
	arena_init(&ret->arena);
	if (check_label_syntax(label, status) < 0)
		return ERR_DENIED;
	if (api_label_selector_parse(slice_of(label), &ret->arena, &ret->label, ERR_TEXT(err)) < 0)
		return apiserver_status_bad_request(status, "unable to parse requirement: %s", err);
	int e = parse_fields(resource, field, ret, status);
	ret->all = ret->label.n == 0 && ret->field.n == 0;
	ret->by_name = ret->label.n == 0 && ret->field.n == 1 && ret->name != NULL;
	return e;
}

void apiserver_selection_done(struct apiserver_selection *selection)
{
	arena_done(&selection->arena);
}

bool apiserver_selection_match(const struct apiserver_selection *selection, const json_t *object)
{
	return selection->all ||
	       (api_label_selector_match(&selection->label, api_get(object, "metadata.labels")) &&
		api_field_selector_match(&selection->field, object));
}

bool apiserver_selection_match_text(const struct apiserver_selection *selection, struct slice text)
{
	struct slice labels;
	json_t *tree = NULL;
	assert(selection->field.n == 0);
	if (api_json_member(text, "metadata", "labels", &labels))
		tree = api_json_load(labels, 0, NULL);
	bool matches = api_label_selector_match(&selection->label, tree);
	json_decref(tree);
	return matches;
}

void apiserver_selection_prefix(const struct apiserver_selection *selection,
				const struct apiserver_resource *resource, const char *ns,
				struct strbuf *out)
{
	/* A longer name matches nothing and is too long for a key. */
	bool known = selection->name != NULL && strlen(selection->name) <= NAME_MAX_BYTES &&
		     (ns != NULL || !resource->kind->namespaced);
	apiserver_key(out, resource->stored->kind, ns, known ? selection->name : NULL);
}
