/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Objects that must exist before the first request: namespaces, Service default/kubernetes with its
 * endpoints, the ServiceCIDR and the CustomResourceDefinitions. At every start, missing ones are
 * created; existing ones are left alone, except the API's address and the definitions, which follow
 * the program. It also fills the allocator from the stored Services. */
#include "apiserver/controllers/bootstrap.h"

#include <stdio.h>
#include <string.h>

#include "api/meta.h"
#include "api/time.h"
#include "api/tree.h"
#include "apiserver/kind/crd.h"
#include "apiserver/request/object.h"
#include "apiserver/rules/ip_rules.h"
#include "apiserver/store/key.h"
#include "apiserver/store/read.h"
#include "apiserver/verb/allocator.h"
#include "apiserver/verb/write.h"
#include "base/clock.h"
#include "base/err_text.h"

static const char manager[] = "fairlead";

struct boot {
	struct apiserver_api *api;
	struct apiserver_status status;
	struct apiserver_writing writing;
};

static const struct apiserver_resource *resource_of(const char *group, const char *plural)
{
	return apiserver_resource_find(group, "v1", plural);
}

/* Creates the object if it is missing. Frees `object`. */
static int ensure_object(struct boot *boot, const struct apiserver_resource *resource,
			 const char *ns, json_t *object)
{
	json_t *there = NULL;
	uint64_t revision;
	int e = apiserver_object_read(boot->api->store, resource, ns, api_name(object), &there,
				      &revision);
	if (e == ERR_NOTFOUND) {
		boot->writing = (struct apiserver_writing){ .api = boot->api,
							    .resource = resource,
							    .ns = ns,
							    .subresource = "",
							    .manager = manager,
							    .status = &boot->status };
		e = apiserver_write_new(&boot->writing, object, &there);
	} else if (e < 0) {
		e = apiserver_status_store_failed(&boot->status, e);
	}
	json_decref(there);
	json_decref(object);
	return e;
}

/* ---- addresses ---- */

static void take_port(struct boot *boot, const json_t *object, const char *key)
{
	long long port = json_integer_value(json_object_get(object, key));
	unsigned got;
	if (port > 0)
		IGNORE(apiserver_allocator_take_port(boot->api->allocator, (unsigned)port, &got));
}

static int take_addresses(void *ctx, const struct apiserver_row *row)
{
	struct boot *boot = ctx;
	json_t *o = json_loadb(row->value.p, row->value.n, 0, NULL), *v;
	char got[64];
	size_t i;
	json_array_foreach (api_get(o, "spec.clusterIPs"), i, v) {
		const char *s = api_text(v);
		int family = apiserver_address_family(s);
		/* Addresses outside the present ranges stay with their Services. */
		if (family != 0)
			IGNORE(apiserver_allocator_take_address(boot->api->allocator, family, s,
								got, sizeof(got)));
	}
	json_array_foreach (api_get(o, "spec.ports"), i, v)
		take_port(boot, v, "nodePort");
	take_port(boot, json_object_get(o, "spec"), "healthCheckNodePort");
	json_decref(o);
	return 0;
}

static int load_addresses(struct boot *boot)
{
	CLEANUP(strbuf_done) struct strbuf prefix = STRBUF_INIT;
	uint64_t at;
	apiserver_key(&prefix, resource_of("", "services")->kind, NULL, NULL);
	/* A damaged Service is logged; it must not keep the server from starting. */
	struct apiserver_range range = { .prefix = prefix.s, .skip_damaged = true };
	int e = apiserver_store_list(boot->api->store, &range, take_addresses, boot, &at, NULL);
	return e < 0 ? apiserver_status_store_failed(&boot->status, e) : 0;
}

/* ---- objects ---- */

static int ensure_namespaces(struct boot *boot)
{
	static const char *const names[] = { "default", "kube-system", "kube-public",
					     "kube-node-lease" };
	int e = 0;
	for (size_t i = 0; e == 0 && i < ARRAY_LEN(names); i++)
		e = ensure_object(boot, resource_of("", "namespaces"), NULL,
				  json_pack("{ss,ss,s{ss}}", "apiVersion", "v1", "kind",
					    "Namespace", "metadata", "name", names[i]));
	return e;
}

static int ensure_service(struct boot *boot)
{
	return ensure_object(
		boot, resource_of("", "services"), "default",
		json_pack("{ss,ss,s{ss,s{ss,ss}},s{ss,s[{ss,ss,si,si}]}}", "apiVersion", "v1",
			  "kind", "Service", "metadata", "name", "kubernetes", "labels",
			  "component", "apiserver", "provider", "kubernetes", "spec", "clusterIP",
			  apiserver_allocator_first_address(boot->api->allocator), "ports", "name",
			  "https", "protocol", "TCP", "port", 443, "targetPort",
			  boot->api->conf.port != 0 ? (int)boot->api->conf.port : 443));
}

/* Creates or replaces an object, keeping the metadata of the existing one. Without validation:
 * rules for users (no endpoint on the loopback) do not apply here. */
static int put_object(struct boot *boot, const struct apiserver_resource *resource, const char *ns,
		      json_t *object)
{
	json_t *there = NULL, *meta = apiserver_object_meta(object);
	uint64_t revision = 0;
	int e = apiserver_object_read(boot->api->store, resource, ns, api_name(object), &there,
				      &revision);
	if (e < 0 && e != ERR_NOTFOUND)
		return apiserver_status_store_failed(&boot->status, e);
	if (there != NULL) {
		json_t *merged = json_deep_copy(json_object_get(there, "metadata"));
		json_object_set_new(object, "metadata", merged);
	} else {
		char now[API_TIME_TEXT_MAX];
		apiserver_write_uid(meta);
		json_object_set_new(meta, "creationTimestamp",
				    json_string(api_time_format(clock_wall_ns(), now)));
		if (resource->strategy->bumps_generation == NULL ||
		    resource->strategy->bumps_generation(object, NULL))
			json_object_set_new(meta, "generation", json_integer(1));
	}
	e = there != NULL && json_equal(there, object)
		    ? 0
		    : apiserver_write_plain(boot->api, resource, object, revision, NULL);
	json_decref(there);
	return e < 0 ? apiserver_status_store_failed(&boot->status, e) : 0;
}

/* The same as an Endpoints object, which must not be mirrored into a second slice. */
static int put_old_endpoints(struct boot *boot)
{
	const char *address = boot->api->conf.address;
	json_t *o = json_pack("{ss,ss,s{ss,ss,s{ss}}}", "kind", "Endpoints", "apiVersion", "v1",
			      "metadata", "name", "kubernetes", "namespace", "default", "labels",
			      "endpointslice.kubernetes.io/skip-mirror", "true");
	if (address != NULL)
		json_object_set_new(
			o, "subsets",
			json_pack("[{s[{ss}],s[{ss,si,ss}]}]", "addresses", "ip", address, "ports",
				  "name", "https", "port",
				  boot->api->conf.port != 0 ? (int)boot->api->conf.port : 443,
				  "protocol", "TCP"));
	int e = put_object(boot, resource_of("", "endpoints"), "default", o);
	json_decref(o);
	return e;
}

static int put_endpoints(struct boot *boot)
{
	const char *address = boot->api->conf.address;
	bool v6 = address != NULL && strchr(address, ':') != NULL;
	json_t *o = json_pack(
		"{ss,ss,s{ss,ss,s{ss}},ss,s[],s[{ss,ss,si}]}", "kind", "EndpointSlice",
		"apiVersion", "discovery.k8s.io/v1", "metadata", "name", "kubernetes", "namespace",
		"default", "labels", "kubernetes.io/service-name", "kubernetes", "addressType",
		v6 ? "IPv6" : "IPv4", "endpoints", "ports", "name", "https", "protocol", "TCP",
		"port", boot->api->conf.port != 0 ? (int)boot->api->conf.port : 443);
	if (address != NULL)
		json_array_append_new(
			json_object_get(o, "endpoints"),
			json_pack("{s[s],s{sb}}", "addresses", address, "conditions", "ready", 1));
	int e = put_object(boot, resource_of("discovery.k8s.io", "endpointslices"), "default", o);
	json_decref(o);
	return e < 0 ? e : put_old_endpoints(boot);
}

static bool same_spec(const json_t *left, const json_t *right)
{
	return left != NULL &&
	       json_equal(json_object_get(left, "spec"), json_object_get(right, "spec"));
}

/* The Service address ranges, as a ServiceCIDR object. */
static int put_ranges(struct boot *boot)
{
	char now[API_TIME_TEXT_MAX];
	json_t *o =
		json_pack("{ss,ss,s{ss},s{s[]},s{s[{ss,ss,ss,ss,ss}]}}", "kind", "ServiceCIDR",
			  "apiVersion", "networking.k8s.io/v1", "metadata", "name", "kubernetes",
			  "spec", "cidrs", "status", "conditions", "type", "Ready", "status",
			  "True", "lastTransitionTime", api_time_format(clock_wall_ns(), now),
			  "reason", "", "message", "Kubernetes default Service CIDR is ready");
	const struct apiserver_resource *r = resource_of("networking.k8s.io", "servicecidrs");
	json_t *there = NULL;
	uint64_t revision;
	for (const char *const *p = boot->api->conf.service_cidrs; *p != NULL; p++)
		json_array_append_new(api_get(o, "spec.cidrs"), json_string(*p));
	int e = apiserver_object_read(boot->api->store, r, NULL, "kubernetes", &there, &revision);
	if (e < 0 && e != ERR_NOTFOUND)
		e = apiserver_status_store_failed(&boot->status, e);
	else
		e = same_spec(there, o) ? 0 : put_object(boot, r, NULL, o);
	json_decref(there);
	json_decref(o);
	return e;
}

/* ---- definitions ---- */

static int put_definition(struct boot *boot, const struct apiserver_resource *resource)
{
	const struct apiserver_resource *crds =
		resource_of("apiextensions.k8s.io", "customresourcedefinitions");
	char now[API_TIME_TEXT_MAX];
	json_t *o = apiserver_crd_object(resource, api_time_format(clock_wall_ns(), now)),
	       *there = NULL;
	uint64_t revision;
	int e = apiserver_object_read(boot->api->store, crds, NULL, api_name(o), &there, &revision);
	if (e < 0 && e != ERR_NOTFOUND)
		e = apiserver_status_store_failed(&boot->status, e);
	else
		e = same_spec(there, o) ? 0 : put_object(boot, crds, NULL, o);
	json_decref(there);
	json_decref(o);
	return e;
}

static int put_definitions(struct boot *boot)
{
	size_t n;
	const struct apiserver_resource *const *rows = apiserver_resources(&n);
	int e = 0;
	for (size_t i = 0; e == 0 && i < n; i++) {
		if (!rows[i]->built_in && rows[i]->stored == rows[i])
			e = put_definition(boot, rows[i]);
	}
	return e;
}

int apiserver_bootstrap(struct apiserver_api *api, struct err_text err)
{
	static int (*const steps[])(struct boot * boot) = {
		load_addresses, ensure_namespaces, ensure_service,
		put_endpoints,	put_ranges,	   put_definitions,
	};
	/* The first steps must succeed. On a full disk the others can wait: objects can still be
	 * read and deleted. */
	enum { NEEDED = 3, STATUS_FULL = 507 };
	struct boot boot = { .api = api, .status = APISERVER_STATUS_INIT };
	int e = 0;
	for (size_t i = 0; e == 0 && i < ARRAY_LEN(steps); i++) {
		e = steps[i](&boot);
		if (e < 0 && i >= NEEDED && boot.status.code == STATUS_FULL)
			e = 0;
	}
	if (e < 0)
		err_text_set(err, "%s", boot.status.message.s);
	apiserver_status_done(&boot.status);
	return e;
}

const char *const apiserver_bootstrap_keys[] = {
	"core/services/default/kubernetes",
	"core/endpoints/default/kubernetes",
	"discovery.k8s.io/endpointslices/default/kubernetes",
	NULL,
};

bool apiserver_bootstrap_owns(const char *key)
{
	for (size_t i = 0; apiserver_bootstrap_keys[i] != NULL; i++) {
		if (strcmp(key, apiserver_bootstrap_keys[i]) == 0)
			return true;
	}
	return false;
}

int apiserver_bootstrap_remake(struct apiserver_api *api)
{
	struct boot boot = { .api = api, .status = APISERVER_STATUS_INIT };
	int e = ensure_service(&boot);
	if (e == 0)
		e = put_endpoints(&boot);
	apiserver_status_done(&boot.status);
	return e;
}
