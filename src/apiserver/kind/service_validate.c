/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Validation of Services, in the order of kube-apiserver, which decides the order of errors. */
#include "apiserver/kind/service_validate_priv.h"

#include <stdio.h>
#include <string.h>

#include "api/meta.h"
#include "api/tree.h"
#include "apiserver/kind/service.h"
#include "apiserver/kind/service_addresses_priv.h"
#include "apiserver/kind/strategy.h"
#include "apiserver/rules/field_errors.h"
#include "apiserver/rules/ip_rules.h"
#include "apiserver/rules/members.h"
#include "apiserver/rules/name_rules.h"
#include "base/map.h"
#include "base/slice.h"
#include "base/strbuf.h"

static const char *const protocols[] = { "SCTP", "TCP", "UDP", NULL };

static bool is_external_name(const json_t *spec)
{
	return apiserver_is(spec, "type", "ExternalName");
}

static bool is_balanced(const json_t *spec)
{
	return apiserver_is(spec, "type", "LoadBalancer");
}

static bool needs_health_check(const json_t *spec)
{
	return is_balanced(spec) && apiserver_is(spec, "externalTrafficPolicy", "Local");
}

static void check_class(const json_t *spec, const json_t *was, struct api_errors *errs)
{
	static const char field[] = "spec.loadBalancerClass";
	const json_t *class = json_object_get(spec, "loadBalancerClass");
	const json_t *old = json_object_get(was, "loadBalancerClass");
	if (was != NULL && is_balanced(was) && is_balanced(spec) &&
	    (class == NULL || old == NULL ? class != old : !json_equal(class, old)))
		apiserver_add_invalid(errs, field, class, "may not change once set");
	if (class != NULL && is_balanced(spec))
		apiserver_check_label_key(&(struct apiserver_field){ errs, field, NULL },
					  api_text(class));
	else if (class != NULL)
		apiserver_add_forbidden(errs, field,
					"may only be used when `type` is 'LoadBalancer'");
}

static void check_update(const json_t *spec, const json_t *was, struct api_errors *errs)
{
	apiserver_service_check_unchanged(spec, was, errs);
	check_class(spec, was, errs);
	if (needs_health_check(spec) && needs_health_check(was) &&
	    apiserver_number(spec, "healthCheckNodePort") !=
		    apiserver_number(was, "healthCheckNodePort"))
		apiserver_add_forbidden(errs, "spec.healthCheckNodePort", "field is immutable");
}

/* ---- ports ---- */

static void check_number(const json_t *value, const char *field, struct api_errors *errs)
{
	if (json_integer_value(value) < 1 || json_integer_value(value) > 65535)
		apiserver_add_invalid(errs, field, value, "must be between 1 and 65535, inclusive");
}

static void check_port_name(const json_t *list, size_t index, struct map *names,
			    struct api_errors *errs)
{
	const json_t *port = json_array_get(list, index);
	const char *name = api_get_string(port, "name");
	struct apiserver_path p;
	apiserver_format_path(&p, "spec.ports[%zu].name", index);
	if (name[0] == '\0') {
		if (json_array_size(list) > 1)
			apiserver_add_required(errs, p.s, "");
		return;
	}
	apiserver_check_label(&(struct apiserver_field){ errs, p.s, NULL }, name);
	if (map_set(names, slice_of(name), names) != NULL)
		apiserver_add_duplicate(errs, p.s, json_object_get(port, "name"));
}

static void check_port(const json_t *list, size_t index, struct map *names, struct api_errors *errs)
{
	const json_t *port = json_array_get(list, index);
	const json_t *target = json_object_get(port, "targetPort");
	const json_t *app = json_object_get(port, "appProtocol");
	struct apiserver_path p;
	check_port_name(list, index, names, errs);
	check_number(json_object_get(port, "port"),
		     apiserver_format_path(&p, "spec.ports[%zu].port", index), errs);
	apiserver_check_one_of(errs, apiserver_format_path(&p, "spec.ports[%zu].protocol", index),
			       api_get_string(port, "protocol"), protocols);
	apiserver_format_path(&p, "spec.ports[%zu].targetPort", index);
	if (json_is_string(target))
		apiserver_check_port_name(&(struct apiserver_field){ errs, p.s, NULL },
					  api_text(target));
	else
		check_number(target, p.s, errs);
	apiserver_format_path(&p, "spec.ports[%zu].appProtocol", index);
	if (app != NULL)
		apiserver_check_label_key(&(struct apiserver_field){ errs, p.s, NULL },
					  api_text(app));
}

/* True if a port before had this number and protocol. */
static bool had_port(struct map *seen, const json_t *port, const char *key)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	strbuf_addf(&text, "%lld/%s", apiserver_number(port, key),
		    api_get_string(port, "protocol"));
	return map_set(seen, strbuf_slice(&text), seen) != NULL;
}

/* A port as kube-apiserver's internal Go type is printed in errors. */
static void add_go_port(struct strbuf *out, const json_t *port)
{
	strbuf_adds(out, "{\"Name\":\"\",\"Protocol\":");
	strbuf_add_json(out, slice_of(api_get_string(port, "protocol")));
	strbuf_addf(out, ",\"AppProtocol\":null,\"Port\":%lld,\"TargetPort\":0,\"NodePort\":0}",
		    apiserver_number(port, "port"));
}

static void check_duplicate_node_ports(const json_t *list, struct api_errors *errs)
{
	struct apiserver_path p;
	struct map seen;
	map_init(&seen);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *port = json_array_get(list, i);
		const json_t *number = json_object_get(port, "nodePort");
		if (had_port(&seen, port, "nodePort") && number != NULL)
			apiserver_add_duplicate(
				errs, apiserver_format_path(&p, "spec.ports[%zu].nodePort", i),
				number);
	}
	map_done(&seen);
}

static void check_duplicate_ports(const json_t *spec, struct api_errors *errs)
{
	const json_t *list = json_object_get(spec, "ports");
	struct apiserver_path p;
	struct map seen;
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *number = json_object_get(json_array_get(list, i), "nodePort");
		apiserver_format_path(&p, "spec.ports[%zu].nodePort", i);
		if (number != NULL && apiserver_is(spec, "type", "ClusterIP"))
			apiserver_add_forbidden(errs, p.s,
						"may not be used when `type` is 'ClusterIP'");
	}
	check_duplicate_node_ports(list, errs);
	map_init(&seen);
	for (size_t i = 0; i < json_array_size(list); i++) {
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
		add_go_port(&text, json_array_get(list, i));
		if (had_port(&seen, json_array_get(list, i), "port"))
			api_errors_add(errs, API_FIELD_DUPLICATE,
				       apiserver_format_path(&p, "spec.ports[%zu]", i), text.s, "");
	}
	map_done(&seen);
}

/* ---- type, names, addresses, traffic ---- */

static void check_type(const json_t *spec, struct api_errors *errs)
{
	static const char *const not_none[] = { "LoadBalancer", "NodePort" };
	const json_t *first = json_array_get(json_object_get(spec, "clusterIPs"), 0);
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	for (size_t i = 0; i < ARRAY_LEN(not_none); i++) {
		if (!apiserver_is(spec, "type", not_none[i]) ||
		    !apiserver_service_is_headless(spec))
			continue;
		strbuf_addf(&text, "may not be set to 'None' for %s services", not_none[i]);
		apiserver_add_invalid(errs, "spec.clusterIPs[0]", first, text.s);
	}
}

static void check_external_name(const json_t *spec, struct api_errors *errs)
{
	static const char *const empty[] = { "clusterIPs", "ipFamilies", "ipFamilyPolicy" };
	const char *s = api_get_string(spec, "externalName");
	CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;
	struct apiserver_path p;
	if (!is_external_name(spec))
		return;
	for (size_t i = 0; i < ARRAY_LEN(empty); i++) {
		if (json_object_get(spec, empty[i]) != NULL)
			apiserver_add_forbidden(errs,
						apiserver_format_path(&p, "spec.%s", empty[i]),
						"may not be set for ExternalName services");
	}
	strbuf_adds(&name, s); /* a dot at its end is allowed */
	if (name.n != 0 && name.s[name.n - 1] == '.')
		name.s[--name.n] = '\0';
	if (name.n != 0)
		apiserver_check_subdomain(
			&(struct apiserver_field){ errs, "spec.externalName", NULL }, name.s);
	else
		apiserver_add_required(errs, "spec.externalName", "");
}

static void check_affinity(const json_t *spec, struct api_errors *errs)
{
	static const char *const words[] = { "ClientIP", "None", NULL };
	const json_t *seconds = api_get(spec, "sessionAffinityConfig.clientIP.timeoutSeconds");
	apiserver_check_one_of(errs, "spec.sessionAffinity",
			       api_get_string(spec, "sessionAffinity"), words);
	if (apiserver_is(spec, "sessionAffinity", "ClientIP") &&
	    (json_integer_value(seconds) <= 0 || json_integer_value(seconds) > 86400))
		apiserver_add_invalid(errs, "spec.sessionAffinityConfig.clientIP.timeoutSeconds",
				      seconds, "must be greater than 0 and less than 86400");
}

static void check_external_ips(const json_t *spec, const json_t *was, struct api_errors *errs)
{
	const json_t *list = json_object_get(spec, "externalIPs");
	struct apiserver_path p;
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *s = api_text(json_array_get(list, i));
		apiserver_format_path(&p, "spec.externalIPs[%zu]", i);
		if (apiserver_check_address(errs, p.s, s, json_object_get(was, "externalIPs")))
			apiserver_check_endpoint_address(errs, p.s, s);
	}
}

static void check_sources(const json_t *spec, const json_t *was, struct api_errors *errs)
{
	const json_t *list = json_object_get(spec, "loadBalancerSourceRanges");
	struct apiserver_path p;
	if (json_array_size(list) == 0)
		return;
	if (!is_balanced(spec))
		apiserver_add_forbidden(errs, "spec.LoadBalancerSourceRanges",
					"may only be used when `type` is 'LoadBalancer'");
	for (size_t i = 0; i < json_array_size(list); i++) {
		struct slice s = slice_trim(slice_of(api_text(json_array_get(list, i))));
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
		strbuf_add_slice(&text, s);
		apiserver_check_network(
			errs, apiserver_format_path(&p, "spec.LoadBalancerSourceRanges[%zu]", i),
			text.s, json_object_get(was, "loadBalancerSourceRanges"));
	}
}

static void check_traffic(const json_t *spec, struct api_errors *errs)
{
	static const char *const policies[] = { "Cluster", "Local", NULL };
	static const char *const spread[] = { "PreferClose", "PreferSameZone", "PreferSameNode",
					      NULL };
	const json_t *outer = json_object_get(spec, "externalTrafficPolicy");
	const json_t *port = json_object_get(spec, "healthCheckNodePort");
	if (!apiserver_service_is_external(spec) && outer != NULL)
		apiserver_add_invalid(errs, "spec.externalTrafficPolicy", outer,
				      "may only be set for externally-accessible services");
	else if (apiserver_service_is_external(spec))
		apiserver_check_one_of(errs, "spec.externalTrafficPolicy",
				       api_get_string(spec, "externalTrafficPolicy"), policies);
	if (!needs_health_check(spec) && port != NULL)
		apiserver_add_invalid(errs, "spec.healthCheckNodePort", port,
				      "may only be set when `type` is 'LoadBalancer' and "
				      "`externalTrafficPolicy` is 'Local'");
	if (json_object_get(spec, "internalTrafficPolicy") != NULL)
		apiserver_check_one_of(errs, "spec.internalTrafficPolicy",
				       api_get_string(spec, "internalTrafficPolicy"), policies);
	if (json_object_get(spec, "trafficDistribution") != NULL)
		apiserver_check_one_of(errs, "spec.trafficDistribution",
				       api_get_string(spec, "trafficDistribution"), spread);
}

static void check_spec(const json_t *object, const json_t *old, struct api_errors *errs)
{
	static const char *const types[] = { "ClusterIP", "ExternalName", "LoadBalancer",
					     "NodePort", NULL };
	const json_t *spec = json_object_get(object, "spec"), *was = json_object_get(old, "spec");
	const json_t *ports = json_object_get(spec, "ports");
	if (json_array_size(ports) == 0 && !apiserver_service_is_headless(spec) &&
	    !is_external_name(spec))
		apiserver_add_required(errs, "spec.ports", "");
	check_type(spec, errs);
	check_external_name(spec, errs);
	struct map names;
	map_init(&names);
	for (size_t i = 0; i < json_array_size(ports); i++)
		check_port(ports, i, &names, errs);
	map_done(&names);
	apiserver_check_labels(errs, "spec.selector", json_object_get(spec, "selector"));
	check_affinity(spec, errs);
	apiserver_service_check_ips(object, old, errs);
	check_external_ips(spec, was, errs);
	apiserver_check_one_of(errs, "spec.type", api_get_string(spec, "type"), types);
	check_duplicate_ports(spec, errs);
	check_sources(spec, was, errs);
	if (!is_balanced(spec) && json_object_get(spec, "allocateLoadBalancerNodePorts") != NULL)
		apiserver_add_forbidden(errs, "spec.allocateLoadBalancerNodePorts",
					"may only be used when `type` is 'LoadBalancer'");
	check_class(spec, NULL, errs);
	check_traffic(spec, errs);
}

/* Ports with different numbers cannot share a node port. Stops at the first error: until then, all
 * ports with the same node port have the same number. */
static void check_node_ports(const json_t *spec, struct api_errors *errs)
{
	const json_t *list = json_object_get(spec, "ports");
	struct apiserver_path p;
	struct map first;
	if (!is_balanced(spec) && !apiserver_is(spec, "type", "NodePort"))
		return;
	map_init(&first);
	for (size_t i = 0; i < json_array_size(list) && errs->n == 0; i++) {
		json_t *port = json_array_get(list, i);
		const json_t *number = json_object_get(port, "nodePort");
		char key[24];
		snprintf(key, sizeof(key), "%lld", apiserver_number(port, "nodePort"));
		const json_t *other = map_get(&first, slice_of(key));
		if (other == NULL)
			IGNORE(map_set(&first, slice_of(key), port) != NULL);
		else if (number != NULL &&
			 apiserver_number(other, "port") != apiserver_number(port, "port"))
			apiserver_add_invalid(
				errs, apiserver_format_path(&p, "spec.ports[%zu].nodePort", i),
				number, "provided port is already allocated");
	}
	map_done(&first);
}

void apiserver_service_validate(const struct apiserver_env *env, const json_t *object,
				const json_t *old, struct api_errors *errs)
{
	struct api_errors first = { 0 };
	apiserver_service_check_families(env, object, old, &first);
	if (first.n == 0)
		check_node_ports(json_object_get(object, "spec"), &first);
	if (first.n != 0) { /* kube-apiserver allocates before it validates the rest */
		api_errors_cut(errs, 0);
		api_errors_move(errs, &first);
		api_errors_done(&first);
		return;
	}
	api_errors_done(&first);
	if (old != NULL)
		check_update(json_object_get(object, "spec"), json_object_get(old, "spec"), errs);
	check_spec(object, old, errs);
}
