/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Decides from a Deployment whether its pods may still write. */
#include "controller/shared/rival.h"

#include "api/meta.h"

static bool has_any(const json_t *object, const char *path)
{
	return json_integer_value(api_get(object, path)) > 0;
}

enum rival_state rival_state_of(const json_t *deployment)
{
	if (deployment == NULL)
		return RIVAL_NONE;
	const json_t *wanted = api_get(deployment, "spec.replicas");
	if (wanted == NULL || json_integer_value(wanted) > 0)
		return RIVAL_RUNS;
	return has_any(deployment, "status.replicas") ||
			       has_any(deployment, "status.terminatingReplicas")
		       ? RIVAL_ENDING
		       : RIVAL_NONE;
}
