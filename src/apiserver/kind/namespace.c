/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Namespace: the server sets its finalizer, its phase and the label with its name. */
#include <string.h>

#include "api/meta.h"
#include "api/tree.h"
#include "apiserver/kind/strategy.h"
#include "apiserver/kind/table_cells.h"
#include "apiserver/rules/field_errors.h"
#include "apiserver/rules/members.h"
#include "apiserver/rules/name_rules.h"

static bool has_kubernetes_finalizer(const json_t *list)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		if (strcmp(api_text(json_array_get(list, i)), "kubernetes") == 0)
			return true;
	}
	return false;
}

static void set_name_label(json_t *object)
{
	json_t *meta = apiserver_make_member(object, "metadata");
	if (api_name(object)[0] != '\0')
		json_object_set_new(apiserver_make_member(meta, "labels"),
				    "kubernetes.io/metadata.name", json_string(api_name(object)));
}

static void prepare_status(json_t *object, const json_t *old)
{
	(void)old;
	set_name_label(object);
}

static void prepare_namespace(const struct apiserver_env *env, json_t *object, const json_t *old)
{
	json_t *spec = apiserver_make_member(object, "spec");
	(void)env;
	set_name_label(object);
	if (old != NULL) {
		apiserver_copy_old(spec, json_object_get(old, "spec"), "finalizers");
		apiserver_copy_old(object, old, "status");
		return;
	}
	json_object_set_new(object, "status", json_pack("{ss}", "phase", "Active"));
	apiserver_set_default(spec, "finalizers", json_array());
	json_t *list = json_object_get(spec, "finalizers");
	if (!has_kubernetes_finalizer(list))
		json_array_append_new(list, json_string("kubernetes"));
}

static void validate_namespace(const struct apiserver_env *env, const json_t *object,
			       const json_t *old, struct api_errors *errs)
{
	static const char field[] = "spec.finalizers";
	const json_t *list = api_get(object, field);
	(void)env;
	if (old != NULL)
		return;
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *v = json_array_get(list, i);
		const char *s = api_text(v);
		apiserver_check_label_key(&(struct apiserver_field){ errs, field, NULL }, s);
		if (strchr(s, '/') == NULL && strcmp(s, "kubernetes") != 0 &&
		    strcmp(s, "orphan") != 0 && strcmp(s, "foregroundDeletion") != 0)
			apiserver_add_invalid(errs, field, v,
					      "name is neither a standard finalizer name nor is it "
					      "fully qualified");
	}
}

static void validate_status(const json_t *object, const json_t *old, struct api_errors *errs)
{
	const char *must = api_is_deleting(object) ? "Terminating" : "Active";
	(void)old;
	if (strcmp(api_get_string(object, "status.phase"), must) == 0)
		return;
	apiserver_add_invalid(
		errs, "status.Phase", api_get(object, "status.phase"),
		api_is_deleting(object)
			? "may only be 'Terminating' if `deletionTimestamp` is not empty"
			: "may only be 'Active' if `deletionTimestamp` is empty");
}

const struct apiserver_strategy apiserver_namespace_strategy = {
	.kind = "Namespace",
	.group = "",
	.prepare = prepare_namespace,
	.validate = validate_namespace,
	.prepare_status = prepare_status,
	.validate_status = validate_status,
	.bumps_generation = apiserver_no_generation,
	.cells = apiserver_cells_namespace,
};
