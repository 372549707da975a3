/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads fields of Kubernetes objects: metadata, labels, annotations, and any field by its path.
 * Checks names against the rules of RFC 1123. */
#include "api/meta.h"

#include <stdlib.h>
#include <string.h>

#include "api/tree.h"
#include "base/slice.h"

static const json_t *metadata_of(const json_t *object)
{
	return json_object_get(object, "metadata");
}

static const char *meta_text(const json_t *object, const char *key)
{
	return api_text(json_object_get(metadata_of(object), key));
}

const char *api_kind(const json_t *object)
{
	return api_text(json_object_get(object, "kind"));
}

const char *api_version(const json_t *object)
{
	return api_text(json_object_get(object, "apiVersion"));
}

const char *api_name(const json_t *object)
{
	return meta_text(object, "name");
}

const char *api_namespace(const json_t *object)
{
	return meta_text(object, "namespace");
}

const char *api_uid(const json_t *object)
{
	return meta_text(object, "uid");
}

const char *api_resource_version(const json_t *object)
{
	return meta_text(object, "resourceVersion");
}

int64_t api_generation(const json_t *object)
{
	return json_integer_value(json_object_get(metadata_of(object), "generation"));
}

bool api_is_deleting(const json_t *object)
{
	return meta_text(object, "deletionTimestamp")[0] != '\0';
}

const char *api_label(const json_t *object, const char *key)
{
	return api_text_or(json_object_get(json_object_get(metadata_of(object), "labels"), key),
			   NULL);
}

const char *api_annotation(const json_t *object, const char *key)
{
	return api_text_or(
		json_object_get(json_object_get(metadata_of(object), "annotations"), key), NULL);
}

json_t *api_owner_reference(const json_t *owner)
{
	return json_pack("{ss,ss,ss,ss,sb}", "apiVersion", api_version(owner), "kind",
			 api_kind(owner), "name", api_name(owner), "uid", api_uid(owner),
			 "controller", 1);
}

bool api_list_has(const json_t *list, const char *text)
{
	const json_t *item;
	size_t i;
	json_array_foreach (list, i, item) {
		if (strcmp(api_text(item), text) == 0)
			return true;
	}
	return false;
}

bool api_has_finalizer(const json_t *object, const char *name)
{
	return api_list_has(json_object_get(metadata_of(object), "finalizers"), name);
}

const json_t *api_managed_fields(const json_t *object)
{
	return json_object_get(metadata_of(object), "managedFields");
}

void api_object_key(struct strbuf *out, const json_t *object)
{
	const char *ns = api_namespace(object);
	if (ns[0] != '\0')
		strbuf_addf(out, "%s/", ns);
	strbuf_adds(out, api_name(object));
}

/* One step: `.key`, `key` at the start, or `[index or key]`. */
static json_t *step_into(const json_t *value, struct slice *rest)
{
	uint64_t at;
	if (rest->p[0] == '[') {
		struct slice in = slice_from(*rest, 1);
		struct slice key = slice_cut(&in, ']');
		*rest = in;
		if (json_is_array(value))
			return slice_u64(key, &at) == 0 ? json_array_get(value, at) : NULL;
		return json_object_getn(value, key.p, key.n);
	}
	if (rest->p[0] == '.')
		*rest = slice_from(*rest, 1);
	size_t n = 0;
	while (n < rest->n && rest->p[n] != '.' && rest->p[n] != '[')
		n++;
	json_t *c = json_object_getn(value, rest->p, n);
	*rest = slice_from(*rest, n);
	return c;
}

json_t *api_get(const json_t *object, const char *path)
{
	struct slice rest = slice_of(path);
	json_t *v = api_tree(object);
	while (v != NULL && rest.n != 0)
		v = step_into(v, &rest);
	return v;
}

const char *api_get_string(const json_t *object, const char *path)
{
	return api_text(api_get(object, path));
}

static bool is_label(struct slice text)
{
	enum { LABEL_MAX = 63 };
	if (text.n == 0 || text.n > LABEL_MAX || text.p[0] == '-' || text.p[text.n - 1] == '-')
		return false;
	for (size_t i = 0; i < text.n; i++) {
		if (!ascii_isdigit(text.p[i]) && !(text.p[i] >= 'a' && text.p[i] <= 'z') &&
		    text.p[i] != '-')
			return false;
	}
	return true;
}

bool api_is_label_name(const char *text)
{
	return is_label(slice_of(text));
}

/* A subdomain's labels may be long in Kubernetes: only the whole is limited. */
bool api_is_subdomain_name(const char *text)
{
	enum { SUBDOMAIN_MAX = 253 };
	struct slice rest = slice_of(text);
	bool alnum_before = false;
	if (rest.n == 0 || rest.n > SUBDOMAIN_MAX)
		return false;
	for (size_t i = 0; i < rest.n; i++) {
		char c = rest.p[i];
		bool alnum = ascii_isdigit(c) || (c >= 'a' && c <= 'z');
		bool next_alnum =
			i + 1 < rest.n && (ascii_isdigit(rest.p[i + 1]) ||
					   (rest.p[i + 1] >= 'a' && rest.p[i + 1] <= 'z'));
		if (c == '.' && (!alnum_before || !next_alnum))
			return false;
		if (c == '-' && (i == 0 || i + 1 == rest.n))
			return false;
		if (!alnum && c != '.' && c != '-')
			return false;
		alnum_before = alnum;
	}
	return true;
}

bool api_is_dns_domain(const char *text)
{
	enum { LABEL_MAX = 63 };
	struct slice rest = slice_of(text);
	if (!api_is_subdomain_name(text))
		return false;
	while (rest.n != 0) {
		if (slice_cut(&rest, '.').n > LABEL_MAX)
			return false;
	}
	return true;
}
