/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The list of all strategies, and what several of them share. Two kinds are so simple that their
 * strategies are here: of a ServiceAccount only the metadata is checked, and ServiceCIDRs are created by
 * the server itself, clients only read them. */
#include "apiserver/kind/strategy.h"

#include <string.h>

#include "apiserver/kind/objectmeta.h"
#include "apiserver/kind/resource.h"
#include "apiserver/kind/table_cells.h"
#include "base/compiler.h"

bool apiserver_no_generation(const json_t *object, const json_t *old)
{
	(void)object, (void)old;
	return false;
}

void apiserver_validate_as_new(const json_t *object, struct api_errors *errs)
{
	apiserver_objectmeta_validate(apiserver_resource_of(object), object, NULL, errs);
}

static void validate_serviceaccount(const struct apiserver_env *env, const json_t *object,
				    const json_t *old, struct api_errors *errs)
{
	(void)env;
	if (old != NULL)
		apiserver_validate_as_new(object, errs);
}

static const struct apiserver_strategy serviceaccount_strategy = {
	.kind = "ServiceAccount",
	.group = "",
	.validate = validate_serviceaccount,
	.bumps_generation = apiserver_no_generation,
	.cells = apiserver_cells_plain,
};

static const struct apiserver_strategy servicecidr_strategy = {
	.kind = "ServiceCIDR",
	.group = "networking.k8s.io",
	.bumps_generation = apiserver_no_generation,
	.cells = apiserver_cells_servicecidr,
};

static const struct apiserver_strategy *const strategies[] = {
	&apiserver_access_review_strategy, &apiserver_rules_review_strategy,
	&apiserver_self_review_strategy,   &apiserver_configmap_strategy,
	&apiserver_crd_strategy,	   &apiserver_endpoints_strategy,
	&apiserver_endpointslice_strategy, &apiserver_event_strategy,
	&apiserver_events_event_strategy,  &apiserver_ingress_strategy,
	&apiserver_lease_strategy,	   &apiserver_namespace_strategy,
	&apiserver_node_strategy,	   &apiserver_pod_strategy,
	&apiserver_secret_strategy,	   &apiserver_service_strategy,
	&serviceaccount_strategy,	   &servicecidr_strategy,
};

static const struct apiserver_strategy no_strategy = { .kind = "", .group = "" };

const struct apiserver_strategy *apiserver_strategy_of(const struct api_kind *kind)
{
	for (size_t i = 0; i < ARRAY_LEN(strategies); i++) {
		if (strcmp(strategies[i]->kind, kind->kind) == 0 &&
		    strcmp(strategies[i]->group, kind->group) == 0)
			return strategies[i];
	}
	return &no_strategy;
}
