/* FieldsV1: {"f:spec":{".":{},"f:ports":{"k:{\"port\":80}":{}}}}. An object without anything in it
 * is a member; "." says that of one that has something below it. */
#include <string.h>

#include "api/fieldset_priv.h"
#include "api/tree.h"
#include "base/err.h"
#include "base/vec.h"

struct reading {
	size_t fields;
	VEC(struct fieldset_el *) path;
};

static int read_below(struct reading *r, const json_t *v, struct fieldset *out);

/* Members and what is below one element. */
static int read_element(struct reading *r, const char *key, const json_t *v, struct fieldset *out)
{
	struct fieldset_el *e = NULL;
	int err = fieldset_el_parse(key, &e);
	if (err < 0)
		return err == ERR_UNSUPPORTED ? 0 : err;
	vec_push(&r->path, e);
	err = read_below(r, v, out);
	r->path.n--;
	fieldset_el_unref(e);
	return err;
}

static int read_below(struct reading *r, const json_t *v, struct fieldset *out)
{
	const char *k;
	json_t *item;
	bool member = false;
	size_t before = r->fields;
	if (!json_is_object(v) && !json_is_null(v))
		return ERR_PARSE;
	if (r->path.n > FIELDSET_DEPTH_MAX)
		return ERR_LIMIT;
	json_object_foreach (api_tree(v), k, item) {
		if (strcmp(k, ".") == 0) {
			member = true;
			continue;
		}
		int err = read_element(r, k, item, out);
		if (err < 0)
			return err;
	}
	if ((member || r->fields == before) && r->path.n > 0) {
		if (++r->fields > FIELDSET_FIELDS_MAX)
			return ERR_LIMIT;
		fieldset_insert(out, r->path.v, r->path.n);
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

json_t *fieldset_write(const struct fieldset *s)
{
	CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
	json_t *out = json_object();
	for (size_t i = 0; i < s->n; i++) {
		const struct fieldset_node *node = &s->v[i];
		json_t *below = json_object();
		if (node->member && node->sub != NULL)
			json_object_set_new(below, ".", json_object());
		if (node->sub != NULL) {
			json_t *sub = fieldset_write(node->sub);
			json_object_update(below, sub);
			json_decref(sub);
		}
		strbuf_reset(&key);
		fieldset_el_write(&key, node->el);
		json_object_set_new(out, key.s, below);
	}
	return out;
}
