/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds the DNS servers in the watched EndpointSlices, or in the options. */
#include "controller/egressfirewall/transfer/servers.h"

#include <string.h>

#include "api/meta.h"
#include "api/tree.h"
#include "controller/egressfirewall/watches.h"
#include "controller/shared/feature_gate.h"
#include "kube/decode/tree.h"

bool egressfirewall_transfer_is_on(const struct controller_ctx *ctx)
{
	const struct controller_options *options = ctx->options;
	if (options == NULL)
		return false;
	if (options->machine != NULL)
		return options->machine->egress_keys != NULL;
	return options->feature_gates != NULL && feature_gate_egress_is_on(options->feature_gates);
}

/* ---- EndpointSlices ---- */

/* The port for TCP: the one of that name, since a DNS Service may have others (metrics). 0: none. */
static uint16_t tcp_port(const json_t *slice)
{
	const json_t *port;
	size_t i;
	json_array_foreach (json_object_get(slice, "ports"), i, port) {
		json_int_t number = json_integer_value(json_object_get(port, "port"));
		if (strcmp(api_text(json_object_get(port, "name")), "dns-tcp") == 0 && number > 0 &&
		    number <= UINT16_MAX)
			return (uint16_t)number;
	}
	return 0;
}

struct listing {
	egressfirewall_transfer_servers *out;
	const char *address_type;
};

/* A server that is not ready may still answer; one that is not there does not matter for long. */
static bool add_slice(void *arg, struct kube_obj *object)
{
	const struct listing *listing = arg;
	const json_t *slice = kube_tree_of(object), *endpoint;
	uint16_t port = tcp_port(slice);
	size_t i;
	if (port == 0 || strcmp(api_get_string(slice, "addressType"), listing->address_type) != 0)
		return true;
	json_array_foreach (json_object_get(slice, "endpoints"), i, endpoint) {
		const json_t *address = json_array_get(json_object_get(endpoint, "addresses"), 0);
		union net_addr addr;
		if (json_is_false(api_get(endpoint, "conditions.serving")) ||
		    net_addr_parse_ip(api_text_slice(address), &addr) < 0 ||
		    listing->out->n >= EGRESSFIREWALL_TRANSFER_SERVERS_MAX)
			continue;
		net_addr_set_port(&addr, port);
		vec_push(listing->out, addr);
	}
	return true;
}

/* Slices of both families list the same pods: one family is enough. */
static void list_endpoints(const struct controller_ctx *ctx, egressfirewall_transfer_servers *ret)
{
	static const char *const types[] = { "IPv4", "IPv6" };
	struct kube_store *store = ctx->stores[egressfirewall_slices_watch(ctx)];
	for (size_t i = 0; i < ARRAY_LEN(types) && ret->n == 0; i++)
		kube_store_each(store, add_slice, &(struct listing){ ret, types[i] });
}

/* ---- options ---- */

static void add_machine(const struct controller_machine *machine,
			egressfirewall_transfer_servers *ret)
{
	union net_addr addr;
	if (net_addr_parse_ip(slice_of(machine->bind), &addr) < 0)
		return;
	net_addr_set_port(&addr, machine->port);
	net_addr_avoid_wildcard(&addr);
	vec_push(ret, addr);
}

void egressfirewall_transfer_list_servers(const struct controller_ctx *ctx,
					  egressfirewall_transfer_servers *ret)
{
	const struct controller_options *options = ctx->options;
	if (options != NULL && options->machine != NULL) {
		add_machine(options->machine, ret);
		return;
	}
	if (options == NULL || options->n_dns_instances == 0) {
		list_endpoints(ctx, ret);
		return;
	}
	for (size_t i = 0; i < options->n_dns_instances; i++)
		vec_push(ret, options->dns_instances[i]);
}
