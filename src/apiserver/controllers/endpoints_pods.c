/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Builds endpoints from a Service and the Pods that it selects: which Pods count, with which
 * addresses, ports and conditions. */
#include "apiserver/controllers/endpoints_pods.h"

#include <string.h>

#include "api/meta.h"
#include "api/tree.h"
#include "apiserver/controllers/endpoints.h"
#include "apiserver/controllers/endpoints_slices.h"
#include "apiserver/controllers/endpoints_subsets.h"
#include "apiserver/kind/strategy.h"
#include "apiserver/rules/ip_rules.h"
#include "apiserver/rules/members.h"
#include "apiserver/rules/name_rules.h"

enum { ENDPOINTS_ADDRESSES_MAX = 1000 }; /* of an Endpoints object, as in a cluster */

/* ---- a Pod ---- */

/* Not for a Pod that has ended or has no address yet. */
static bool counts_as_endpoint(const json_t *pod)
{
	const json_t *status = json_object_get(pod, "status");
	return !apiserver_is(status, "phase", "Succeeded") &&
	       !apiserver_is(status, "phase", "Failed") &&
	       (apiserver_has_text(status, "podIP") ||
		json_array_size(json_object_get(status, "podIPs")) != 0);
}

static bool is_ready(const json_t *pod)
{
	const json_t *condition;
	size_t i;
	json_array_foreach (api_get(pod, "status.conditions"), i, condition) {
		if (apiserver_is(condition, "type", "Ready"))
			return apiserver_is(condition, "status", "True");
	}
	return false;
}

static bool publishes_not_ready(const json_t *service)
{
	return json_is_true(api_get(service, "spec.publishNotReadyAddresses"));
}

/* The endpoint's DNS name: only for Pods whose subdomain is the Service. */
static const char *hostname_of(const json_t *pod, const json_t *service)
{
	const char *hostname = api_get_string(pod, "spec.hostname");
	return api_is_label_name(hostname) &&
			       strcmp(api_get_string(pod, "spec.subdomain"), api_name(service)) == 0
		       ? hostname
		       : "";
}

static json_t *pod_reference(const json_t *pod)
{
	return json_pack("{ss,ss,ss,ss}", "kind", "Pod", "namespace", api_namespace(pod), "name",
			 api_name(pod), "uid", api_uid(pod));
}

static bool may_be_endpoint(const char *address)
{
	struct api_errors errs = { 0 };
	bool fine = apiserver_check_address(&errs, "ip", address, NULL);
	if (fine)
		apiserver_check_endpoint_address(&errs, "ip", address);
	fine = errs.n == 0;
	api_errors_done(&errs);
	return fine;
}

/* The Pod's addresses of one family; invalid ones are appended to `refused` (may be NULL). */
static json_t *addresses_of(const json_t *pod, int family, json_t *refused)
{
	const json_t *list = api_get(pod, "status.podIPs");
	json_t *addresses = json_array();
	size_t n = json_array_size(list);
	for (size_t i = 0; i < (n != 0 ? n : 1); i++) {
		const char *ip = n != 0 ? api_get_string(json_array_get(list, i), "ip")
					: api_get_string(pod, "status.podIP");
		if (apiserver_address_family(ip) != family)
			continue;
		if (may_be_endpoint(ip))
			json_array_append_new(addresses, json_string(ip));
		else if (refused != NULL)
			json_array_append_new(
				refused, json_pack("{ss,ss}", "pod", api_name(pod), "address", ip));
	}
	return addresses;
}

/* ---- ports ---- */

static long long container_port(const json_t *containers, const char *name, const char *protocol,
				bool sidecars_only)
{
	const json_t *container, *port;
	size_t i, k;
	json_array_foreach (containers, i, container) {
		if (sidecars_only && !apiserver_is(container, "restartPolicy", "Always"))
			continue;
		json_array_foreach (json_object_get(container, "ports"), k, port) {
			const char *spoken = api_get_string(port, "protocol");
			if (apiserver_is(port, "name", name) &&
			    strcmp(spoken[0] != '\0' ? spoken : "TCP", protocol) == 0)
				return apiserver_number(port, "containerPort");
		}
	}
	return 0;
}

/* The number of a Service's target port in this Pod; 0: no container port has that name. */
static long long target_port(const json_t *pod, const json_t *port)
{
	const json_t *target = json_object_get(port, "targetPort");
	const char *protocol = api_get_string(port, "protocol");
	if (json_is_integer(target))
		return json_integer_value(target) != 0 ? json_integer_value(target)
						       : apiserver_number(port, "port");
	if (json_string_length(target) == 0)
		return apiserver_number(port, "port");
	const char *name = api_text(target);
	long long number = container_port(api_get(pod, "spec.containers"), name, protocol, false);
	return number != 0
		       ? number
		       : container_port(api_get(pod, "spec.initContainers"), name, protocol, true);
}

static void add_app_protocol(json_t *made, const json_t *port)
{
	json_t *app = json_object_get(port, "appProtocol");
	if (json_is_string(app))
		json_object_set(made, "appProtocol", app);
}

/* The Service's ports with the numbers of this Pod. `unnamed`: a port without name gets name "". */
static json_t *ports_of(const json_t *pod, const json_t *service, bool unnamed)
{
	json_t *ports = json_array();
	const json_t *port;
	size_t i;
	json_array_foreach (api_get(service, "spec.ports"), i, port) {
		long long number = target_port(pod, port);
		const char *name = api_get_string(port, "name");
		if (number == 0)
			continue;
		json_t *made = json_pack("{ss,sI}", "protocol", api_get_string(port, "protocol"),
					 "port", (json_int_t)number);
		if (unnamed || name[0] != '\0')
			json_object_set_new(made, "name", json_string(name));
		add_app_protocol(made, port);
		json_array_append_new(ports, made);
	}
	return ports;
}

/* ---- groups ---- */

static json_t *make_endpoint(const json_t *pod, const json_t *service, const json_t *zones,
			     json_t *addresses)
{
	bool serving = is_ready(pod), terminating = api_is_deleting(pod);
	bool ready = publishes_not_ready(service) || (serving && !terminating);
	json_t *endpoint = json_pack("{sO,s{sb,sb,sb},so}", "addresses", addresses, "conditions",
				     "ready", ready, "serving", serving, "terminating", terminating,
				     "targetRef", pod_reference(pod));
	const char *node = api_get_string(pod, "spec.nodeName");
	const char *zone = node[0] != '\0' ? api_text(json_object_get(zones, node)) : NULL;
	const char *hostname = hostname_of(pod, service);
	if (api_is_subdomain_name(node))
		json_object_set_new(endpoint, "nodeName", json_string(node));
	if (zone != NULL && zone[0] != '\0')
		json_object_set_new(endpoint, "zone", json_string(zone));
	if (hostname[0] != '\0')
		json_object_set_new(endpoint, "hostname", json_string(hostname));
	return endpoint;
}

json_t *apiserver_endpoints_pods_to_groups(const json_t *service, const json_t *pods,
					   const json_t *zones, json_t *refused)
{
	json_t *groups = json_array(), *family;
	const json_t *pod;
	size_t i, k;
	json_array_foreach (api_get(service, "spec.ipFamilies"), k, family) {
		const char *type = api_text(family);
		json_array_foreach (pods, i, pod) {
			if (!counts_as_endpoint(pod))
				continue;
			json_t *addresses =
				addresses_of(pod, strcmp(type, "IPv6") == 0 ? 6 : 4, refused);
			json_t *ports = ports_of(pod, service, true);
			if (json_array_size(addresses) != 0)
				apiserver_endpoints_groups_add(
					groups, type, ports,
					make_endpoint(pod, service, zones, addresses));
			json_decref(addresses);
			json_decref(ports);
		}
	}
	return groups;
}

/* ---- the Endpoints object ---- */

static json_t *make_address(const json_t *pod, const json_t *service, const char *ip)
{
	json_t *address = json_pack("{ss,so}", "ip", ip, "targetRef", pod_reference(pod));
	const char *node = api_get_string(pod, "spec.nodeName");
	const char *hostname = hostname_of(pod, service);
	if (api_is_subdomain_name(node))
		json_object_set_new(address, "nodeName", json_string(node));
	if (hostname[0] != '\0')
		json_object_set_new(address, "hostname", json_string(hostname));
	return address;
}

/* A terminating Pod is left out unless the Service publishes Pods that are not ready. */
static bool stands_in_endpoints(const json_t *pod, const json_t *service)
{
	return counts_as_endpoint(pod) && (!api_is_deleting(pod) || publishes_not_ready(service));
}

json_t *apiserver_endpoints_pods_to_subsets(const json_t *service, const json_t *pods)
{
	const char *family = api_text(json_array_get(api_get(service, "spec.ipFamilies"), 0));
	bool portless = json_array_size(api_get(service, "spec.ports")) == 0;
	json_t *subsets = json_array();
	const json_t *pod;
	size_t i, n = 0;
	json_array_foreach (pods, i, pod) {
		if (!stands_in_endpoints(pod, service))
			continue;
		json_t *addresses = addresses_of(pod, strcmp(family, "IPv6") == 0 ? 6 : 4, NULL);
		json_t *ports = ports_of(pod, service, false);
		const char *ip = api_text(json_array_get(addresses, 0));
		bool ready = publishes_not_ready(service) || is_ready(pod);
		if (ip[0] != '\0' && (portless || json_array_size(ports) != 0) &&
		    n++ < ENDPOINTS_ADDRESSES_MAX)
			json_array_append_new(
				subsets,
				json_pack("{s[o],sO}", ready ? "addresses" : "notReadyAddresses",
					  make_address(pod, service, ip), "ports", ports));
		json_decref(addresses);
		json_decref(ports);
	}
	apiserver_endpoints_subsets_repack(subsets);
	return subsets;
}
