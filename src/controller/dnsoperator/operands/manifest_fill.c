/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values into manifests. */
#include "controller/dnsoperator/operands/manifest_fill.h"

#include <assert.h>
#include <string.h>

#include "api/tree.h"
#include "base/slice.h"
#include "base/strbuf.h"

struct filling {
	const struct dnsoperator_values *values;
	const char *missing; /* NULL: nothing yet */
};

/* One `${NAME}` or `${NAME?}` at the beginning of `s`. */
struct place {
	const struct dnsoperator_value *value;
	bool optional;
	size_t n; /* its length */
};

static const struct dnsoperator_value *find_value(const struct filling *filling, struct slice name)
{
	for (size_t i = 0; i < filling->values->n; i++) {
		if (slice_is(name, filling->values->v[i].name))
			return &filling->values->v[i];
	}
	return NULL;
}

static struct place place_at(const struct filling *filling, const char *text)
{
	struct place p = { 0 };
	const char *end = strchr(text, '}');
	assert(end != NULL);
	struct slice name = { text + 2, (size_t)(end - text) - 2 };
	p.n = (size_t)(end - text) + 1;
	p.optional = name.n != 0 && name.p[name.n - 1] == '?';
	if (p.optional)
		name.n--;
	p.value = find_value(filling, name);
	assert(p.value != NULL);
	return p;
}

/* Notes what the object cannot be without. */
static void note_missing(struct filling *filling, const struct place *place)
{
	if (!place->optional && filling->missing == NULL)
		filling->missing = place->value->name;
}

/* NULL: it is left out. */
static json_t *fill_text(struct filling *filling, const char *text)
{
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	const char *at;
	while ((at = strstr(text, "${")) != NULL) {
		struct place p = place_at(filling, at);
		if (p.value->value == NULL) {
			note_missing(filling, &p);
			return NULL;
		}
		if (out.n == 0 && at == text && at[p.n] == '\0')
			return json_deep_copy(p.value->value);
		assert(json_is_string(p.value->value));
		strbuf_add(&out, text, (size_t)(at - text));
		strbuf_adds(&out, api_text(p.value->value));
		text = at + p.n;
	}
	strbuf_adds(&out, text);
	return json_string(out.s);
}

static json_t *fill_tree(struct filling *filling, const json_t *value);

static json_t *fill_list(struct filling *filling, const json_t *list)
{
	json_t *out = json_array(), *v;
	size_t i;
	json_array_foreach (list, i, v) {
		json_t *one = fill_tree(filling, v);
		if (json_is_string(v) && json_is_array(one)) {
			json_array_extend(out, one);
			json_decref(one);
		} else if (one != NULL) {
			json_array_append_new(out, one);
		}
	}
	return out;
}

static json_t *fill_tree(struct filling *filling, const json_t *value)
{
	const char *key;
	json_t *member;
	if (json_is_string(value))
		return fill_text(filling, api_text(value));
	if (json_is_array(value))
		return fill_list(filling, value);
	if (!json_is_object(value))
		return json_deep_copy(value);
	json_t *out = json_object();
	json_object_foreach (api_tree(value), key, member) {
		json_t *one = fill_tree(filling, member);
		if (one != NULL)
			json_object_set_new(out, key, one);
	}
	return out;
}

json_t *dnsoperator_manifest_fill(const json_t *manifest, const struct dnsoperator_values *values,
				  const char **ret_missing)
{
	struct filling f = { .values = values };
	json_t *out = fill_tree(&f, manifest);
	if (f.missing == NULL)
		return out;
	*ret_missing = f.missing;
	json_decref(out);
	return NULL;
}
