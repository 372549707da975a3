/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Service status: the addresses that a load balancer's controller writes. */
#include "apiserver/kind/service_status_priv.h"

#include <string.h>

#include "api/meta.h"
#include "api/tree.h"
#include "apiserver/rules/field_errors.h"
#include "apiserver/rules/ip_rules.h"
#include "apiserver/rules/members.h"
#include "apiserver/rules/name_rules.h"

static bool is_balanced(const json_t *object)
{
	return apiserver_is(json_object_get(object, "spec"), "type", "LoadBalancer");
}

void apiserver_service_prepare_status(json_t *object, const json_t *old)
{
	json_t *list = api_get(object, "status.loadBalancer.ingress"), *e;
	size_t i;
	(void)old;
	json_array_foreach (list, i, e) {
		if (is_balanced(object) && apiserver_has_text(e, "ip"))
			apiserver_set_default(e, "ipMode", json_string("VIP"));
	}
}

/* A new array of the load balancer's addresses: those of the stored object stay valid. */
static json_t *addresses_of(const json_t *object)
{
	const json_t *list = api_get(object, "status.loadBalancer.ingress");
	json_t *out = json_array();
	for (size_t i = 0; i < json_array_size(list); i++)
		json_array_append_new(out,
				      json_string(api_get_string(json_array_get(list, i), "ip")));
	return out;
}

static void check_mode(const json_t *ingress, const char *field, struct api_errors *errs)
{
	static const char *const modes[] = { "Proxy", "VIP", NULL };
	bool has_mode = json_object_get(ingress, "ipMode") != NULL;
	if (!has_mode && apiserver_has_text(ingress, "ip"))
		apiserver_add_required(errs, field, "must be specified when `ip` is set");
	if (!has_mode)
		return;
	if (!apiserver_has_text(ingress, "ip"))
		apiserver_add_forbidden(errs, field, "may not be specified when `ip` is not set");
	else
		apiserver_check_one_of(errs, field, api_get_string(ingress, "ipMode"), modes);
}

static void check_ingress(const json_t *ingress, size_t index, const json_t *kept,
			  struct api_errors *errs)
{
	const char *ip = api_get_string(ingress, "ip"), *name = api_get_string(ingress, "hostname");
	struct apiserver_path p;
	if (ip[0] != '\0')
		apiserver_check_address(
			errs,
			apiserver_format_path(&p, "status.loadBalancer.ingress[%zu].ip", index), ip,
			kept);
	check_mode(ingress,
		   apiserver_format_path(&p, "status.loadBalancer.ingress[%zu].ipMode", index),
		   errs);
	if (name[0] == '\0')
		return;
	apiserver_format_path(&p, "status.loadBalancer.ingress[%zu].hostname", index);
	apiserver_check_subdomain(&(struct apiserver_field){ errs, p.s, NULL }, name);
	if (apiserver_address_family(name) != 0)
		apiserver_add_invalid(errs, p.s, json_object_get(ingress, "hostname"),
				      "must be a DNS name, not an IP address");
}

void apiserver_service_validate_status(const json_t *object, const json_t *old,
				       struct api_errors *errs)
{
	const json_t *list = api_get(object, "status.loadBalancer.ingress");
	if (!is_balanced(object) && json_array_size(list) != 0) {
		apiserver_add_forbidden(errs, "status.loadBalancer.ingress",
					"may only be used when `spec.type` is 'LoadBalancer'");
		return;
	}
	json_t *kept = addresses_of(old);
	for (size_t i = 0; i < json_array_size(list); i++)
		check_ingress(json_array_get(list, i), i, kept, errs);
	json_decref(kept);
}
