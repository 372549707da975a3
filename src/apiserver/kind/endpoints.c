/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Endpoints: the addresses behind a Service, grouped by ports. EndpointSlices have replaced this kind,
 * but people still list it and old tools still write it. */
#include <string.h>

#include "api/meta.h"
#include "api/tree.h"
#include "apiserver/kind/strategy.h"
#include "apiserver/kind/table_cells.h"
#include "apiserver/rules/field_errors.h"
#include "apiserver/rules/ip_rules.h"
#include "apiserver/rules/members.h"
#include "apiserver/rules/name_rules.h"

enum { PORT_MAX = 65535 };

static void prepare_endpoints(const struct apiserver_env *env, json_t *object, const json_t *old)
{
	json_t *subset, *port;
	size_t i, k;
	(void)env, (void)old;
	json_array_foreach (json_object_get(object, "subsets"), i, subset) {
		json_array_foreach (json_object_get(subset, "ports"), k, port)
			apiserver_set_default(port, "protocol", json_string("TCP"));
	}
}

static void check_address(const json_t *address, const char *field, struct api_errors *errs)
{
	const json_t *node = json_object_get(address, "nodeName");
	const char *ip = api_get_string(address, "ip");
	const char *hostname = api_get_string(address, "hostname");
	struct apiserver_path p;
	IGNORE(apiserver_check_address(errs, apiserver_format_path(&p, "%s.ip", field), ip, NULL));
	if (hostname[0] != '\0')
		apiserver_check_label(
			&(struct apiserver_field){
				errs, apiserver_format_path(&p, "%s.hostname", field), NULL },
			hostname);
	if (json_is_string(node))
		apiserver_check_subdomain(
			&(struct apiserver_field){
				errs, apiserver_format_path(&p, "%s.nodeName", field), NULL },
			api_text(node));
	apiserver_format_path(&p, "%s.ip", field);
	if (apiserver_address_family(ip) != 0)
		apiserver_check_endpoint_address(errs, p.s, ip);
	else /* the server checks twice, and reports both */
		apiserver_add_invalid(errs, p.s, json_object_get(address, "ip"),
				      "must be a valid IP address");
}

static void check_addresses(const json_t *subset, size_t index, const char *list,
			    struct api_errors *errs)
{
	const json_t *address;
	struct apiserver_path p;
	size_t k;
	json_array_foreach (json_object_get(subset, list), k, address) {
		apiserver_format_path(&p, "subsets[%zu].%s[%zu]", index, list, k);
		check_address(address, p.s, errs);
	}
}

static void check_port(const json_t *port, bool named, const char *field, struct api_errors *errs)
{
	static const char *const protocols[] = { "SCTP", "TCP", "UDP", NULL };
	const json_t *app = json_object_get(port, "appProtocol");
	const json_t *number = json_object_get(port, "port");
	const char *name = api_get_string(port, "name");
	long long value = json_integer_value(number);
	struct apiserver_path p;
	apiserver_format_path(&p, "%s.name", field);
	if (name[0] != '\0')
		apiserver_check_label(&(struct apiserver_field){ errs, p.s, NULL }, name);
	else if (named)
		apiserver_add_required(errs, p.s, "");
	if (value < 1 || value > PORT_MAX)
		apiserver_add_invalid(errs, apiserver_format_path(&p, "%s.port", field), number,
				      "must be between 1 and 65535, inclusive");
	apiserver_check_one_of(errs, apiserver_format_path(&p, "%s.protocol", field),
			       api_get_string(port, "protocol"), protocols);
	if (json_is_string(app))
		apiserver_check_label_key(
			&(struct apiserver_field){
				errs, apiserver_format_path(&p, "%s.appProtocol", field), NULL },
			api_text(app));
}

static void check_subset(const json_t *subset, size_t index, struct api_errors *errs)
{
	const json_t *ports = json_object_get(subset, "ports"), *port;
	struct apiserver_path p;
	size_t k;
	if (json_array_size(json_object_get(subset, "addresses")) == 0 &&
	    json_array_size(json_object_get(subset, "notReadyAddresses")) == 0)
		apiserver_add_required(errs, apiserver_format_path(&p, "subsets[%zu]", index),
				       "must specify `addresses` or `notReadyAddresses`");
	check_addresses(subset, index, "addresses", errs);
	check_addresses(subset, index, "notReadyAddresses", errs);
	json_array_foreach (ports, k, port) {
		apiserver_format_path(&p, "subsets[%zu].ports[%zu]", index, k);
		check_port(port, json_array_size(ports) > 1, p.s, errs);
	}
}

static void validate_endpoints(const struct apiserver_env *env, const json_t *object,
			       const json_t *old, struct api_errors *errs)
{
	const json_t *subsets = json_object_get(object, "subsets"), *subset;
	size_t i;
	(void)env;
	if (old != NULL && json_equal(subsets, json_object_get(old, "subsets")))
		return; /* stored subsets stay valid */
	json_array_foreach (subsets, i, subset)
		check_subset(subset, i, errs);
}

const struct apiserver_strategy apiserver_endpoints_strategy = {
	.kind = "Endpoints",
	.group = "",
	.prepare = prepare_endpoints,
	.validate = validate_endpoints,
	.bumps_generation = apiserver_no_generation,
	.cells = apiserver_cells_endpoints,
};
