/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ingress: validation of hosts, paths and backends, and of the load balancer's addresses in the status. */
#include <string.h>

#include "api/meta.h"
#include "api/tree.h"
#include "apiserver/kind/strategy.h"
#include "apiserver/kind/table_cells.h"
#include "apiserver/rules/field_errors.h"
#include "apiserver/rules/ip_rules.h"
#include "apiserver/rules/members.h"
#include "apiserver/rules/name_rules.h"
#include "base/strbuf.h"

#define CLASS_ANNOTATION "kubernetes.io/ingress.class"

/* ---- backends ---- */

static void check_service_port(const json_t *port, const char *field, struct api_errors *errs)
{
	enum { PORT_MAX = 65535 };
	const json_t *number = json_object_get(port, "number");
	bool has_name = apiserver_has_text(port, "name");
	bool has_number = json_integer_value(number) != 0;
	struct apiserver_path p;
	if (has_name && has_number) {
		api_errors_add(errs, API_FIELD_INVALID, field, "\"\"",
			       "cannot set both port name & port number");
	} else if (has_name) {
		apiserver_format_path(&p, "%s.service.port.name", field);
		apiserver_check_port_name(&(struct apiserver_field){ errs, p.s, NULL },
					  api_get_string(port, "name"));
	} else if (!has_number) {
		apiserver_add_required(errs, field, "port name or number is required");
	} else if (json_integer_value(number) < 1 || json_integer_value(number) > PORT_MAX) {
		apiserver_format_path(&p, "%s.service.port.number", field);
		apiserver_add_invalid(errs, p.s, number, "must be between 1 and 65535, inclusive");
	}
}

static void check_service(const json_t *service, const char *field, struct api_errors *errs)
{
	const char *name = api_get_string(service, "name");
	struct apiserver_path p;
	apiserver_format_path(&p, "%s.service.name", field);
	if (name[0] == '\0')
		apiserver_add_required(errs, p.s, "");
	else
		apiserver_check_label(&(struct apiserver_field){ errs, p.s, NULL }, name);
	check_service_port(json_object_get(service, "port"), field, errs);
}

static void check_reference_part(const json_t *resource, const char *field, const char *member,
				 struct api_errors *errs)
{
	const char *text = api_get_string(resource, member);
	struct apiserver_path p;
	apiserver_format_path(&p, "%s.resource.%s", field, member);
	if (text[0] == '\0')
		apiserver_add_required(errs, p.s, "");
	else
		apiserver_check_path_segment(&(struct apiserver_field){ errs, p.s, NULL }, text);
}

static void check_resource(const json_t *resource, const char *field, struct api_errors *errs)
{
	const json_t *group = json_object_get(resource, "apiGroup");
	struct apiserver_path p;
	apiserver_format_path(&p, "%s.resource.apiGroup", field);
	if (group != NULL)
		apiserver_check_subdomain(&(struct apiserver_field){ errs, p.s, NULL },
					  api_text(group));
	check_reference_part(resource, field, "kind", errs);
	check_reference_part(resource, field, "name", errs);
}

static void check_backend(const json_t *backend, const char *field, struct api_errors *errs)
{
	const json_t *service = json_object_get(backend, "service");
	const json_t *resource = json_object_get(backend, "resource");
	if (service != NULL && resource != NULL)
		api_errors_add(errs, API_FIELD_INVALID, field, "\"\"",
			       "cannot set both resource and service backends");
	else if (resource != NULL)
		check_resource(resource, field, errs);
	else if (service != NULL)
		check_service(service, field, errs);
	else
		api_errors_add(errs, API_FIELD_INVALID, field, "\"\"",
			       "resource or service backend is required");
}

/* ---- rules ---- */

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), end_n = strlen(end);
	return n >= end_n && strcmp(text + n - end_n, end) == 0;
}

static void check_sequences(const json_t *path, const char *field, struct api_errors *errs)
{
	static const char *const sequences[] = { "//", "/./", "/../", "%2f", "%2F" };
	static const char *const ends[] = { "/..", "/." };
	const char *text = api_text(path);
	struct apiserver_path why;
	for (size_t i = 0; i < ARRAY_LEN(sequences); i++) {
		if (strstr(text, sequences[i]) != NULL)
			apiserver_add_invalid(
				errs, field, path,
				apiserver_format_path(&why, "must not contain '%s'", sequences[i]));
	}
	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		if (ends_with(text, ends[i]))
			apiserver_add_invalid(
				errs, field, path,
				apiserver_format_path(&why, "cannot end with '%s'", ends[i]));
	}
}

static void check_path(const json_t *entry, const char *field, struct api_errors *errs)
{
	static const char *const types[] = { "Exact", "ImplementationSpecific", "Prefix", NULL };
	const json_t *type = json_object_get(entry, "pathType");
	const char *path = api_get_string(entry, "path");
	struct apiserver_path p;
	apiserver_format_path(&p, "%s.pathType", field);
	if (type == NULL || json_is_null(type)) {
		apiserver_add_required(errs, p.s, "pathType must be specified");
		return;
	}
	bool is_free = strcmp(api_text(type), "ImplementationSpecific") == 0;
	if (apiserver_check_one_of(errs, p.s, api_text(type), types)) {
		json_t *shown = json_string(path);
		apiserver_format_path(&p, "%s.path", field);
		if (path[0] != '/' && (path[0] != '\0' || !is_free))
			apiserver_add_invalid(errs, p.s, shown, "must be an absolute path");
		if (!is_free)
			check_sequences(shown, p.s, errs);
		json_decref(shown);
	}
	apiserver_format_path(&p, "%s.backend", field);
	check_backend(json_object_get(entry, "backend"), p.s, errs);
}

static void check_host(const json_t *host, const char *field, struct api_errors *errs)
{
	const struct apiserver_field at = { errs, field, NULL };
	if (strchr(api_text(host), '*') != NULL)
		apiserver_check_wildcard(&at, api_text(host));
	else
		apiserver_check_subdomain(&at, api_text(host));
}

static void check_rule(const json_t *rule, size_t index, struct api_errors *errs)
{
	const json_t *host = json_object_get(rule, "host"), *http = json_object_get(rule, "http");
	const json_t *paths = json_object_get(http, "paths");
	struct apiserver_path p;
	apiserver_format_path(&p, "spec.rules[%zu].host", index);
	if (apiserver_has_text(rule, "host")) {
		if (apiserver_address_family(api_text(host)) != 0)
			apiserver_add_invalid(errs, p.s, host,
					      "must be a DNS name, not an IP address");
		check_host(host, p.s, errs);
	}
	if (json_is_object(http) && json_array_size(paths) == 0)
		apiserver_add_required(
			errs, apiserver_format_path(&p, "spec.rules[%zu].http.paths", index), "");
	for (size_t i = 0; i < json_array_size(paths); i++)
		check_path(json_array_get(paths, i),
			   apiserver_format_path(&p, "spec.rules[%zu].http.paths[%zu]", index, i),
			   errs);
}

static void check_tls(const json_t *tls, size_t index, struct api_errors *errs)
{
	const json_t *hosts = json_object_get(tls, "hosts");
	const char *secret = api_get_string(tls, "secretName");
	struct apiserver_path p;
	for (size_t i = 0; i < json_array_size(hosts); i++)
		check_host(json_array_get(hosts, i),
			   apiserver_format_path(&p, "spec.tls[%zu].hosts[%zu]", index, i), errs);
	apiserver_format_path(&p, "spec.tls[%zu].secretName", index);
	if (secret[0] != '\0')
		apiserver_check_subdomain(&(struct apiserver_field){ errs, p.s, NULL }, secret);
}

/* ---- the whole ---- */

/* A class in both forms; only of a new object. */
static void check_class(const json_t *object, struct api_errors *errs)
{
	const json_t *class = api_get(object, "spec.ingressClassName");
	const char *annotation = api_annotation(object, CLASS_ANNOTATION);
	if (class == NULL || annotation == NULL || strcmp(api_text(class), annotation) == 0)
		return;
	json_t *shown = json_string(annotation);
	apiserver_add_invalid(errs, "annotations." CLASS_ANNOTATION, shown,
			      "must match `ingressClassName` when both are specified");
	json_decref(shown);
}

static void validate_ingress(const struct apiserver_env *env, const json_t *object,
			     const json_t *old, struct api_errors *errs)
{
	const json_t *spec = json_object_get(object, "spec");
	const json_t *rules = json_object_get(spec, "rules"), *tls = json_object_get(spec, "tls");
	const json_t *backend = json_object_get(spec, "defaultBackend");
	const json_t *class = json_object_get(spec, "ingressClassName");
	(void)env;
	if (json_array_size(rules) == 0 && backend == NULL)
		apiserver_add_invalid(errs, "spec", rules,
				      "either `defaultBackend` or `rules` must be specified");
	if (backend != NULL)
		check_backend(backend, "spec.defaultBackend", errs);
	for (size_t i = 0; i < json_array_size(rules); i++)
		check_rule(json_array_get(rules, i), i, errs);
	for (size_t i = 0; i < json_array_size(tls); i++)
		check_tls(json_array_get(tls, i), i, errs);
	if (class != NULL)
		apiserver_check_subdomain(
			&(struct apiserver_field){ errs, "spec.ingressClassName", NULL },
			api_text(class));
	if (old == NULL)
		check_class(object, errs);
}

static void prepare_ingress(const struct apiserver_env *env, json_t *object, const json_t *old)
{
	(void)env;
	if (old != NULL)
		apiserver_copy_old(object, old, "status");
	else
		json_object_set_new(object, "status", json_pack("{s:{}}", "loadBalancer"));
}

/* ---- the status ---- */

static void check_balancer(const json_t *entry, size_t index, const json_t *kept,
			   struct api_errors *errs)
{
	const char *ip = api_get_string(entry, "ip"), *name = api_get_string(entry, "hostname");
	struct apiserver_path p;
	apiserver_format_path(&p, "status.loadBalancer.ingress[%zu].ip", index);
	if (ip[0] != '\0')
		apiserver_check_address(errs, p.s, ip, kept);
	if (name[0] == '\0')
		return;
	apiserver_format_path(&p, "status.loadBalancer.ingress[%zu].hostname", index);
	apiserver_check_subdomain(&(struct apiserver_field){ errs, p.s, NULL }, name);
	if (apiserver_address_family(name) != 0)
		apiserver_add_invalid(errs, p.s, json_object_get(entry, "hostname"),
				      "must be a DNS name, not an IP address");
}

static void validate_status(const json_t *object, const json_t *old, struct api_errors *errs)
{
	const json_t *list = api_get(object, "status.loadBalancer.ingress");
	const json_t *was = api_get(old, "status.loadBalancer.ingress");
	json_t *kept = json_array(); /* addresses of the stored object stay valid */
	for (size_t i = 0; i < json_array_size(was); i++)
		json_array_append_new(kept,
				      json_string(api_get_string(json_array_get(was, i), "ip")));
	for (size_t i = 0; i < json_array_size(list); i++)
		check_balancer(json_array_get(list, i), i, kept, errs);
	json_decref(kept);
}

const struct apiserver_strategy apiserver_ingress_strategy = {
	.kind = "Ingress",
	.group = "networking.k8s.io",
	.prepare = prepare_ingress,
	.validate = validate_ingress,
	.validate_status = validate_status,
	.cells = apiserver_cells_ingress,
};
