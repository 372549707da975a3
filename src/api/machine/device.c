/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads one device of a machine: what identifies it, its own addresses, gateways, routes, DHCP and
 * DNS settings. All of it ends up in a guest's configuration, so all of it is checked. */
#include "api/machine/device_priv.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "api/machine/overrides_priv.h"
#include "api/meta.h"
#include "api/tree.h"

enum {
	INTERFACE_NAME_MAX = 15, /* Linux */
	MTU_MIN = 68,		 /* RFC 791 */
	MTU_MAX = 65535,
	MAC_BYTES = 6,
	PREFIX_TEXT_MAX = 3,
};

struct reader {
	const struct machine *machine;
	struct machine_device *device;
	size_t index;
	const json_t *tree;
	struct machine_problems *problems;
};

static const char *field_of(const struct reader *reader, const char *name)
{
	return machine_device_field(reader->machine, reader->index, name, reader->problems->arena);
}

/* "10.0.0.10/24" with the address in canonical form; NULL unless it is one. `ret_family` may be
 * NULL. */
static const char *parse_cidr(const char *text, struct arena *arena, int *ret_family)
{
	char ip[MACHINE_IP_TEXT_MAX], copy[MACHINE_IP_TEXT_MAX];
	const char *slash = strchr(text, '/');
	unsigned prefix;
	if (slash == NULL || (size_t)(slash - text) >= sizeof(copy) ||
	    strlen(slash + 1) > PREFIX_TEXT_MAX)
		return NULL;
	memcpy(copy, text, (size_t)(slash - text));
	copy[slash - text] = '\0';
	int family = machine_ip_parse(copy, ip);
	if (family == 0 ||
	    slice_prefix_length(slice_of(slash + 1), family == AF_INET ? 32 : 128, &prefix) < 0)
		return NULL;
	if (ret_family != NULL)
		*ret_family = family;
	return arena_printf(arena, "%s/%u", ip, prefix);
}

/* A field that is a string; "" if it is missing, or after a report. */
static const char *read_text(const struct reader *reader, const char *name)
{
	const json_t *value = json_object_get(reader->tree, name);
	if (value != NULL && !json_is_null(value) && !json_is_string(value))
		machine_report(reader->problems, reader->machine->object, field_of(reader, name),
			       "must be a string, not %s",
			       machine_show(value, reader->problems->arena));
	return api_text(value);
}

/* A member that is a list; NULL: it is missing, or no list, which is reported. */
static const json_t *read_list(const struct reader *reader, const char *name)
{
	const json_t *value = json_object_get(reader->tree, name);
	if (value == NULL || json_is_null(value) || json_is_array(value))
		return value;
	machine_report(reader->problems, reader->machine->object, field_of(reader, name),
		       "must be a list, not %s", machine_show(value, reader->problems->arena));
	return NULL;
}

static void read_name(const struct reader *reader)
{
	const char *name = read_text(reader, "deviceName");
	if (name[0] == '\0') {
		reader->device->name =
			arena_printf(reader->problems->arena, "eth%zu", reader->index);
		return;
	}
	bool fits = strlen(name) <= INTERFACE_NAME_MAX && strcmp(name, ".") != 0 &&
		    strcmp(name, "..") != 0;
	for (const char *at = name; *at != '\0' && fits; at++)
		fits = ascii_isdigit(*at) || ascii_isalpha(*at) || strchr("._-", *at) != NULL;
	if (!fits)
		machine_report(reader->problems, reader->machine->object,
			       field_of(reader, "deviceName"),
			       "'%.100s' cannot be the name of an interface: at most 15 letters, "
			       "digits, '.', '-' and '_'",
			       name);
	reader->device->name = name;
}

/* "00:50:56:AB:cd:0e" and the form with '-', in lower case and with ':'; NULL for any other text. */
static const char *parse_mac(const char *text, struct arena *arena)
{
	char mac[3 * MAC_BYTES];
	if (strlen(text) != sizeof(mac) - 1)
		return NULL;
	for (size_t i = 0; i < sizeof(mac) - 1; i++) {
		bool separator = i % 3 == 2;
		if (separator ? text[i] != ':' && text[i] != '-' : ascii_hex_value(text[i]) < 0)
			return NULL;
		mac[i] = separator ? ':' : ascii_lower(text[i]);
	}
	mac[sizeof(mac) - 1] = '\0';
	return arena_strdup(arena, mac);
}

/* The device's own, else what vSphere gave it: status.network has the devices in the same order. */
static void read_mac(const struct reader *reader)
{
	const json_t *object = reader->machine->object;
	const char *text = read_text(reader, "macAddr");
	const char *field = field_of(reader, "macAddr");
	if (text[0] == '\0') {
		field = arena_printf(reader->problems->arena, "status.network[%zu].macAddr",
				     reader->index);
		text = api_get_string(object, field);
	}
	if (text[0] == '\0')
		return;
	reader->device->mac = parse_mac(text, reader->problems->arena);
	if (reader->device->mac == NULL)
		machine_report(reader->problems, object, field, "'%.100s' is not a MAC address",
			       text);
}

static bool read_switch(const struct reader *reader, const char *name)
{
	const json_t *value = json_object_get(reader->tree, name);
	if (value != NULL && !json_is_boolean(value) && !json_is_null(value))
		machine_report(reader->problems, reader->machine->object, field_of(reader, name),
			       "must be true or false");
	return json_is_true(value);
}

static void read_mtu(const struct reader *reader)
{
	const json_t *value = json_object_get(reader->tree, "mtu");
	if (value == NULL || json_is_null(value))
		return;
	json_int_t mtu = json_is_integer(value) ? json_integer_value(value) : -1;
	if (mtu < MTU_MIN || mtu > MTU_MAX)
		machine_report(reader->problems, reader->machine->object, field_of(reader, "mtu"),
			       "must be a number from %d to %d", MTU_MIN, MTU_MAX);
	else
		reader->device->mtu = (unsigned)mtu;
}

static void read_address(const struct reader *reader, const json_t *entry, const char *field)
{
	struct arena *arena = reader->problems->arena;
	const char *text = machine_show(entry, arena);
	const char *cidr = parse_cidr(text, arena, NULL);
	if (cidr == NULL) {
		machine_report(reader->problems, reader->machine->object, field, "'%.100s' %s",
			       text,
			       machine_ip_refusal(text,
						  "is not an address with its prefix, as "
						  "10.0.0.1/24",
						  arena));
		return;
	}
	const char *ip = arena_strndup(arena, cidr, strcspn(cidr, "/"));
	size_t other = machine_find_ip(reader->machine, reader->index, ip);
	if (other != reader->machine->n_devices)
		machine_report(reader->problems, reader->machine->object, field,
			       "device %zu has the address '%s' already", other, ip);
	else
		machine_list_add(&reader->device->addresses, arena, cidr);
}

static void read_addresses(const struct reader *reader)
{
	const json_t *list = read_list(reader, "ipAddrs"), *entry;
	size_t i;
	json_array_foreach (api_tree(list), i, entry) {
		char name[MACHINE_FIELD_MAX];
		snprintf(name, sizeof(name), "ipAddrs[%zu]", i);
		read_address(reader, entry, field_of(reader, name));
	}
}

static const char *read_gateway(const struct reader *reader, const char *name, int family)
{
	char canonical[MACHINE_IP_TEXT_MAX];
	const char *text = read_text(reader, name);
	if (text[0] == '\0')
		return NULL;
	if (machine_ip_parse(text, canonical) != family) {
		machine_report(reader->problems, reader->machine->object, field_of(reader, name),
			       "'%.100s' %s", text,
			       machine_ip_refusal(text,
						  family == AF_INET ? "is not an IPv4 address"
								    : "is not an IPv6 address",
						  reader->problems->arena));
		return NULL;
	}
	return arena_strdup(reader->problems->arena, canonical);
}

static void read_route(const struct reader *reader, const json_t *tree, size_t index)
{
	const json_t *metric = json_object_get(tree, "metric");
	const char *to = machine_show(json_object_get(tree, "to"), reader->problems->arena);
	const char *via = machine_show(json_object_get(tree, "via"), reader->problems->arena);
	char canonical[MACHINE_IP_TEXT_MAX], name[MACHINE_FIELD_MAX];
	int family = 0;
	const char *network = parse_cidr(to, reader->problems->arena, &family);
	snprintf(name, sizeof(name), "routes[%zu]", index);
	if (network == NULL) {
		machine_report(reader->problems, reader->machine->object, field_of(reader, name),
			       "'%.100s' is not a network, as 10.0.0.0/8", to);
		return;
	}
	if (machine_ip_parse(via, canonical) != family) {
		machine_report(reader->problems, reader->machine->object, field_of(reader, name),
			       "'%.100s' is not a gateway for '%s': it must be an IPv%d address",
			       via, network, family == AF_INET ? 4 : 6);
		return;
	}
	json_int_t number = json_is_integer(metric) ? json_integer_value(metric) : -1;
	if (metric != NULL && (number < 0 || number > UINT32_MAX)) {
		machine_report(reader->problems, reader->machine->object, field_of(reader, name),
			       "the metric must be a number from 0 to 4294967295");
		return;
	}
	reader->device->routes[reader->device->n_routes++] =
		(struct machine_route){ .to = network,
					.via = arena_strdup(reader->problems->arena, canonical),
					.metric = number };
}

static void read_routes(const struct reader *reader)
{
	const json_t *list = read_list(reader, "routes"), *entry;
	size_t i, count = json_array_size(list);
	if (count > MACHINE_ROUTES_MAX) {
		machine_report(
			reader->problems, reader->machine->object, field_of(reader, "routes"),
			"has %zu entries, at most %d are allowed", count, MACHINE_ROUTES_MAX);
		return;
	}
	reader->device->routes = arena_calloc(reader->problems->arena,
					      (count + 1) * sizeof(*reader->device->routes));
	json_array_foreach (api_tree(list), i, entry)
		read_route(reader, entry, i);
}

static void read_pools(const struct reader *reader)
{
	const json_t *pools = json_object_get(reader->tree, "addressesFromPools");
	size_t count = json_array_size(pools);
	if ((pools != NULL && !json_is_null(pools) && !json_is_array(pools)) ||
	    count > MACHINE_POOLS_MAX)
		machine_report(reader->problems, reader->machine->object,
			       field_of(reader, "addressesFromPools"),
			       "must be a list of at most %d pools", MACHINE_POOLS_MAX);
	else
		reader->device->n_pools = count;
}

void device_read(struct machine *machine, size_t index, const json_t *tree,
		 struct machine_problems *problems)
{
	struct reader reader = { .machine = machine,
				 .device = &machine->devices[index],
				 .index = index,
				 .tree = tree,
				 .problems = problems };
	struct machine_device *device = reader.device;
	read_name(&reader);
	read_mac(&reader);
	device->dhcp4 = read_switch(&reader, "dhcp4");
	device->dhcp6 = read_switch(&reader, "dhcp6");
	overrides_read(json_object_get(tree, "dhcp4Overrides"), machine->object,
		       field_of(&reader, "dhcp4Overrides"), problems, &device->overrides4);
	overrides_read(json_object_get(tree, "dhcp6Overrides"), machine->object,
		       field_of(&reader, "dhcp6Overrides"), problems, &device->overrides6);
	read_mtu(&reader);
	read_addresses(&reader);
	device->gateway4 = read_gateway(&reader, "gateway4", AF_INET);
	device->gateway6 = read_gateway(&reader, "gateway6", AF_INET6);
	read_routes(&reader);
	read_pools(&reader);
	machine_read_servers(json_object_get(tree, "nameservers"), machine->object,
			     field_of(&reader, "nameservers"), problems, &device->own.addresses);
	machine_read_domains(json_object_get(tree, "searchDomains"), machine->object,
			     field_of(&reader, "searchDomains"), problems, &device->own.search);
}
