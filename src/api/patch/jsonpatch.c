/* SPDX-License-Identifier: GPL-3.0-or-later */
/* JSON patch (RFC 6902): operations are applied one after the other to a copy of the object, which is
 * dropped when one fails. A path is walked to the parent of its last token. What an object lacks is
 * null to test and copy, and added by replace, as in the API server's own library. */
#include "api/patch/jsonpatch.h"

#include <stdio.h>
#include <string.h>

#include "api/patch/patch.h"
#include "api/tree.h"
#include "api/tree_copy.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "base/slice.h"
#include "base/strbuf.h"

/* A place in the tree: a container and what stands for the member. */
struct place {
	json_t *in; /* NULL: the document itself */
	char *key;  /* decoded last token */
	size_t at;  /* array: index; its size for `-` */
};

static void place_done(struct place *place)
{
	free(place->key);
}

/* ~1 is '/', ~0 is '~'; anything else after '~' is wrong. */
static bool decode_token(struct slice token, struct strbuf *out)
{
	strbuf_reset(out);
	for (size_t i = 0; i < token.n; i++) {
		char c = token.p[i];
		if (c == '~') {
			if (i + 1 == token.n || (token.p[i + 1] != '0' && token.p[i + 1] != '1'))
				return false;
			c = token.p[++i] == '0' ? '~' : '/';
		}
		strbuf_addc(out, c);
	}
	return true;
}

/* An array index without leading zeros, or `-` for the place after the last. */
static bool index_of(const json_t *array, const char *token, size_t *ret)
{
	uint64_t v;
	if (strcmp(token, "-") == 0) {
		*ret = json_array_size(array);
		return true;
	}
	if ((token[0] == '0' && token[1] != '\0') || slice_u64(slice_of(token), &v) < 0)
		return false;
	*ret = v;
	return v <= json_array_size(array);
}

static json_t *child_of(const json_t *value, const char *token)
{
	size_t at;
	if (json_is_array(value))
		return index_of(value, token, &at) ? json_array_get(value, at) : NULL;
	return json_object_get(value, token);
}

static int find_parent(json_t *root, const char *pointer, struct place *ret)
{
	CLEANUP(strbuf_done) struct strbuf token = STRBUF_INIT;
	struct slice rest = slice_of(pointer);
	*ret = (struct place){ 0 };
	if (rest.n == 0)
		return 0;
	if (rest.p[0] != '/')
		return ERR_PARSE;
	rest = slice_from(rest, 1);
	json_t *v = root;
	for (;;) {
		struct slice t = slice_cut(&rest, '/');
		if (!decode_token(t, &token))
			return ERR_PARSE;
		if (rest.p == NULL)
			break;
		v = child_of(v, token.s);
		if (v == NULL)
			return ERR_NOTFOUND;
	}
	if (!json_is_object(v) && !json_is_array(v))
		return ERR_NOTFOUND;
	ret->in = v;
	if (json_is_array(v) && !index_of(v, token.s, &ret->at))
		return ERR_NOTFOUND;
	ret->key = xstrdup(token.s);
	return 0;
}

static json_t *value_at(json_t *root, const struct place *place)
{
	if (place->in == NULL)
		return root;
	return json_is_array(place->in) ? json_array_get(place->in, place->at)
					: json_object_get(place->in, place->key);
}

/* Takes the reference. */
static void put_value(json_t **root, const struct place *place, json_t *value, bool insert)
{
	if (place->in == NULL) {
		json_decref(*root);
		*root = value;
	} else if (json_is_object(place->in)) {
		json_object_set_new(place->in, place->key, value);
	} else if (insert) {
		json_array_insert_new(place->in, place->at, value);
	} else {
		json_array_set_new(place->in, place->at, value);
	}
}

struct operation {
	const char *op, *path, *from;
	json_t *value;
	size_t *copied; /* by all operations so far */
};

/* Takes the reference. */
static int add_value(json_t **root, const char *path, json_t *value)
{
	CLEANUP(place_done) struct place p;
	int r = find_parent(*root, path, &p);
	if (r < 0)
		json_decref(value);
	else
		put_value(root, &p, value, true);
	return r;
}

static int op_add(json_t **root, const struct operation *operation)
{
	return add_value(root, operation->path, api_tree_copy(operation->value));
}

static int op_remove(json_t **root, const struct operation *operation)
{
	CLEANUP(place_done) struct place p;
	int r = find_parent(*root, operation->path, &p);
	if (r < 0)
		return r;
	if (p.in == NULL || value_at(*root, &p) == NULL)
		return ERR_NOTFOUND;
	if (json_is_array(p.in))
		json_array_remove(p.in, p.at);
	else
		json_object_del(p.in, p.key);
	return 0;
}

static int op_replace(json_t **root, const struct operation *operation)
{
	CLEANUP(place_done) struct place p;
	int r = find_parent(*root, operation->path, &p);
	if (r < 0)
		return r;
	/* A missing member is added, as by the server's own library. */
	if (json_is_array(p.in) && value_at(*root, &p) == NULL)
		return ERR_NOTFOUND;
	put_value(root, &p, api_tree_copy(operation->value), false);
	return 0;
}

/* Borrowed. */
static int get_from(json_t *root, const struct operation *operation, json_t **ret)
{
	CLEANUP(place_done) struct place p;
	int r = find_parent(root, operation->from, &p);
	if (r < 0)
		return r;
	*ret = value_at(root, &p);
	if (*ret == NULL && json_is_object(p.in))
		*ret = json_null(); /* likewise */
	return *ret != NULL ? 0 : ERR_NOTFOUND;
}

static int op_copy(json_t **root, const struct operation *operation)
{
	json_t *v = NULL;
	int r = get_from(*root, operation, &v);
	if (r < 0)
		return r;
	/* A few copies of the whole into itself would fill any memory. */
	*operation->copied += json_dumpb(v, NULL, 0, JSON_COMPACT | JSON_ENCODE_ANY);
	if (*operation->copied > API_PATCH_COPIED_MAX_BYTES)
		return ERR_LIMIT;
	return add_value(root, operation->path, api_tree_copy(v));
}

static int op_move(json_t **root, const struct operation *operation)
{
	json_t *v = NULL;
	size_t n = strlen(operation->from);
	if (strncmp(operation->path, operation->from, n) == 0 && operation->path[n] == '/')
		return ERR_PARSE; /* into itself */
	int r = get_from(*root, operation, &v);
	if (r < 0)
		return r;
	json_incref(v);
	r = op_remove(root, &(struct operation){ .path = operation->from });
	if (r < 0)
		json_decref(v);
	else
		r = add_value(root, operation->path, v);
	return r;
}

static int op_test(json_t **root, const struct operation *operation)
{
	CLEANUP(place_done) struct place p;
	int r = find_parent(*root, operation->path, &p);
	if (r < 0)
		return r;
	json_t *v = value_at(*root, &p);
	/* A missing value equals null, as in the server's own library. */
	bool same =
		v == NULL ? json_is_null(operation->value) : json_equal(v, operation->value) != 0;
	return same ? 0 : ERR_CONFIG;
}

static const struct {
	const char *name;
	int (*fn)(json_t **root, const struct operation *operation);
	bool from;
} operations[] = {
	{ "add", op_add, false },  { "remove", op_remove, false }, { "replace", op_replace, false },
	{ "move", op_move, true }, { "copy", op_copy, true },	   { "test", op_test, false },
};

static int run_operation(json_t **root, const json_t *op, size_t *copied)
{
	struct operation o = {
		.op = api_text_or(json_object_get(op, "op"), NULL),
		.path = api_text_or(json_object_get(op, "path"), NULL),
		.from = api_text_or(json_object_get(op, "from"), NULL),
		.value = json_object_get(op, "value") != NULL ? json_object_get(op, "value")
							      : json_null(),
		.copied = copied,
	};
	if (o.op == NULL || o.path == NULL)
		return ERR_PARSE;
	for (size_t i = 0; i < ARRAY_LEN(operations); i++) {
		if (strcmp(operations[i].name, o.op) != 0)
			continue;
		if (operations[i].from && o.from == NULL)
			return ERR_PARSE;
		return operations[i].fn(root, &o);
	}
	return ERR_PARSE;
}

static void explain_error(int code, size_t at, const json_t *op, struct err_text err)
{
	const char *name = api_text_or(json_object_get(op, "op"), "?");
	const char *path = api_text_or(json_object_get(op, "path"), "?");
	const char *why = code == ERR_NOTFOUND ? "there is no such path"
			  : code == ERR_CONFIG ? "the test failed"
			  : code == ERR_LIMIT  ? "the copies exceed the limits of an object"
					       : "not an operation of JSON patch";
	err_text_set(err, "operation %zu (%s %s): %s", at, name, path, why);
}

/* Does an operation work inside of managedFields? A place that only contains them is replaced, moved
 * or copied as a whole. */
static bool touches_managed_fields(const json_t *ops)
{
	static const char *const places[] = { "path", "from" };
	size_t i;
	json_t *op;
	json_array_foreach (api_tree(ops), i, op) {
		for (size_t k = 0; k < ARRAY_LEN(places); k++)
			if (strstr(api_text(json_object_get(op, places[k])), "managedFields") !=
			    NULL)
				return true;
	}
	return false;
}

int api_json_patch(const json_t *target, const json_t *ops, json_t **ret, struct err_text err)
{
	size_t i, copied = 0;
	json_t *op;
	if (!json_is_array(ops)) {
		err_text_set(err, "a JSON patch is a list of operations");
		return ERR_PARSE;
	}
	if (json_array_size(ops) > API_PATCH_OPS_MAX) {
		err_text_set(err, "more than %d operations", API_PATCH_OPS_MAX);
		return ERR_LIMIT;
	}
	json_t *root = touches_managed_fields(ops) ? api_tree_copy(target)
						   : api_tree_copy_object(target, target);
	json_array_foreach (ops, i, op) {
		int r = run_operation(&root, op, &copied);
		if (r < 0) {
			explain_error(r, i, op, err);
			json_decref(root);
			return r;
		}
	}
	*ret = root;
	return 0;
}
