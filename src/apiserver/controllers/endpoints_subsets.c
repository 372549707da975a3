/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Subsets of Endpoints objects: merging them into a canonical form, and converting them to groups
 * of EndpointSlices. */
#include "apiserver/controllers/endpoints_subsets.h"

#include <string.h>

#include "api/meta.h"
#include "apiserver/controllers/endpoints.h"
#include "apiserver/controllers/endpoints_slices.h"
#include "apiserver/rules/ip_rules.h"
#include "base/map.h"
#include "base/mem.h"

static const char *const lists[] = { "addresses", "notReadyAddresses" };

/* ---- repacking ---- */

/* An address with the ports of all its subsets, and whether it is ready. */
struct packed {
	json_t *address;
	json_t *ports; /* array, sorted, each once */
	bool ready;
};

static int compare_ports(const json_t *left, const json_t *right)
{
	int r = strcmp(api_get_string(left, "name"), api_get_string(right, "name"));
	long long a = json_integer_value(json_object_get(left, "port"));
	long long b = json_integer_value(json_object_get(right, "port"));
	if (r == 0 && a != b)
		r = a < b ? -1 : 1;
	return r != 0 ? r
		      : strcmp(api_get_string(left, "protocol"), api_get_string(right, "protocol"));
}

static void add_port(json_t *ports, json_t *port)
{
	size_t i = 0, n = json_array_size(ports);
	while (i < n && compare_ports(json_array_get(ports, i), port) < 0)
		i++;
	if (i == n || !json_equal(json_array_get(ports, i), port))
		json_array_insert(ports, i, port);
}

static void collect_address(struct map *all, json_t *address, const json_t *ports, bool ready)
{
	CLEANUP(freep) char *text = json_dumps(address, JSON_SORT_KEYS | JSON_COMPACT);
	CLEANUP(freep) char *key = xasprintf("%s %s", ready ? "ready" : "waits", text);
	struct packed *packed = map_get(all, slice_of(key));
	json_t *port;
	size_t i;
	if (packed == NULL) {
		packed = xcalloc(1, sizeof(*packed));
		*packed = (struct packed){ json_incref(address), json_array(), ready };
		map_set(all, slice_of(key), packed);
	}
	json_array_foreach (ports, i, port)
		add_port(packed->ports, port);
}

static json_t *subset_with(json_t *subsets, json_t *ports)
{
	json_t *subset;
	size_t i;
	json_array_foreach (subsets, i, subset) {
		if (json_equal(json_object_get(subset, "ports"), ports))
			return subset;
	}
	subset = json_pack("{sO}", "ports", ports);
	json_array_append_new(subsets, subset);
	return subset;
}

static int compare_addresses(const json_t *left, const json_t *right)
{
	int r = strcmp(api_get_string(left, "ip"), api_get_string(right, "ip"));
	return r != 0 ? r
		      : strcmp(api_get_string(left, "targetRef.uid"),
			       api_get_string(right, "targetRef.uid"));
}

static void add_address(json_t *subset, const struct packed *packed)
{
	const char *name = lists[packed->ready ? 0 : 1];
	json_t *list = json_object_get(subset, name);
	size_t i;
	if (list == NULL) {
		list = json_array();
		json_object_set_new(subset, name, list);
	}
	/* From the end: addresses usually come in order. */
	for (i = json_array_size(list); i > 0; i--) {
		if (compare_addresses(json_array_get(list, i - 1), packed->address) <= 0)
			break;
	}
	json_array_insert(list, i, packed->address);
}

void apiserver_endpoints_subsets_repack(json_t *subsets)
{
	struct map all;
	const struct map_entry *entry;
	json_t *subset, *address;
	size_t i, k, pos = 0;
	map_init(&all);
	json_array_foreach (subsets, i, subset) {
		for (size_t l = 0; l < ARRAY_LEN(lists); l++) {
			json_array_foreach (json_object_get(subset, lists[l]), k, address)
				collect_address(&all, address, json_object_get(subset, "ports"),
						l == 0);
		}
	}
	json_array_clear(subsets);
	while ((entry = map_next(&all, &pos)) != NULL) {
		struct packed *packed = entry->value;
		add_address(subset_with(subsets, packed->ports), packed);
		json_decref(packed->address);
		json_decref(packed->ports);
		free(packed);
	}
	map_done(&all);
	json_array_foreach (subsets, i, subset) {
		if (json_array_size(json_object_get(subset, "ports")) == 0)
			json_object_del(subset, "ports");
	}
}

/* ---- groups ---- */

static json_t *slice_ports(const json_t *subset)
{
	json_t *ports = json_array(), *port;
	size_t i;
	json_array_foreach (json_object_get(subset, "ports"), i, port) {
		json_t *copy = json_pack("{ss,ss,sO}", "name", api_get_string(port, "name"),
					 "protocol", api_get_string(port, "protocol"), "port",
					 json_object_get(port, "port"));
		json_t *app = json_object_get(port, "appProtocol");
		if (json_is_string(app))
			json_object_set(copy, "appProtocol", app);
		json_array_append_new(ports, copy);
	}
	return ports;
}

static json_t *slice_endpoint(const json_t *address, bool ready)
{
	static const char *const kept[] = { "nodeName", "targetRef" };
	json_t *endpoint = json_pack("{s[s],s{sb}}", "addresses", api_get_string(address, "ip"),
				     "conditions", "ready", ready);
	const char *hostname = api_get_string(address, "hostname");
	if (hostname[0] != '\0')
		json_object_set_new(endpoint, "hostname", json_string(hostname));
	for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
		json_t *value = json_object_get(address, kept[i]);
		if (value != NULL && !json_is_null(value))
			json_object_set(endpoint, kept[i], value);
	}
	return endpoint;
}

static void add_family(json_t *groups, const json_t *subset, int family)
{
	json_t *ports = slice_ports(subset), *address;
	const char *type = family == 4 ? "IPv4" : "IPv6";
	size_t k;
	for (size_t l = 0; l < ARRAY_LEN(lists); l++) {
		json_array_foreach (json_object_get(subset, lists[l]), k, address) {
			if (apiserver_address_family(api_get_string(address, "ip")) == family)
				apiserver_endpoints_groups_add(groups, type, ports,
							       slice_endpoint(address, l == 0));
		}
	}
	json_decref(ports);
}

json_t *apiserver_endpoints_subsets_to_groups(const json_t *subsets)
{
	json_t *groups = json_array();
	const json_t *subset;
	size_t i;
	json_array_foreach (subsets, i, subset) {
		add_family(groups, subset, 4);
		add_family(groups, subset, 6);
	}
	return groups;
}
