/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CustomResourceDefinition: the server publishes one for each of the product's kinds. A client may
 * write it unchanged, so that manifests made for a cluster can be applied here; any other is refused. */
#include "apiserver/kind/crd.h"

#include <string.h>

#include "api/meta.h"
#include "api/tree_copy.h"
#include "apiserver/kind/resource.h"
#include "apiserver/kind/strategy.h"
#include "apiserver/kind/table_cells.h"
#include "apiserver/rules/field_errors.h"
#include "apiserver/rules/members.h"

static json_t *true_condition(const char *type, const char *reason, const char *message,
			      const char *now)
{
	return json_pack("{ss,ss,ss,ss,ss}", "type", type, "status", "True", "lastTransitionTime",
			 now, "reason", reason, "message", message);
}

json_t *apiserver_crd_object(const struct apiserver_resource *resource, const char *now)
{
	if (resource->built_in)
		return NULL;
	json_t *o = api_tree_copy(resource->description);
	json_t *spec = json_object_get(o, "spec");
	apiserver_set_default(spec, "conversion", json_pack("{ss}", "strategy", "None"));
	json_object_set_new(
		o, "status",
		json_pack("{s[oo],sO,s[s]}", "conditions",
			  true_condition("NamesAccepted", "NoConflicts", "no conflicts found", now),
			  true_condition("Established", "InitialNamesAccepted",
					 "the initial names have been accepted", now),
			  "acceptedNames", json_object_get(spec, "names"), "storedVersions",
			  resource->stored->version));
	return o;
}

/* The product's own kind of that name; NULL: there is none. */
static const struct apiserver_resource *find_own_kind(const json_t *object)
{
	size_t n;
	const struct apiserver_resource *const *rows = apiserver_resources(&n);
	for (size_t i = 0; i < n; i++) {
		if (!rows[i]->built_in &&
		    strcmp(api_name(rows[i]->description), api_name(object)) == 0)
			return rows[i];
	}
	return NULL;
}

static void prepare_crd(const struct apiserver_env *env, json_t *object, const json_t *old)
{
	(void)env;
	apiserver_set_default(apiserver_make_member(object, "spec"), "conversion",
			      json_pack("{ss}", "strategy", "None"));
	apiserver_copy_old(object, old, "status");
}

static void validate_crd(const struct apiserver_env *env, const json_t *object, const json_t *old,
			 struct api_errors *errs)
{
	const struct apiserver_resource *r = find_own_kind(object);
	(void)env, (void)old;
	if (r == NULL) {
		apiserver_add_forbidden(
			errs, "spec", "this server has a fixed set of kinds: no kind can be added");
		return;
	}
	json_t *want = apiserver_crd_object(r, "");
	if (!json_equal(json_object_get(want, "spec"), json_object_get(object, "spec")))
		apiserver_add_forbidden(
			errs, "spec",
			"this server has a fixed set of kinds: a definition can only be "
			"applied as the server has it");
	json_decref(want);
}

const struct apiserver_strategy apiserver_crd_strategy = {
	.kind = "CustomResourceDefinition",
	.group = "apiextensions.k8s.io",
	.prepare = prepare_crd,
	.validate = validate_crd,
	.cells = apiserver_cells_crd,
};
