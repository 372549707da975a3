/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Exports all objects as YAML documents that can be applied to another cluster: kinds that others
 * depend on come first, and fields that only this server sets (uid, resourceVersion) are left
 * out. */
#include "apiserver/export.h"

#include <string.h>

#include "api/meta.h"
#include "api/yaml/yaml.h"
#include "apiserver/controllers/bootstrap.h"
#include "apiserver/controllers/endpoints_write.h"
#include "apiserver/request/object.h"
#include "apiserver/store/key.h"
#include "apiserver/store/read.h"
#include "base/err.h"

struct export
{
	const struct apiserver_resource *resource;
	struct strbuf *out;
};

static bool is_among(const char *const *names, size_t len, const char *name)
{
	for (size_t i = 0; i < len; i++) {
		if (strcmp(names[i], name) == 0)
			return true;
	}
	return false;
}

/* ownerReferences have uids, which change elsewhere: they are left out, or the dependents would be
 * garbage-collected at once. */
static int add_row(void *ctx, const struct apiserver_row *row)
{
	static const char *const ours[] = { "resourceVersion",	 "uid",
					    "creationTimestamp", "generation",
					    "managedFields",	 "selfLink",
					    "deletionTimestamp", "deletionGracePeriodSeconds",
					    "ownerReferences" };
	struct export *x = ctx;
	json_t *o = apiserver_object_parse(x->resource, row->value);
	if (o == NULL)
		return ERR_PARSE;
	if (!api_is_deleting(o) && !apiserver_bootstrap_owns(row->key) &&
	    !apiserver_endpoints_is_derived(o)) {
		for (size_t i = 0; i < ARRAY_LEN(ours); i++)
			json_object_del(apiserver_object_meta(o), ours[i]);
		strbuf_adds(x->out, "---\n");
		api_yaml_write(x->out, o);
	}
	json_decref(o);
	return 0;
}

static const char *const first[] = { "CustomResourceDefinition", "Namespace", "ServiceAccount",
				     "Secret", "ConfigMap" };
static const char *const never[] = { "CustomResourceDefinition", "Event", "ServiceCIDR" };

static int add_kind(struct apiserver_store *store, const struct apiserver_resource *resource,
		    struct strbuf *out)
{
	CLEANUP(strbuf_done) struct strbuf prefix = STRBUF_INIT;
	struct export x = { .resource = resource, .out = out };
	uint64_t at;
	if (resource->stored != resource ||
	    (resource->built_in && is_among(never, ARRAY_LEN(never), resource->kind->kind)))
		return 0;
	apiserver_key(&prefix, resource->kind, NULL, NULL);
	return apiserver_store_list(store, &(struct apiserver_range){ .prefix = prefix.s }, add_row,
				    &x, &at, NULL);
}

int apiserver_export(struct apiserver_store *store, struct strbuf *out)
{
	size_t n;
	const struct apiserver_resource *const *rows = apiserver_resources(&n);
	int e = 0;
	for (size_t k = 0; k < ARRAY_LEN(first); k++) {
		for (size_t i = 0; e == 0 && i < n; i++) {
			if (rows[i]->built_in && strcmp(rows[i]->kind->kind, first[k]) == 0)
				e = add_kind(store, rows[i], out);
		}
	}
	for (size_t i = 0; e == 0 && i < n; i++) {
		if (!rows[i]->built_in || !is_among(first, ARRAY_LEN(first), rows[i]->kind->kind))
			e = add_kind(store, rows[i], out);
	}
	return e;
}
