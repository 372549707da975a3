/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Service: defaults that depend on other fields, and allocation of cluster addresses and node ports. */
#include "apiserver/kind/service.h"

#include <string.h>

#include "api/meta.h"
#include "api/tree.h"
#include "api/tree_copy.h"
#include "apiserver/kind/service_addresses_priv.h"
#include "apiserver/kind/service_status_priv.h"
#include "apiserver/kind/service_validate_priv.h"
#include "apiserver/kind/strategy.h"
#include "apiserver/kind/table_cells.h"
#include "apiserver/rules/field_errors.h"
#include "apiserver/rules/ip_rules.h"
#include "apiserver/rules/members.h"
#include "base/err.h"
#include "base/strbuf.h"

bool apiserver_service_is_headless(const json_t *spec)
{
	const json_t *list = json_object_get(spec, "clusterIPs");
	const char *first = api_text(json_array_get(list, 0));
	return json_array_size(list) == 1 && strcmp(first, "None") == 0;
}

bool apiserver_service_is_external(const json_t *spec)
{
	return apiserver_is(spec, "type", "LoadBalancer") ||
	       apiserver_is(spec, "type", "NodePort") ||
	       (apiserver_is(spec, "type", "ClusterIP") &&
		json_array_size(json_object_get(spec, "externalIPs")) != 0);
}

static bool needs_address(const json_t *spec)
{
	return !apiserver_is(spec, "type", "ExternalName");
}

static bool needs_node_ports(const json_t *spec)
{
	return apiserver_is(spec, "type", "NodePort") || apiserver_is(spec, "type", "LoadBalancer");
}

static bool needs_health_port(const json_t *spec)
{
	return apiserver_is(spec, "type", "LoadBalancer") &&
	       apiserver_is(spec, "externalTrafficPolicy", "Local");
}

/* ---- defaults ---- */

static void default_affinity(json_t *spec)
{
	apiserver_set_default(spec, "sessionAffinity", json_string("None"));
	if (apiserver_is(spec, "sessionAffinity", "None"))
		json_object_del(spec, "sessionAffinityConfig");
	if (apiserver_is(spec, "sessionAffinity", "ClientIP") &&
	    api_get(spec, "sessionAffinityConfig.clientIP.timeoutSeconds") == NULL)
		json_object_set_new(spec, "sessionAffinityConfig",
				    json_pack("{s{si}}", "clientIP", "timeoutSeconds", 10800));
}

static void default_ports(json_t *spec)
{
	json_t *port;
	size_t i;
	json_array_foreach (json_object_get(spec, "ports"), i, port) {
		const json_t *target = json_object_get(port, "targetPort");
		apiserver_set_default(port, "protocol", json_string("TCP"));
		if (target == NULL || (json_is_string(target) && json_string_length(target) == 0) ||
		    (json_is_integer(target) && json_integer_value(target) == 0))
			json_object_set_new(port, "targetPort",
					    json_integer(apiserver_number(port, "port")));
	}
}

static void put_defaults(json_t *spec)
{
	default_affinity(spec);
	apiserver_set_default(spec, "type", json_string("ClusterIP"));
	default_ports(spec);
	if (apiserver_service_is_external(spec))
		apiserver_set_default(spec, "externalTrafficPolicy", json_string("Cluster"));
	if (needs_node_ports(spec) || apiserver_is(spec, "type", "ClusterIP"))
		apiserver_set_default(spec, "internalTrafficPolicy", json_string("Cluster"));
	if (apiserver_is(spec, "type", "LoadBalancer"))
		apiserver_set_default(spec, "allocateLoadBalancerNodePorts", json_true());
}

/* ---- an update that omits allocated values keeps them ---- */

static void keep_field(json_t *spec, const json_t *was, const char *key)
{
	json_t *v = json_object_get(was, key);
	if (v != NULL)
		apiserver_set_default(spec, key, api_tree_copy(v));
}

static bool uses_node_port(const json_t *spec, long long number)
{
	const json_t *list = json_object_get(spec, "ports");
	for (size_t i = 0; i < json_array_size(list); i++) {
		if (apiserver_number(json_array_get(list, i), "nodePort") == number)
			return true;
	}
	return false;
}

static void keep_node_ports(json_t *spec, const json_t *was)
{
	const json_t *list = json_object_get(was, "ports");
	json_t *port;
	size_t i;
	json_array_foreach (json_object_get(spec, "ports"), i, port) {
		for (size_t k = 0; k < json_array_size(list); k++) {
			const json_t *old = json_array_get(list, k);
			long long number = apiserver_number(old, "nodePort");
			if (apiserver_number(port, "nodePort") == 0 && number != 0 &&
			    apiserver_is(port, "name", api_get_string(old, "name")) &&
			    !uses_node_port(spec, number))
				json_object_set_new(port, "nodePort", json_integer(number));
		}
	}
}

static void keep_allocated(json_t *spec, const json_t *was)
{
	if (needs_address(was) && needs_address(spec)) {
		keep_field(spec, was, "clusterIP");
		keep_field(spec, was, "clusterIPs");
	}
	if (needs_node_ports(was) && needs_node_ports(spec))
		keep_node_ports(spec, was);
	if (needs_health_port(was) && needs_health_port(spec))
		keep_field(spec, was, "healthCheckNodePort");
}

static bool is_same(const json_t *left, const json_t *right, const char *key)
{
	const json_t *x = json_object_get(left, key), *y = json_object_get(right, key);
	return x == NULL || y == NULL ? x == y : json_equal(x, y) != 0;
}

/* clusterIP is the first of clusterIPs: a client that changes only clusterIP means both. */
static void join_addresses(json_t *spec, const json_t *was)
{
	const json_t *one = json_object_get(spec, "clusterIP");
	const json_t *all = json_object_get(spec, "clusterIPs");
	if (was == NULL) {
		if (one != NULL && json_array_size(all) == 0)
			json_object_set_new(spec, "clusterIPs", json_pack("[O]", one));
		return;
	}
	if (is_same(spec, was, "clusterIP") || !is_same(spec, was, "clusterIPs"))
		return;
	if (one == NULL)
		json_object_del(spec, "clusterIPs");
	else
		json_object_set_new(spec, "clusterIPs", json_pack("[O]", one));
}

static void drop_same(json_t *spec, const json_t *was, const char *key)
{
	if (is_same(spec, was, key))
		json_object_del(spec, key);
}

/* Drops all node ports, or none if the client added one, which validation then refuses. */
static void drop_node_ports(json_t *spec, const json_t *was)
{
	json_t *ports = json_object_get(spec, "ports"), *port;
	size_t i;
	json_array_foreach (ports, i, port) {
		long long number = apiserver_number(port, "nodePort");
		if (number != 0 && !uses_node_port(was, number))
			return;
	}
	json_array_foreach (ports, i, port)
		json_object_del(port, "nodePort");
}

/* Drops allocated values that the new type does not need and the client did not change. */
static void drop_unneeded(json_t *spec, const json_t *was)
{
	if (needs_address(was) && !needs_address(spec)) {
		if (is_same(spec, was, "clusterIP") && is_same(spec, was, "clusterIPs")) {
			json_object_del(spec, "clusterIP");
			json_object_del(spec, "clusterIPs");
		}
		drop_same(spec, was, "ipFamilies");
		drop_same(spec, was, "ipFamilyPolicy");
	}
	if (needs_node_ports(was) && !needs_node_ports(spec))
		drop_node_ports(spec, was);
	if (needs_health_port(was) && !needs_health_port(spec))
		drop_same(spec, was, "healthCheckNodePort");
	if (apiserver_is(was, "type", "LoadBalancer") &&
	    !apiserver_is(spec, "type", "LoadBalancer")) {
		drop_same(spec, was, "allocateLoadBalancerNodePorts");
		drop_same(spec, was, "loadBalancerClass");
	}
	if (apiserver_service_is_external(was) && !apiserver_service_is_external(spec))
		drop_same(spec, was, "externalTrafficPolicy");
}

/* An ExternalName Service has no traffic policy. kube-apiserver drops a valid one when it reads the
 * object; an invalid one remains, for validation to refuse. */
static void drop_traffic(json_t *spec)
{
	if (!needs_address(spec) && (apiserver_is(spec, "internalTrafficPolicy", "Cluster") ||
				     apiserver_is(spec, "internalTrafficPolicy", "Local")))
		json_object_del(spec, "internalTrafficPolicy");
}

/* ---- address families ---- */

static const char *main_family_of(const struct apiserver_env *env)
{
	const char *first = env->service_cidrs != NULL ? env->service_cidrs[0] : NULL;
	return first != NULL && strchr(first, ':') != NULL ? "IPv6" : "IPv4";
}

static bool has_two_families(const struct apiserver_env *env)
{
	return env->service_cidrs != NULL && env->service_cidrs[0] != NULL &&
	       env->service_cidrs[1] != NULL;
}

static void add_other_family(json_t *families)
{
	const char *first = api_text(json_array_get(families, 0));
	if (json_array_size(families) == 1)
		json_array_append_new(families,
				      json_string(strcmp(first, "IPv4") == 0 ? "IPv6" : "IPv4"));
}

static void default_families(const struct apiserver_env *env, json_t *spec, bool loose)
{
	const json_t *ips = json_object_get(spec, "clusterIPs");
	apiserver_set_default(spec, "ipFamilies", json_array());
	json_t *families = json_object_get(spec, "ipFamilies");
	for (size_t i = json_array_size(families); i < json_array_size(ips); i++) {
		const char *s = api_text(json_array_get(ips, i));
		if (strcmp(s, "None") != 0)
			json_array_append_new(
				families,
				json_string(apiserver_address_family(s) == 6 ? "IPv6" : "IPv4"));
	}
	if (json_array_size(families) == 0)
		json_array_append_new(families, json_string(main_family_of(env)));
	if (!apiserver_is(spec, "ipFamilyPolicy", "SingleStack") &&
	    (loose || has_two_families(env)))
		add_other_family(families);
}

static void set_families(const struct apiserver_env *env, json_t *object, const json_t *old)
{
	json_t *spec = json_object_get(object, "spec");
	const json_t *was = json_object_get(old, "spec");
	/* Headless without a selector: its endpoints, set by others, may be of both families. */
	bool loose = apiserver_is(spec, "clusterIP", "None") &&
		     json_object_size(json_object_get(spec, "selector")) == 0;
	struct api_errors errs = { 0 };
	if (!needs_address(spec))
		return;
	if (was != NULL)
		keep_field(spec, was, "ipFamilyPolicy");
	apiserver_set_default(spec, "ipFamilyPolicy",
			      json_string(loose ? "RequireDualStack" : "SingleStack"));
	apiserver_service_check_families(env, object, old, &errs);
	if (errs.n == 0)
		default_families(env, spec, loose);
	api_errors_done(&errs);
}

static void prepare_service(const struct apiserver_env *env, json_t *object, const json_t *old)
{
	json_t *spec = apiserver_make_member(object, "spec");
	const json_t *was = json_object_get(old, "spec");
	put_defaults(spec);
	if (old != NULL) {
		apiserver_copy_old(object, old, "status");
		if (!apiserver_is(spec, "type", "LoadBalancer"))
			json_object_set_new(apiserver_make_member(object, "status"), "loadBalancer",
					    json_object());
		keep_allocated(spec, was);
	} else {
		json_object_set_new(object, "status", json_pack("{s{}}", "loadBalancer"));
	}
	join_addresses(spec, was);
	if (old != NULL)
		drop_unneeded(spec, was);
	drop_traffic(spec);
	set_families(env, object, old);
}

/* ---- allocation ---- */

static bool had_address(const json_t *old, const char *text)
{
	const json_t *list = api_get(old, "spec.clusterIPs");
	for (size_t i = 0; i < json_array_size(list); i++) {
		if (strcmp(api_text(json_array_get(list, i)), text) == 0)
			return true;
	}
	return false;
}

static void fail_address(const json_t *spec, const char *want, int code, struct api_errors *errs)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	const json_t *ips = json_object_get(spec, "clusterIPs");
	strbuf_addf(&text, "failed to allocate IP%s%s: ", want[0] != '\0' ? " " : "", want);
	if (code == ERR_CONFLICT)
		strbuf_adds(&text, "provided IP is already allocated");
	else if (code == ERR_RANGE)
		strbuf_adds(&text, "the provided network does not match the current range");
	else
		strbuf_adds(&text, "range is full");
	apiserver_add_invalid(errs, "spec.clusterIPs", ips, text.s);
}

/* Drops the items that were not allocated. */
static void truncate_list(json_t *list, size_t count)
{
	while (json_array_size(list) > count)
		json_array_remove(list, count);
}

static int admit_addresses(const struct apiserver_env *env, json_t *spec, const json_t *old,
			   struct api_errors *errs)
{
	const json_t *families = json_object_get(spec, "ipFamilies");
	if (!needs_address(spec) || apiserver_service_is_headless(spec))
		return 0;
	apiserver_set_default(spec, "clusterIPs", json_array());
	json_t *ips = json_object_get(spec, "clusterIPs");
	for (size_t i = 0; i < json_array_size(families); i++) {
		const char *want = api_text(json_array_get(ips, i));
		const char *family = api_text(json_array_get(families, i));
		char got[64];
		if (had_address(old, want))
			continue;
		int r = env->allocate(env->ctx, strcmp(family, "IPv6") == 0 ? 6 : 4, want, got,
				      sizeof(got));
		if (r < 0) {
			fail_address(spec, want, r, errs);
			truncate_list(ips, i);
			return r;
		}
		if (i >= json_array_size(ips))
			json_array_append_new(ips, json_string(got));
	}
	json_object_set(spec, "clusterIP", json_array_get(ips, 0));
	return 0;
}

/* The node port of an earlier port with the same number and another protocol, which are shared; 0:
 * none. */
static long long find_shared_node_port(const json_t *ports, size_t before, const json_t *port)
{
	for (size_t k = 0; k < json_array_size(ports); k++) {
		const json_t *other = json_array_get(ports, k);
		long long number = apiserver_number(other, "nodePort");
		if (other != port && number != 0 && k < before &&
		    apiserver_number(other, "port") == apiserver_number(port, "port"))
			return number;
	}
	return 0;
}

static int admit_port(const struct apiserver_env *env, json_t *object, const char *key,
		      long long want, const char *field, struct api_errors *errs)
{
	unsigned got = 0;
	int r = env->allocate_port(env->ctx, (unsigned)want, &got);
	if (r >= 0) {
		json_object_set_new(object, key, json_integer(got));
		return 0;
	}
	json_t *value = json_integer(want);
	apiserver_add_invalid(errs, field, value,
			      r == ERR_RANGE ? "provided port is not in the valid range. The range "
					       "of valid ports is 30000-32767"
			      : r == ERR_CONFLICT ? "provided port is already allocated"
						  : "range is full");
	json_decref(value);
	return r;
}

static int admit_node_ports(const struct apiserver_env *env, const json_t *spec, const json_t *was,
			    struct api_errors *errs)
{
	const json_t *ports = json_object_get(spec, "ports");
	bool wanted = apiserver_is(spec, "type", "NodePort") ||
		      json_is_true(json_object_get(spec, "allocateLoadBalancerNodePorts"));
	struct apiserver_path p;
	for (size_t i = 0; needs_node_ports(spec) && i < json_array_size(ports); i++) {
		json_t *port = json_array_get(ports, i);
		long long number = apiserver_number(port, "nodePort");
		long long shared = find_shared_node_port(ports, i, port);
		if ((number == 0 && !wanted) || (number != 0 && uses_node_port(was, number)))
			continue;
		if (shared != 0 && (number == 0 || number == shared)) {
			json_object_set_new(port, "nodePort", json_integer(shared));
			continue;
		}
		int r = admit_port(env, port, "nodePort", number,
				   apiserver_format_path(&p, "spec.ports[%zu].nodePort", i), errs);
		if (r < 0) {
			for (; i < json_array_size(ports); i++)
				json_object_del(json_array_get(ports, i), "nodePort");
			return r;
		}
	}
	return 0;
}

static int admit_ports(const struct apiserver_env *env, json_t *spec, const json_t *was,
		       struct api_errors *errs)
{
	long long health = apiserver_number(spec, "healthCheckNodePort");
	int r = admit_node_ports(env, spec, was, errs);
	if (r >= 0 && needs_health_port(spec) &&
	    (health == 0 || health != apiserver_number(was, "healthCheckNodePort")))
		r = admit_port(env, spec, "healthCheckNodePort", health, "spec.healthCheckNodePort",
			       errs);
	if (r < 0)
		json_object_del(spec, "healthCheckNodePort"); /* it was not allocated */
	return r;
}

/* ---- release ---- */

static void release_addresses(const struct apiserver_env *env, const json_t *object,
			      const json_t *stays)
{
	const json_t *ips = api_get(object, "spec.clusterIPs");
	for (size_t i = 0; i < json_array_size(ips); i++) {
		const char *s = api_text(json_array_get(ips, i));
		if (strcmp(s, "None") != 0 && !had_address(stays, s))
			env->release(env->ctx, s);
	}
}

static void release_ports(const struct apiserver_env *env, const json_t *object,
			  const json_t *stays)
{
	const json_t *ports = api_get(object, "spec.ports"), *spec = json_object_get(stays, "spec");
	long long health = apiserver_number(json_object_get(object, "spec"), "healthCheckNodePort");
	for (size_t i = 0; i < json_array_size(ports); i++) {
		long long number = apiserver_number(json_array_get(ports, i), "nodePort");
		if (number != 0 && !uses_node_port(spec, number))
			env->release_port(env->ctx, (unsigned)number);
	}
	if (health != 0 && health != apiserver_number(spec, "healthCheckNodePort"))
		env->release_port(env->ctx, (unsigned)health);
}

static void release_changed(const struct apiserver_env *env, const json_t *object,
			    const json_t *old)
{
	release_addresses(env, object, old);
	release_ports(env, object, old);
}

static void release_removed(const struct apiserver_env *env, const json_t *object)
{
	release_changed(env, object, NULL);
}

static int admit_service(const struct apiserver_env *env, json_t *object, const json_t *old,
			 struct api_errors *errs)
{
	json_t *spec = json_object_get(object, "spec");
	int r = admit_addresses(env, spec, old, errs);
	if (r < 0) {
		release_addresses(env, object, old); /* no port was allocated yet */
		return r;
	}
	r = admit_ports(env, spec, json_object_get(old, "spec"), errs);
	if (r < 0)
		release_changed(env, object, old);
	return r;
}

const struct apiserver_strategy apiserver_service_strategy = {
	.kind = "Service",
	.group = "",
	.prepare = prepare_service,
	.prepare_status = apiserver_service_prepare_status,
	.validate_status = apiserver_service_validate_status,
	.validate = apiserver_service_validate,
	.admit = admit_service,
	.undo = release_changed,
	.removed = release_removed,
	.bumps_generation = apiserver_no_generation,
	.cells = apiserver_cells_service,
};
