/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Strict decoding of bodies: unknown and duplicate fields are found in the text, because a tree has
 * no duplicate keys; values of wrong types are found in the tree (strict_type.c). */
#include "apiserver/codec/strict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "api/openapi_node.h"
#include "api/tree.h"
#include "apiserver/codec/strict_type.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"

/* ---- schemas ---- */

static const json_t *property_of(const json_t *schema, struct slice key)
{
	const json_t *p = json_object_getn(json_object_get(schema, "properties"), key.p, key.n);
	return p != NULL ? p : json_object_get(schema, "additionalProperties");
}

/* Whether the schema allows any field here. */
static bool preserves_unknown(const json_t *schema)
{
	return json_is_true(json_object_get(schema, "x-kubernetes-preserve-unknown-fields"));
}

/* ---- the tree ---- */

static bool has_members(const json_t *value)
{
	return json_is_object(value) || json_is_array(value);
}

/* Does the tree have a field that the text's scan would report? Most have none, and need no scan. The
 * same rules as in scan_value. `stored` is not searched. */
static bool has_unknown_field(const json_t *schema, const json_t *value, const json_t *stored)
{
	const struct api_openapi_node *node = api_openapi_node(schema);
	const char *key;
	json_t *inner;
	size_t i, key_n;
	if (value == stored)
		return false;
	if (node->preserve && node->properties == NULL && node->additional_properties == NULL &&
	    node->items == NULL)
		return false;
	json_object_keylen_foreach(api_tree(value), key, key_n, inner)
	{
		const json_t *member = api_openapi_property(node, key, key_n);
		if (member == NULL)
			member = node->additional_properties;
		if (member == NULL && !node->preserve)
			return true;
		if (member != NULL && has_members(inner) &&
		    has_unknown_field(member, inner, stored))
			return true;
	}
	if (!json_is_array(value) || node->items == NULL)
		return false;
	json_array_foreach (value, i, inner) {
		if (has_members(inner) && has_unknown_field(node->items, inner, stored))
			return true;
	}
	return false;
}

/* ---- the text ---- */

struct scan {
	const char *p, *end;
	struct strbuf path;
	/* Messages. Those of built-in kinds are all in `duplicate`, in the order of the text. */
	VEC(char *) duplicate, unknown;
	bool built_in;
};

static void skip_blanks(struct scan *scan)
{
	while (scan->p < scan->end && ascii_isspace(*scan->p))
		scan->p++;
}

/* The token of a string with its quotes; the text was parsed before, so that it has an end. */
static struct slice string_token(struct scan *scan)
{
	const char *from = scan->p++;
	while (scan->p < scan->end && *scan->p != '"')
		scan->p += *scan->p == '\\' ? 2 : 1;
	scan->p++;
	return (struct slice){ from, (size_t)(scan->p - from) };
}

/* Skips a number, true, false or null: at least one byte, so that callers make progress. */
static void skip_word(struct scan *scan)
{
	static const char ends[] = { ',', ']', '}', ' ', '\t', '\r', '\n' };
	do
		scan->p++;
	while (scan->p < scan->end && memchr(ends, *scan->p, sizeof(ends)) == NULL);
}

/* The text of a string's token; `ret_copy` gets the caller's memory if it has escapes. */
static struct slice unquote_token(struct slice token, char **ret_copy)
{
	if (memchr(token.p, '\\', token.n) == NULL)
		return (struct slice){ token.p + 1, token.n - 2 };
	json_t *v = json_loadb(token.p, token.n, JSON_DECODE_ANY, NULL);
	*ret_copy = xstrdup(api_text(v));
	json_decref(v);
	return slice_of(*ret_copy);
}

static void note_field(struct scan *scan, bool unknown)
{
	char *text = xasprintf("%s field \"%s\"", unknown ? "unknown" : "duplicate", scan->path.s);
	if (unknown && !scan->built_in)
		vec_push(&scan->unknown, text);
	else
		vec_push(&scan->duplicate, text);
}

static void free_lines(char **values, size_t len)
{
	for (size_t i = 0; i < len; i++)
		free(values[i]);
	free(values);
}

static void scan_value(struct scan *scan, const json_t *schema, bool described);

/* Scans one member; `seen` has the keys before it. The inside of a field that a built-in kind does
 * not have is not checked. */
static void scan_member(struct scan *scan, const json_t *schema, bool described, struct map *seen)
{
	CLEANUP(freep) char *copy = NULL;
	struct slice key = unquote_token(string_token(scan), &copy);
	size_t n = scan->path.n;
	const json_t *member = described ? property_of(schema, key) : NULL;
	bool unknown = described && member == NULL && !preserves_unknown(schema);
	bool again = map_set(seen, key, scan) != NULL;
	if (n != 0)
		strbuf_addc(&scan->path, '.');
	strbuf_add_slice(&scan->path, key);
	if (again && !(unknown && scan->built_in))
		note_field(scan, false);
	if (unknown && !again)
		note_field(scan, true);
	skip_blanks(scan);
	scan->p++; /* : */
	if (unknown && scan->built_in) {
		struct scan quiet = { .p = scan->p, .end = scan->end, .path = STRBUF_INIT };
		scan_value(&quiet, NULL, false);
		scan->p = quiet.p;
		strbuf_done(&quiet.path);
		free_lines(quiet.duplicate.v, quiet.duplicate.n);
	} else {
		scan_value(scan, member, member != NULL);
	}
	scan->path.s[scan->path.n = n] = '\0';
}

static void scan_object(struct scan *scan, const json_t *schema, bool described)
{
	struct map seen;
	map_init(&seen);
	scan->p++;
	for (skip_blanks(scan); scan->p < scan->end && *scan->p != '}'; skip_blanks(scan)) {
		if (*scan->p == '"')
			scan_member(scan, schema, described, &seen);
		else
			scan->p++; /* , */
	}
	scan->p++;
	map_done(&seen);
}

static void scan_array(struct scan *scan, const json_t *schema, bool described)
{
	const json_t *items = json_object_get(schema, "items");
	size_t n = scan->path.n, i = 0;
	scan->p++;
	for (skip_blanks(scan); scan->p < scan->end && *scan->p != ']'; skip_blanks(scan)) {
		if (*scan->p == ',') {
			scan->p++;
			continue;
		}
		strbuf_addf(&scan->path, "[%zu]", i++);
		scan_value(scan, items, described && items != NULL);
		if (scan->path.cap != 0)
			scan->path.s[scan->path.n = n] = '\0';
	}
	scan->p++;
}

/* `described`: the schema restricts the fields inside. */
static void scan_value(struct scan *scan, const json_t *schema, bool described)
{
	const json_t *open = json_object_get(schema, "properties");
	bool known = described &&
		     (open != NULL || json_object_get(schema, "additionalProperties") != NULL ||
		      json_object_get(schema, "items") != NULL || !preserves_unknown(schema));
	skip_blanks(scan);
	if (scan->p >= scan->end)
		return;
	if (*scan->p == '{')
		scan_object(scan, schema, known);
	else if (*scan->p == '[')
		scan_array(scan, schema, known);
	else if (*scan->p == '"')
		string_token(scan);
	else
		skip_word(scan);
}

static int compare_lines(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

static bool has_line(const json_t *list, const char *text)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		if (strcmp(api_text(json_array_get(list, i)), text) == 0)
			return true;
	}
	return false;
}

static void add_lines(json_t *out, char *const *values, size_t len)
{
	for (size_t i = 0; i < len && json_array_size(out) < APISERVER_STRICT_LINES_MAX; i++) {
		if (!has_line(out, values[i]))
			json_array_append_new(out, json_string(values[i]));
	}
}

static void scan_text(const struct apiserver_resource *resource, struct slice body,
		      json_t *warnings)
{
	struct scan s = { .p = body.p,
			  .end = body.p + body.n,
			  .path = STRBUF_INIT,
			  .built_in = resource->built_in };
	scan_value(&s, resource->openapi, true);
	if (s.unknown.n != 0)
		qsort(s.unknown.v, s.unknown.n, sizeof(*s.unknown.v), compare_lines);
	add_lines(warnings, s.duplicate.v, s.duplicate.n);
	add_lines(warnings, s.unknown.v, s.unknown.n);
	free_lines(s.duplicate.v, s.duplicate.n);
	free_lines(s.unknown.v, s.unknown.n);
	strbuf_done(&s.path);
}

/* A tree has no duplicate keys: most have nothing to report, and need no text. */
static void report_unknown(const struct apiserver_resource *resource, const json_t *object,
			   const json_t *stored, size_t form, json_t *warnings)
{
	if (!has_unknown_field(resource->openapi, object, stored))
		return;
	CLEANUP(freep) char *json = json_dumps(object, form);
	if (json != NULL)
		scan_text(resource, slice_of(json), warnings);
}

int apiserver_strict_decode(const struct apiserver_resource *resource, struct slice text,
			    const json_t *object, json_t *warnings, struct err_text err)
{
	int code = apiserver_strict_type_check(resource, object, NULL, err);
	if (code == 0 && text.n != 0)
		scan_text(resource, text, warnings);
	else if (code == 0)
		report_unknown(resource, object, NULL, JSON_COMPACT, warnings);
	return code;
}

int apiserver_strict_decode_patched(const struct apiserver_resource *resource, const json_t *object,
				    const json_t *stored, json_t *warnings, struct err_text err)
{
	int code = apiserver_strict_type_check(resource, object, stored, err);
	if (code == 0)
		report_unknown(resource, object, stored, JSON_COMPACT | JSON_SORT_KEYS, warnings);
	return code;
}
