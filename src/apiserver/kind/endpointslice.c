/* SPDX-License-Identifier: GPL-3.0-or-later */
/* EndpointSlice: validation of addresses, which must be of one type, and of ports, whose names must
 * differ. */
#include <stdio.h>
#include <string.h>

#include "api/meta.h"
#include "api/tree.h"
#include "apiserver/kind/strategy.h"
#include "apiserver/kind/table_cells.h"
#include "apiserver/rules/field_errors.h"
#include "apiserver/rules/ip_rules.h"
#include "apiserver/rules/members.h"
#include "apiserver/rules/name_rules.h"
#include "base/map.h"

enum { ADDRESSES_MAX = 100, ENDPOINTS_MAX = 1000, PORTS_MAX = 20000, HINTS_MAX = 8 };

static void prepare_slice(const struct apiserver_env *env, json_t *object, const json_t *old)
{
	json_t *endpoints = json_object_get(object, "endpoints"),
	       *ports = json_object_get(object, "ports");
	json_t *item;
	size_t i;
	(void)env, (void)old;
	json_array_foreach (endpoints, i, item)
		json_object_del(item, "deprecatedTopology"); /* v1 cannot write it */
	json_array_foreach (ports, i, item) {
		apiserver_set_default(item, "name", json_string(""));
		apiserver_set_default(item, "protocol", json_string("TCP"));
	}
}

/* kube-apiserver stores an empty list as null. This happens last, because the manager that writes an
 * empty list owns the field. */
static int admit_slice(const struct apiserver_env *env, json_t *object, const json_t *old,
		       struct api_errors *errs)
{
	static const char *const lists[] = { "endpoints", "ports" };
	(void)env, (void)old, (void)errs;
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		if (json_array_size(json_object_get(object, lists[i])) == 0)
			json_object_set_new(object, lists[i], json_null());
	}
	return 0;
}

static void add_too_many(struct api_errors *errs, const char *field, size_t len, size_t max)
{
	char value[24], text[64];
	snprintf(value, sizeof(value), "%zu", len);
	snprintf(text, sizeof(text), "must have at most %zu items", max);
	api_errors_add(errs, API_FIELD_TOO_MANY, field, value, text);
}

/* True if an item before had this name. */
static bool had_name(struct map *seen, const char *name)
{
	return map_set(seen, slice_of(name), seen) != NULL;
}

static void check_port(const json_t *list, size_t index, struct map *seen, struct api_errors *errs)
{
	static const char *const protocols[] = { "SCTP", "TCP", "UDP", NULL };
	const json_t *port = json_array_get(list, index),
		     *app = json_object_get(port, "appProtocol");
	const char *name = api_get_string(port, "name");
	struct apiserver_path p;
	apiserver_format_path(&p, "ports[%zu].name", index);
	if (name[0] != '\0')
		apiserver_check_label(&(struct apiserver_field){ errs, p.s, NULL }, name);
	if (had_name(seen, name))
		apiserver_add_duplicate(errs, p.s, json_object_get(port, "name"));
	apiserver_check_one_of(errs, apiserver_format_path(&p, "ports[%zu].protocol", index),
			       api_get_string(port, "protocol"), protocols);
	apiserver_format_path(&p, "ports[%zu].appProtocol", index);
	if (app != NULL)
		apiserver_check_label_key(&(struct apiserver_field){ errs, p.s, NULL },
					  api_text(app));
}

/* A name of at least two labels; a dot at its end is allowed. */
static void check_fqdn(const char *text, const char *field, struct api_errors *errs)
{
	size_t n = strlen(text);
	char name[256];
	if (n == 0) {
		apiserver_add_required(errs, field, "");
		return;
	}
	snprintf(name, sizeof(name), "%s", text);
	if (n < sizeof(name) && text[n - 1] == '.')
		name[n - 1] = '\0';
	size_t before = errs->n;
	const struct apiserver_field at = { errs, field, name };
	apiserver_check_subdomain(&at, n < sizeof(name) ? name : text);
	if (errs->n == before && strchr(name, '.') == NULL) {
		json_t *value = json_string(name);
		apiserver_add_invalid(
			errs, field, value,
			"should be a domain with at least two segments separated by dots");
		json_decref(value);
	}
}

static void check_ip(const char *text, int family, const char *list_field, const char *field,
		     struct api_errors *errs)
{
	bool fine = family == 4 ? apiserver_check_address(errs, field, text, NULL)
				: apiserver_check_canonical_address(errs, field, text);
	if (!fine)
		return;
	if (apiserver_address_family(text) != family) {
		json_t *value = json_string(text);
		apiserver_add_invalid(errs, list_field, value,
				      family == 4 ? "must be an IPv4 address"
						  : "must be an IPv6 address");
		json_decref(value);
	}
	apiserver_check_endpoint_address(errs, field, text);
}

static void check_addresses(const json_t *list, size_t index, const char *type,
			    struct api_errors *errs)
{
	struct apiserver_path all, one;
	apiserver_format_path(&all, "endpoints[%zu].addresses", index);
	if (json_array_size(list) == 0)
		apiserver_add_required(errs, all.s, "");
	if (json_array_size(list) > ADDRESSES_MAX)
		add_too_many(errs, all.s, json_array_size(list), ADDRESSES_MAX);
	for (size_t k = 0; k < json_array_size(list); k++) {
		const char *s = api_text(json_array_get(list, k));
		apiserver_format_path(&one, "endpoints[%zu].addresses[%zu]", index, k);
		if (strcmp(type, "FQDN") == 0)
			check_fqdn(s, one.s, errs);
		else if (strcmp(type, "IPv4") == 0 || strcmp(type, "IPv6") == 0)
			check_ip(s, type[3] - '0', all.s, one.s, errs);
	}
}

static void check_hints(const json_t *list, size_t index, const char *which, apiserver_rule rule,
			struct api_errors *errs)
{
	struct apiserver_path p;
	if (json_array_size(list) > HINTS_MAX) {
		add_too_many(errs,
			     apiserver_format_path(&p, "endpoints[%zu].hints.%s", index, which),
			     json_array_size(list), HINTS_MAX);
		return;
	}
	struct map seen;
	map_init(&seen);
	for (size_t k = 0; k < json_array_size(list); k++) {
		const json_t *item = json_array_get(list, k);
		apiserver_format_path(&p, "endpoints[%zu].hints.%s[%zu].name", index, which, k);
		if (had_name(&seen, api_get_string(item, "name")))
			apiserver_add_duplicate(errs, p.s, json_object_get(item, "name"));
		rule(&(struct apiserver_field){ errs, p.s, NULL }, api_get_string(item, "name"));
	}
	map_done(&seen);
}

static void check_endpoint(const json_t *endpoint, size_t index, const char *type,
			   struct api_errors *errs)
{
	const json_t *node = json_object_get(endpoint, "nodeName"),
		     *host = json_object_get(endpoint, "hostname");
	struct apiserver_path p;
	check_addresses(json_object_get(endpoint, "addresses"), index, type, errs);
	apiserver_format_path(&p, "endpoints[%zu].nodeName", index);
	if (node != NULL)
		apiserver_check_subdomain(&(struct apiserver_field){ errs, p.s, NULL },
					  api_text(node));
	apiserver_format_path(&p, "endpoints[%zu].hostname", index);
	if (host != NULL)
		apiserver_check_label(&(struct apiserver_field){ errs, p.s, NULL }, api_text(host));
	check_hints(api_get(endpoint, "hints.forZones"), index, "forZones",
		    apiserver_check_label_value, errs);
	check_hints(api_get(endpoint, "hints.forNodes"), index, "forNodes",
		    apiserver_check_subdomain, errs);
}

static void check_endpoints(const json_t *list, const char *type, struct api_errors *errs)
{
	if (json_array_size(list) > ENDPOINTS_MAX) {
		add_too_many(errs, "endpoints", json_array_size(list), ENDPOINTS_MAX);
		return;
	}
	for (size_t i = 0; i < json_array_size(list); i++)
		check_endpoint(json_array_get(list, i), i, type, errs);
}

static void check_ports(const json_t *list, struct api_errors *errs)
{
	if (json_array_size(list) > PORTS_MAX) {
		add_too_many(errs, "ports", json_array_size(list), PORTS_MAX);
		return;
	}
	struct map seen;
	map_init(&seen);
	for (size_t i = 0; i < json_array_size(list); i++)
		check_port(list, i, &seen, errs);
	map_done(&seen);
}

static void validate_slice(const struct apiserver_env *env, const json_t *object, const json_t *old,
			   struct api_errors *errs)
{
	static const char *const types[] = { "FQDN", "IPv4", "IPv6", NULL };
	const char *type = api_get_string(object, "addressType");
	const json_t *endpoints = json_object_get(object, "endpoints");
	const json_t *was = json_object_get(old, "endpoints");
	(void)env;
	if (type[0] == '\0')
		apiserver_add_required(errs, "addressType", "");
	else
		apiserver_check_one_of(errs, "addressType", type, types);
	check_ports(json_object_get(object, "ports"), errs);
	if (was == NULL || !json_equal(endpoints, was)) /* stored endpoints stay valid */
		check_endpoints(endpoints, type, errs);
	if (old != NULL && !apiserver_is(old, "addressType", type))
		api_errors_add(errs, API_FIELD_INVALID, "addressType", "null",
			       "field is immutable");
}

static bool is_none(const json_t *value)
{
	return value == NULL || json_is_null(value) ||
	       (json_is_array(value) && json_array_size(value) == 0);
}

static bool is_different(const json_t *left, const json_t *right)
{
	return is_none(left) || is_none(right) ? is_none(left) != is_none(right)
					       : !json_equal(left, right);
}

/* Changes of labels count as well. */
static bool changes_generation(const json_t *object, const json_t *old)
{
	static const char *const fields[] = { "endpoints", "ports", "addressType" };
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		if (is_different(json_object_get(object, fields[i]),
				 json_object_get(old, fields[i])))
			return true;
	}
	return old == NULL ||
	       is_different(api_get(object, "metadata.labels"), api_get(old, "metadata.labels"));
}

const struct apiserver_strategy apiserver_endpointslice_strategy = {
	.kind = "EndpointSlice",
	.group = "discovery.k8s.io",
	.prepare = prepare_slice,
	.validate = validate_slice,
	.admit = admit_slice,
	.bumps_generation = changes_generation,
	.cells = apiserver_cells_endpointslice,
};
