/* SPDX-License-Identifier: GPL-3.0-or-later */
/* FieldsV1: {"f:spec":{".":{},"f:ports":{"k:{\"port\":80}":{}}}}. An object without anything in it
 * is a member; "." says that of one that has something below it. */
#include "api/fields/fieldset_json.h"

#include <string.h>

#include "api/fields/fieldset.h"
#include "api/tree.h"
#include "base/err.h"
#include "base/vec.h"

struct reading {
	size_t fields;
	VEC(struct fieldset_el *) path;
};

static int read_below(struct reading *reading, const json_t *value, struct fieldset *out);

/* Members and what is below one element. */
static int read_element(struct reading *reading, const char *key, const json_t *value,
			struct fieldset *out)
{
	struct fieldset_el *e = NULL;
	int err = fieldset_el_parse(key, &e);
	if (err < 0)
		return err == ERR_UNSUPPORTED ? 0 : err;
	vec_push(&reading->path, e);
	err = read_below(reading, value, out);
	reading->path.n--;
	fieldset_el_unref(e);
	return err;
}

static int read_below(struct reading *reading, const json_t *value, struct fieldset *out)
{
	const char *k;
	json_t *item;
	bool member = false;
	size_t before = reading->fields;
	if (!json_is_object(value) && !json_is_null(value))
		return ERR_PARSE;
	if (reading->path.n > FIELDSET_DEPTH_MAX)
		return ERR_LIMIT;
	json_object_foreach (api_tree(value), k, item) {
		if (strcmp(k, ".") == 0) {
			member = true;
			continue;
		}
		int err = read_element(reading, k, item, out);
		if (err < 0)
			return err;
	}
	if ((member || reading->fields == before) && reading->path.n > 0) {
		if (++reading->fields > FIELDSET_FIELDS_MAX)
			return ERR_LIMIT;
		fieldset_insert(out, reading->path.v, reading->path.n);
	}
	return 0;
}

int fieldset_parse(const json_t *fields_v1, struct fieldset **ret)
{
	struct reading r = { 0 };
	struct fieldset *s = fieldset_new();
	int err = read_below(&r, fields_v1, s);
	vec_done(&r.path);
	if (err < 0) {
		fieldset_unref(s);
		return err;
	}
	*ret = s;
	return 0;
}

struct writing {
	struct strbuf key;
	json_t *empty; /* of all members with nothing below */
};

static void write_members(struct writing *writing, const struct fieldset *fieldset, json_t *out)
{
	for (size_t i = 0; i < fieldset->n; i++) {
		const struct fieldset_node *node = &fieldset->v[i];
		json_t *below = node->sub != NULL ? json_object() : json_incref(writing->empty);
		if (node->member && node->sub != NULL)
			json_object_set_nocheck(below, ".", writing->empty);
		if (node->sub != NULL)
			write_members(writing, node->sub, below);
		strbuf_reset(&writing->key);
		fieldset_el_write(&writing->key, node->el);
		/* Made of UTF-8 that was checked when it was read. */
		json_object_setn_new_nocheck(out, writing->key.s, writing->key.n, below);
	}
}

json_t *fieldset_write(const struct fieldset *fieldset)
{
	struct writing writing = { .key = STRBUF_INIT, .empty = json_object() };
	json_t *out = json_object();
	write_members(&writing, fieldset, out);
	strbuf_done(&writing.key);
	json_decref(writing.empty);
	return out;
}

/* `fieldset` may be NULL: nothing. `dot`: "." comes first. */
static bool has_members(const struct fieldset *fieldset, bool dot, json_t *fields)
{
	CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
	const size_t n = fieldset != NULL ? fieldset->n : 0;
	void *at = json_object_iter(fields);
	if (!json_is_object(fields) || json_object_size(fields) != n + dot)
		return false;
	if (dot) {
		if (strcmp(json_object_iter_key(at), ".") != 0 ||
		    !has_members(NULL, false, json_object_iter_value(at)))
			return false;
		at = json_object_iter_next(fields, at);
	}
	for (size_t i = 0; i < n; i++, at = json_object_iter_next(fields, at)) {
		const struct fieldset_node *node = &fieldset->v[i];
		strbuf_reset(&key);
		fieldset_el_write(&key, node->el);
		if (strcmp(json_object_iter_key(at), key.s) != 0 ||
		    !has_members(node->sub, node->member && node->sub != NULL,
				 json_object_iter_value(at)))
			return false;
	}
	return true;
}

bool fieldset_is_written(const struct fieldset *fieldset, const json_t *fields_v1)
{
	return has_members(fieldset, false, api_tree(fields_v1));
}
