/* The checks of Services, in the server's order. */
#include <string.h>

#include "api/meta.h"
#include "api/tree.h"
#include "apiserver/address.h"
#include "apiserver/kind_priv.h"
#include "apiserver/text.h"
#include "base/slice.h"
#include "base/strbuf.h"

static const char *const families[] = { "IPv4", "IPv6", NULL };
static const char *const protocols[] = { "SCTP", "TCP", "UDP", NULL };

static bool is_external_name(const json_t *spec)
{
	return apiserver_is(spec, "type", "ExternalName");
}

static bool has_range(const struct apiserver_env *env, const char *family)
{
	for (size_t i = 0; env->service_cidrs != NULL && env->service_cidrs[i] != NULL; i++) {
		bool six = strchr(env->service_cidrs[i], ':') != NULL;
		if (six == (strcmp(family, "IPv6") == 0))
			return true;
	}
	return false;
}

/* ---- addresses and families ---- */

static void check_joined(const json_t *spec, struct api_errors *errs)
{
	const json_t *ips = json_object_get(spec, "clusterIPs");
	const json_t *one = json_object_get(spec, "clusterIP");
	if (one == NULL && json_array_size(ips) != 0)
		apiserver_invalid(errs, "spec.clusterIPs", ips,
				  "must be empty when `clusterIP` is not specified");
	if (one != NULL && json_array_size(ips) == 0)
		apiserver_required(errs, "spec.clusterIPs", "");
	else if (one != NULL && !json_equal(one, json_array_get(ips, 0)))
		apiserver_invalid(errs, "spec.clusterIPs", ips,
				  "first value must match `clusterIP`");
}

static void check_family_words(const json_t *spec, struct api_errors *errs)
{
	static const char *const policies[] = { "PreferDualStack", "RequireDualStack",
						"SingleStack", NULL };
	const json_t *list = json_object_get(spec, "ipFamilies");
	struct apiserver_path p;
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *v = json_array_get(list, i);
		apiserver_path(&p, "spec.ipFamilies[%zu]", i);
		apiserver_one_of(errs, p.s, json_string_value(v), families);
		for (size_t k = 0; k < i; k++) {
			if (json_equal(json_array_get(list, k), v)) {
				apiserver_duplicate(errs, p.s, v);
				break;
			}
		}
	}
	if (json_object_get(spec, "ipFamilyPolicy") != NULL)
		apiserver_one_of(errs, "spec.ipFamilyPolicy",
				 api_get_string(spec, "ipFamilyPolicy"), policies);
}

static bool check_each_ip(const json_t *ips, const json_t *old, struct api_errors *errs)
{
	struct apiserver_path p;
	bool fine = true;
	for (size_t i = 0; i < json_array_size(ips); i++) {
		const char *s = json_string_value(json_array_get(ips, i));
		if (i == 0 && strcmp(s, "None") == 0) {
			if (json_array_size(ips) > 1) {
				fine = false;
				apiserver_invalid(errs, "spec.clusterIPs", ips,
						  "'None' must be the first and only value");
			}
			continue;
		}
		fine &= apiserver_address(errs, apiserver_path(&p, "spec.clusterIPs[%zu]", i), s,
					  api_get(old, "spec.clusterIPs"));
	}
	if (json_array_size(ips) > 2)
		apiserver_invalid(errs, "spec.clusterIPs", ips, "may only hold up to 2 values");
	return fine;
}

static int family_of(const json_t *list, size_t i)
{
	return apiserver_address_family(json_string_value(json_array_get(list, i)));
}

static void check_ips_fit(const json_t *spec, struct api_errors *errs)
{
	const json_t *ips = json_object_get(spec, "clusterIPs");
	const json_t *list = json_object_get(spec, "ipFamilies");
	struct apiserver_path p;
	if (json_array_size(ips) > 1 && family_of(ips, 0) == family_of(ips, 1))
		apiserver_invalid(errs, "spec.clusterIPs", ips,
				  "may specify no more than one IP for each IP family");
	for (size_t i = 0; !apiserver_service_is_headless(spec) && i < json_array_size(ips) &&
			   i < json_array_size(list);
	     i++) {
		const char *family = json_string_value(json_array_get(list, i));
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
		strbuf_addf(&text, "expected an %s value as indicated by `ipFamilies[%zu]`", family,
			    i);
		if ((strcmp(family, "IPv4") == 0 && family_of(ips, i) == 6) ||
		    (strcmp(family, "IPv6") == 0 && family_of(ips, i) != 6))
			apiserver_invalid(errs, apiserver_path(&p, "spec.clusterIPs[%zu]", i),
					  json_array_get(ips, i), text.s);
	}
}

static void check_ips(const json_t *o, const json_t *old, struct api_errors *errs)
{
	const json_t *spec = json_object_get(o, "spec");
	if (is_external_name(spec))
		return;
	check_joined(spec, errs);
	check_family_words(spec, errs);
	if (check_each_ip(json_object_get(spec, "clusterIPs"), old, errs))
		check_ips_fit(spec, errs);
}

static void check_policy(const json_t *spec, const json_t *was, struct api_errors *errs)
{
	static const char field[] = "spec.ipFamilyPolicy";
	const json_t *policy = json_object_get(spec, "ipFamilyPolicy");
	size_t ips = json_array_size(json_object_get(spec, "clusterIPs"));
	size_t n = json_array_size(json_object_get(spec, "ipFamilies"));
	size_t old_ips = json_array_size(json_object_get(was, "clusterIPs"));
	size_t old_n = json_array_size(json_object_get(was, "ipFamilies"));
	bool single = apiserver_is(spec, "ipFamilyPolicy", "SingleStack");
	if (!single && ips != 0 && ips < old_ips)
		apiserver_invalid(errs, field, policy,
				  "must be 'SingleStack' to release the secondary cluster IP");
	if (!single && n != 0 && n < old_n)
		apiserver_invalid(errs, field, policy,
				  "must be 'SingleStack' to release the secondary IP family");
	if (single && ips == 2)
		apiserver_invalid(errs, field, policy,
				  "must be 'RequireDualStack' or 'PreferDualStack' when multiple "
				  "cluster IPs are specified");
	if (single && n == 2)
		apiserver_invalid(
			errs, field, policy,
			"must be 'RequireDualStack' or 'PreferDualStack' when multiple IP "
			"families are specified");
}

/* Addresses whose family is not given must have one that there is. */
static void check_known(const struct apiserver_env *env, const json_t *spec,
			struct api_errors *errs)
{
	const json_t *ips = json_object_get(spec, "clusterIPs");
	struct apiserver_path p;
	for (size_t i = json_array_size(json_object_get(spec, "ipFamilies"));
	     i < json_array_size(ips) &&
	     strcmp(json_string_value(json_array_get(ips, i)), "None") != 0;
	     i++) {
		const char *family = family_of(ips, i) == 6 ? "IPv6" : "IPv4";
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
		strbuf_addf(&text, "%s is not configured on this cluster", family);
		if (!has_range(env, family))
			apiserver_invalid(errs, apiserver_path(&p, "spec.clusterIPs[%zu]", i), ips,
					  text.s);
	}
}

static void check_configured(const struct apiserver_env *env, const json_t *spec,
			     struct api_errors *errs)
{
	const json_t *list = json_object_get(spec, "ipFamilies");
	struct apiserver_path p;
	if (apiserver_is(spec, "ipFamilyPolicy", "RequireDualStack") &&
	    !(has_range(env, "IPv4") && has_range(env, "IPv6")))
		apiserver_invalid(errs, "spec.ipFamilyPolicy",
				  json_object_get(spec, "ipFamilyPolicy"),
				  "this cluster is not configured for dual-stack services");
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *v = json_array_get(list, i);
		if (!has_range(env, json_string_value(v)))
			apiserver_invalid(errs, apiserver_path(&p, "spec.ipFamilies[%zu]", i), v,
					  "not configured on this cluster");
	}
}

void apiserver_service_check_families(const struct apiserver_env *env, const json_t *o,
				      const json_t *old, struct api_errors *errs)
{
	const json_t *spec = json_object_get(o, "spec");
	size_t before = errs->n;
	if (is_external_name(spec))
		return;
	check_ips(o, old, errs);
	if (errs->n != before)
		return;
	check_policy(spec, json_object_get(old, "spec"), errs);
	check_known(env, spec, errs);
	if (errs->n != before || (apiserver_is(spec, "clusterIP", "None") &&
				  json_object_size(json_object_get(spec, "selector")) == 0))
		return;
	check_configured(env, spec, errs);
}

/* ---- what may not change ---- */

static bool listed_same(const json_t *a, const json_t *b, size_t i)
{
	const json_t *x = json_array_get(a, i), *y = json_array_get(b, i);
	return x == NULL || y == NULL ? x == y : json_equal(x, y) != 0;
}

static void check_ips_kept(const json_t *spec, const json_t *was, struct api_errors *errs)
{
	const json_t *now = json_object_get(spec, "clusterIPs");
	const json_t *old = json_object_get(was, "clusterIPs");
	size_t n = json_array_size(now), n_old = json_array_size(old);
	struct apiserver_path p;
	if (is_external_name(spec) || is_external_name(was) ||
	    (apiserver_service_is_headless(spec) && apiserver_service_is_headless(was)))
		return;
	for (size_t i = 0; i < MIN(n, n_old) && (i == 0 || n == n_old); i++) {
		if (!listed_same(now, old, i))
			apiserver_invalid(errs, apiserver_path(&p, "spec.clusterIPs[%zu]", i), now,
					  "may not change once set");
	}
	if (n_old > n && n == 1 && !apiserver_is(spec, "ipFamilyPolicy", "SingleStack"))
		apiserver_invalid(errs, "spec.ipFamilyPolicy",
				  json_object_get(spec, "ipFamilyPolicy"),
				  "must be set to 'SingleStack' when releasing the secondary "
				  "clusterIP");
}

static void check_families_kept(const json_t *spec, const json_t *was, struct api_errors *errs)
{
	const json_t *now = json_object_get(spec, "ipFamilies");
	const json_t *old = json_object_get(was, "ipFamilies");
	size_t n = json_array_size(now), n_old = json_array_size(old);
	if (is_external_name(spec) || is_external_name(was) ||
	    apiserver_service_is_headless(spec) || apiserver_service_is_headless(was))
		return;
	for (size_t i = 0; i < MIN(n, n_old) && (i == 0 || n == n_old); i++) {
		if (!listed_same(now, old, i))
			apiserver_invalid(errs, "spec.ipFamilies[0]", now,
					  "may not change once set");
	}
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
		apiserver_invalid(errs, field, class, "may not change once set");
	if (class != NULL && is_balanced(spec))
		apiserver_label_key(&(struct apiserver_at){ errs, field, NULL },
				    json_string_value(class));
	else if (class != NULL)
		apiserver_forbidden(errs, field, "may only be used when `type` is 'LoadBalancer'");
}

static void check_update(const json_t *spec, const json_t *was, struct api_errors *errs)
{
	check_ips_kept(spec, was, errs);
	check_families_kept(spec, was, errs);
	check_class(spec, was, errs);
	if (needs_health_check(spec) && needs_health_check(was) &&
	    apiserver_number(spec, "healthCheckNodePort") !=
		    apiserver_number(was, "healthCheckNodePort"))
		apiserver_forbidden(errs, "spec.healthCheckNodePort", "field is immutable");
}

/* ---- ports ---- */

static void check_number(const json_t *v, const char *field, struct api_errors *errs)
{
	if (json_integer_value(v) < 1 || json_integer_value(v) > 65535)
		apiserver_invalid(errs, field, v, "must be between 1 and 65535, inclusive");
}

static void check_port_name(const json_t *list, size_t i, struct api_errors *errs)
{
	const json_t *port = json_array_get(list, i);
	const char *name = api_get_string(port, "name");
	struct apiserver_path p;
	apiserver_path(&p, "spec.ports[%zu].name", i);
	if (name[0] == '\0') {
		if (json_array_size(list) > 1)
			apiserver_required(errs, p.s, "");
		return;
	}
	apiserver_label(&(struct apiserver_at){ errs, p.s, NULL }, name);
	for (size_t k = 0; k < i; k++) {
		if (apiserver_is(json_array_get(list, k), "name", name)) {
			apiserver_duplicate(errs, p.s, json_object_get(port, "name"));
			break;
		}
	}
}

static void check_port(const json_t *list, size_t i, struct api_errors *errs)
{
	const json_t *port = json_array_get(list, i);
	const json_t *target = json_object_get(port, "targetPort");
	const json_t *app = json_object_get(port, "appProtocol");
	struct apiserver_path p;
	check_port_name(list, i, errs);
	check_number(json_object_get(port, "port"), apiserver_path(&p, "spec.ports[%zu].port", i),
		     errs);
	apiserver_one_of(errs, apiserver_path(&p, "spec.ports[%zu].protocol", i),
			 api_get_string(port, "protocol"), protocols);
	apiserver_path(&p, "spec.ports[%zu].targetPort", i);
	if (json_is_string(target))
		apiserver_port_name(&(struct apiserver_at){ errs, p.s, NULL },
				    json_string_value(target));
	else
		check_number(target, p.s, errs);
	apiserver_path(&p, "spec.ports[%zu].appProtocol", i);
	if (app != NULL)
		apiserver_label_key(&(struct apiserver_at){ errs, p.s, NULL },
				    json_string_value(app));
}

static bool port_twice(const json_t *list, size_t i, const char *key)
{
	const json_t *port = json_array_get(list, i);
	for (size_t k = 0; k < i; k++) {
		const json_t *other = json_array_get(list, k);
		if (apiserver_number(other, key) == apiserver_number(port, key) &&
		    apiserver_is(other, "protocol", api_get_string(port, "protocol")))
			return true;
	}
	return false;
}

/* A port as the server's inner type is written. */
static void add_inner_port(struct strbuf *out, const json_t *port)
{
	strbuf_adds(out, "{\"Name\":\"\",\"Protocol\":");
	strbuf_add_json(out, slice_of(api_get_string(port, "protocol")));
	strbuf_addf(out, ",\"AppProtocol\":null,\"Port\":%lld,\"TargetPort\":0,\"NodePort\":0}",
		    apiserver_number(port, "port"));
}

static void check_ports_twice(const json_t *spec, struct api_errors *errs)
{
	const json_t *list = json_object_get(spec, "ports");
	struct apiserver_path p;
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *number = json_object_get(json_array_get(list, i), "nodePort");
		apiserver_path(&p, "spec.ports[%zu].nodePort", i);
		if (number != NULL && apiserver_is(spec, "type", "ClusterIP"))
			apiserver_forbidden(errs, p.s,
					    "may not be used when `type` is 'ClusterIP'");
	}
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *number = json_object_get(json_array_get(list, i), "nodePort");
		if (number != NULL && port_twice(list, i, "nodePort"))
			apiserver_duplicate(errs, apiserver_path(&p, "spec.ports[%zu].nodePort", i),
					    number);
	}
	for (size_t i = 0; i < json_array_size(list); i++) {
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
		add_inner_port(&text, json_array_get(list, i));
		if (port_twice(list, i, "port"))
			api_errors_add(errs, API_FIELD_DUPLICATE,
				       apiserver_path(&p, "spec.ports[%zu]", i), text.s, "");
	}
}

/* ---- the rest ---- */

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
		apiserver_invalid(errs, "spec.clusterIPs[0]", first, text.s);
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
			apiserver_forbidden(errs, apiserver_path(&p, "spec.%s", empty[i]),
					    "may not be set for ExternalName services");
	}
	strbuf_adds(&name, s); /* the dot at its end says that it is whole */
	if (name.n != 0 && name.s[name.n - 1] == '.')
		name.s[--name.n] = '\0';
	if (name.n != 0)
		apiserver_subdomain(&(struct apiserver_at){ errs, "spec.externalName", NULL },
				    name.s);
	else
		apiserver_required(errs, "spec.externalName", "");
}

static void check_affinity(const json_t *spec, struct api_errors *errs)
{
	static const char *const words[] = { "ClientIP", "None", NULL };
	const json_t *seconds = api_get(spec, "sessionAffinityConfig.clientIP.timeoutSeconds");
	apiserver_one_of(errs, "spec.sessionAffinity", api_get_string(spec, "sessionAffinity"),
			 words);
	if (apiserver_is(spec, "sessionAffinity", "ClientIP") &&
	    (json_integer_value(seconds) <= 0 || json_integer_value(seconds) > 86400))
		apiserver_invalid(errs, "spec.sessionAffinityConfig.clientIP.timeoutSeconds",
				  seconds, "must be greater than 0 and less than 86400");
}

static void check_external_ips(const json_t *spec, const json_t *was, struct api_errors *errs)
{
	const json_t *list = json_object_get(spec, "externalIPs");
	struct apiserver_path p;
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *s = json_string_value(json_array_get(list, i));
		apiserver_path(&p, "spec.externalIPs[%zu]", i);
		if (apiserver_address(errs, p.s, s, json_object_get(was, "externalIPs")))
			apiserver_address_endpoint(errs, p.s, s);
	}
}

static void check_sources(const json_t *spec, const json_t *was, struct api_errors *errs)
{
	const json_t *list = json_object_get(spec, "loadBalancerSourceRanges");
	struct apiserver_path p;
	if (json_array_size(list) == 0)
		return;
	if (!is_balanced(spec))
		apiserver_forbidden(errs, "spec.LoadBalancerSourceRanges",
				    "may only be used when `type` is 'LoadBalancer'");
	for (size_t i = 0; i < json_array_size(list); i++) {
		struct slice s = slice_trim(slice_of(json_string_value(json_array_get(list, i))));
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
		strbuf_add_slice(&text, s);
		apiserver_network(errs, apiserver_path(&p, "spec.LoadBalancerSourceRanges[%zu]", i),
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
		apiserver_invalid(errs, "spec.externalTrafficPolicy", outer,
				  "may only be set for externally-accessible services");
	else if (apiserver_service_is_external(spec))
		apiserver_one_of(errs, "spec.externalTrafficPolicy",
				 api_get_string(spec, "externalTrafficPolicy"), policies);
	if (!needs_health_check(spec) && port != NULL)
		apiserver_invalid(errs, "spec.healthCheckNodePort", port,
				  "may only be set when `type` is 'LoadBalancer' and "
				  "`externalTrafficPolicy` is 'Local'");
	if (json_object_get(spec, "internalTrafficPolicy") != NULL)
		apiserver_one_of(errs, "spec.internalTrafficPolicy",
				 api_get_string(spec, "internalTrafficPolicy"), policies);
	if (json_object_get(spec, "trafficDistribution") != NULL)
		apiserver_one_of(errs, "spec.trafficDistribution",
				 api_get_string(spec, "trafficDistribution"), spread);
}

static void check_spec(const json_t *o, const json_t *old, struct api_errors *errs)
{
	static const char *const types[] = { "ClusterIP", "ExternalName", "LoadBalancer",
					     "NodePort", NULL };
	const json_t *spec = json_object_get(o, "spec"), *was = json_object_get(old, "spec");
	const json_t *ports = json_object_get(spec, "ports");
	if (json_array_size(ports) == 0 && !apiserver_service_is_headless(spec) &&
	    !is_external_name(spec))
		apiserver_required(errs, "spec.ports", "");
	check_type(spec, errs);
	check_external_name(spec, errs);
	for (size_t i = 0; i < json_array_size(ports); i++)
		check_port(ports, i, errs);
	apiserver_labels(errs, "spec.selector", json_object_get(spec, "selector"));
	check_affinity(spec, errs);
	check_ips(o, old, errs);
	check_external_ips(spec, was, errs);
	apiserver_one_of(errs, "spec.type", api_get_string(spec, "type"), types);
	check_ports_twice(spec, errs);
	check_sources(spec, was, errs);
	if (!is_balanced(spec) && json_object_get(spec, "allocateLoadBalancerNodePorts") != NULL)
		apiserver_forbidden(errs, "spec.allocateLoadBalancerNodePorts",
				    "may only be used when `type` is 'LoadBalancer'");
	check_class(spec, NULL, errs);
	check_traffic(spec, errs);
}

/* Ports of different numbers share no node port. */
static void check_node_ports(const json_t *spec, struct api_errors *errs)
{
	const json_t *list = json_object_get(spec, "ports");
	struct apiserver_path p;
	if (!is_balanced(spec) && !apiserver_is(spec, "type", "NodePort"))
		return;
	for (size_t i = 0; i < json_array_size(list) && errs->n == 0; i++) {
		const json_t *port = json_array_get(list, i);
		const json_t *number = json_object_get(port, "nodePort");
		for (size_t k = 0; k < i && number != NULL; k++) {
			const json_t *other = json_array_get(list, k);
			if (apiserver_number(other, "nodePort") != json_integer_value(number) ||
			    apiserver_number(other, "port") == apiserver_number(port, "port"))
				continue;
			apiserver_invalid(errs, apiserver_path(&p, "spec.ports[%zu].nodePort", i),
					  number, "provided port is already allocated");
			break;
		}
	}
}

void apiserver_service_validate(const struct apiserver_env *env, const json_t *o, const json_t *old,
				struct api_errors *errs)
{
	struct api_errors first = { 0 };
	apiserver_service_check_families(env, o, old, &first);
	if (first.n == 0)
		check_node_ports(json_object_get(o, "spec"), &first);
	if (first.n != 0) { /* the server gives addresses before it looks at the rest */
		api_errors_cut(errs, 0);
		api_errors_move(errs, &first);
		api_errors_done(&first);
		return;
	}
	api_errors_done(&first);
	if (old != NULL)
		check_update(json_object_get(o, "spec"), json_object_get(old, "spec"), errs);
	check_spec(o, old, errs);
}
