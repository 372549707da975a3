/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lease: validation of its numbers. Its times are checked when the body is decoded. */
#include <string.h>

#include "api/meta.h"
#include "apiserver/kind/strategy.h"
#include "apiserver/kind/table_cells.h"
#include "apiserver/rules/field_errors.h"

static void validate_lease(const struct apiserver_env *env, const json_t *object, const json_t *old,
			   struct api_errors *errs)
{
	const json_t *spec = json_object_get(object, "spec");
	const json_t *duration = json_object_get(spec, "leaseDurationSeconds");
	const json_t *transitions = json_object_get(spec, "leaseTransitions");
	(void)env, (void)old;
	if (duration != NULL && json_integer_value(duration) <= 0)
		apiserver_add_invalid(errs, "spec.leaseDurationSeconds", duration,
				      "must be greater than 0");
	if (transitions != NULL && json_integer_value(transitions) < 0)
		apiserver_add_invalid(errs, "spec.leaseTransitions", transitions,
				      "must be greater than or equal to 0");
}

/* kube-apiserver has these two fields only with a feature that is off by default. */
static void prepare_lease(const struct apiserver_env *env, json_t *object, const json_t *old)
{
	json_t *spec = json_object_get(object, "spec");
	(void)env, (void)old;
	json_object_del(spec, "strategy");
	json_object_del(spec, "preferredHolder");
}

const struct apiserver_strategy apiserver_lease_strategy = {
	.kind = "Lease",
	.group = "coordination.k8s.io",
	.prepare = prepare_lease,
	.validate = validate_lease,
	.bumps_generation = apiserver_no_generation,
	.cells = apiserver_cells_lease,
};
