/* Metadata and paths. */
#include "api/meta.h"

#include <stdlib.h>
#include <string.h>

#include "api/tree.h"
#include "base/slice.h"

static const json_t *metadata(const json_t *o)
{
	return json_object_get(o, "metadata");
}

static const char *meta_text(const json_t *o, const char *key)
{
	return api_text(json_object_get(metadata(o), key));
}

const char *api_kind(const json_t *o)
{
	return api_text(json_object_get(o, "kind"));
}

const char *api_version(const json_t *o)
{
	return api_text(json_object_get(o, "apiVersion"));
}

const char *api_name(const json_t *o)
{
	return meta_text(o, "name");
}

const char *api_namespace(const json_t *o)
{
	return meta_text(o, "namespace");
}

const char *api_uid(const json_t *o)
{
	return meta_text(o, "uid");
}

const char *api_resource_version(const json_t *o)
{
	return meta_text(o, "resourceVersion");
}

int64_t api_generation(const json_t *o)
{
	return json_integer_value(json_object_get(metadata(o), "generation"));
}

bool api_is_deleting(const json_t *o)
{
	return meta_text(o, "deletionTimestamp")[0] != '\0';
}

const char *api_label(const json_t *o, const char *key)
{
	return api_text_or(json_object_get(json_object_get(metadata(o), "labels"), key), NULL);
}

const char *api_annotation(const json_t *o, const char *key)
{
	return api_text_or(json_object_get(json_object_get(metadata(o), "annotations"), key), NULL);
}

bool api_has_finalizer(const json_t *o, const char *name)
{
	json_t *list = json_object_get(metadata(o), "finalizers"), *f;
	size_t i;
	json_array_foreach (list, i, f) {
		if (strcmp(api_text(f), name) == 0)
			return true;
	}
	return false;
}

void api_key(struct strbuf *out, const json_t *o)
{
	const char *ns = api_namespace(o);
	if (ns[0] != '\0')
		strbuf_addf(out, "%s/", ns);
	strbuf_adds(out, api_name(o));
}

/* One step: `.key`, `key` at the start, or `[index or key]`. */
static json_t *step(const json_t *v, struct slice *rest)
{
	uint64_t at;
	if (rest->p[0] == '[') {
		struct slice in = slice_from(*rest, 1);
		struct slice key = slice_cut(&in, ']');
		*rest = in;
		if (json_is_array(v))
			return slice_u64(key, &at) == 0 ? json_array_get(v, at) : NULL;
		return json_object_getn(v, key.p, key.n);
	}
	if (rest->p[0] == '.')
		*rest = slice_from(*rest, 1);
	size_t n = 0;
	while (n < rest->n && rest->p[n] != '.' && rest->p[n] != '[')
		n++;
	json_t *c = json_object_getn(v, rest->p, n);
	*rest = slice_from(*rest, n);
	return c;
}

json_t *api_get(const json_t *o, const char *path)
{
	struct slice rest = slice_of(path);
	json_t *v = api_tree(o);
	while (v != NULL && rest.n != 0)
		v = step(v, &rest);
	return v;
}

const char *api_get_string(const json_t *o, const char *path)
{
	return api_text(api_get(o, path));
}

int api_resource_version_cmp(const char *a, const char *b)
{
	size_t na = strlen(a), nb = strlen(b);
	if (na != nb)
		return na < nb ? -1 : 1;
	return strcmp(a, b);
}

static bool is_label(struct slice s)
{
	enum { LABEL_MAX = 63 };
	if (s.n == 0 || s.n > LABEL_MAX || s.p[0] == '-' || s.p[s.n - 1] == '-')
		return false;
	for (size_t i = 0; i < s.n; i++) {
		if (!ascii_isdigit(s.p[i]) && !(s.p[i] >= 'a' && s.p[i] <= 'z') && s.p[i] != '-')
			return false;
	}
	return true;
}

bool api_is_label_name(const char *s)
{
	return is_label(slice_of(s));
}

/* A subdomain's labels may be long in Kubernetes: only the whole is limited. */
bool api_is_subdomain_name(const char *s)
{
	enum { SUBDOMAIN_MAX = 253 };
	struct slice rest = slice_of(s);
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

bool api_is_dns_domain(const char *s)
{
	enum { LABEL_MAX = 63 };
	struct slice rest = slice_of(s);
	if (!api_is_subdomain_name(s))
		return false;
	while (rest.n != 0) {
		if (slice_cut(&rest, '.').n > LABEL_MAX)
			return false;
	}
	return true;
}
