/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes network configuration version 2. What is written was read and checked by api/machine; this
 * file knows what netplan and the renderers of cloud-init accept. */
#include "cmd/netconfig/network_config.h"

#include <stdbool.h>
#include <string.h>

#include "base/slice.h"

/* Default routes of later devices are used when the first one is gone. */
enum { METRIC_STEP = 100 };

struct writer {
	const struct machine *machine;
	const struct machine_merged *merged;
	const char *indent; /* of the keys at the top */
	const char *id;	    /* what keys of devices with a MAC address begin with */
	struct strbuf *out;
	unsigned default_routes4, default_routes6; /* written so far */
};

static void put_text(struct strbuf *out, const char *text)
{
	strbuf_add_json(out, slice_of(text));
}

/* `["a", "b"]` */
static void put_list(struct strbuf *out, const struct machine_list *list)
{
	strbuf_addc(out, '[');
	for (size_t i = 0; i < list->n; i++) {
		strbuf_adds(out, i != 0 ? ", " : "");
		put_text(out, list->v[i]);
	}
	strbuf_addc(out, ']');
}

/* A key of a device, three levels deep. */
static void put_key(const struct writer *writer, const char *key)
{
	strbuf_addf(writer->out, "%s    %s: ", writer->indent, key);
}

static void put_switch(const struct writer *writer, const char *key, bool value)
{
	put_key(writer, key);
	strbuf_adds(writer->out, value ? "true\n" : "false\n");
}

static bool has_override(const struct machine_overrides *overrides, const char *key)
{
	for (size_t i = 0; i < overrides->n; i++) {
		if (strcmp(overrides->v[i].key, key) == 0)
			return true;
	}
	return false;
}

/* What the device says itself wins over what follows from its name servers. */
static void put_overrides(const struct writer *writer, const char *key,
			  const struct machine_overrides *overrides, bool ignore_dns)
{
	static const char *const dns_keys[] = { "use-dns", "use-domains" };
	const char *separator = "{";
	bool any = overrides->n != 0 || ignore_dns;
	if (!any)
		return;
	put_key(writer, key);
	for (size_t i = 0; i < overrides->n; i++) {
		strbuf_addf(writer->out, "%s%s: %s", separator, overrides->v[i].key,
			    overrides->v[i].value);
		separator = ", ";
	}
	for (size_t i = 0; i < ARRAY_LEN(dns_keys) && ignore_dns; i++) {
		if (has_override(overrides, dns_keys[i]))
			continue;
		strbuf_addf(writer->out, "%s%s: false", separator, dns_keys[i]);
		separator = ", ";
	}
	strbuf_adds(writer->out, "}\n");
}

static void put_dhcp(const struct writer *writer, const struct machine_device *device,
		     bool ignore_dns)
{
	put_switch(writer, "dhcp4", device->dhcp4);
	if (device->dhcp4)
		put_overrides(writer, "dhcp4-overrides", &device->overrides4, ignore_dns);
	put_switch(writer, "dhcp6", device->dhcp6);
	if (device->dhcp6)
		put_overrides(writer, "dhcp6-overrides", &device->overrides6, ignore_dns);
	else /* DHCPv6 needs router advertisements; without it nothing may come from them. */
		put_switch(writer, "accept-ra", false);
}

static void put_route(const struct writer *writer, const struct machine_route *route, bool first)
{
	strbuf_adds(writer->out, first ? "[{to: " : ", {to: ");
	put_text(writer->out, route->to);
	strbuf_adds(writer->out, ", via: ");
	put_text(writer->out, route->via);
	if (route->metric >= 0)
		strbuf_addf(writer->out, ", metric: %lld", (long long)route->metric);
	strbuf_addc(writer->out, '}');
}

static bool put_gateway(const struct writer *writer, const char *network, const char *gateway,
			unsigned *written, bool first)
{
	struct machine_route route = { .to = network, .via = gateway, .metric = -1 };
	if (gateway == NULL)
		return false;
	if (*written != 0)
		route.metric = (int64_t)*written * METRIC_STEP;
	++*written;
	put_route(writer, &route, first);
	return true;
}

/* The default route is a plain network: renderers of cloud-init 22.4 fail at `default`, and netplan
 * warns about `gateway4` (NC-3). */
static void put_routes(struct writer *writer, const struct machine_device *device)
{
	if (device->gateway4 == NULL && device->gateway6 == NULL && device->n_routes == 0)
		return;
	put_key(writer, "routes");
	bool any =
		put_gateway(writer, "0.0.0.0/0", device->gateway4, &writer->default_routes4, true);
	any = put_gateway(writer, "::/0", device->gateway6, &writer->default_routes6, !any) || any;
	for (size_t i = 0; i < device->n_routes; i++) {
		put_route(writer, &device->routes[i], !any);
		any = true;
	}
	strbuf_adds(writer->out, "]\n");
}

static void put_nameservers(const struct writer *writer, const struct machine_nameservers *dns)
{
	bool both = dns->search.n != 0 && dns->addresses.n != 0;
	if (dns->search.n == 0 && dns->addresses.n == 0)
		return;
	put_key(writer, "nameservers");
	strbuf_addc(writer->out, '{');
	if (dns->search.n != 0) {
		strbuf_adds(writer->out, "search: ");
		put_list(writer->out, &dns->search);
	}
	strbuf_adds(writer->out, both ? ", " : "");
	if (dns->addresses.n != 0) {
		strbuf_adds(writer->out, "addresses: ");
		put_list(writer->out, &dns->addresses);
	}
	strbuf_adds(writer->out, "}\n");
}

/* "id", unless a device that is found by its name has such a name: the other text, with a number, is
 * longer than the name of an interface can be. */
static const char *choose_id(const struct machine *machine)
{
	for (size_t i = 0; i < machine->n_devices; i++) {
		if (machine->devices[i].mac == NULL &&
		    slice_starts(slice_of(machine->devices[i].name), SLICE("id")))
			return "network-device-";
	}
	return "id";
}

/* A device whose MAC address is known is matched by it and gets its name; else the name is what it
 * is found by. */
static void put_identity(const struct writer *writer, const struct machine_device *device,
			 size_t index)
{
	strbuf_addf(writer->out, "%s  ", writer->indent);
	if (device->mac == NULL) {
		put_text(writer->out, device->name);
		strbuf_adds(writer->out, ":\n");
		return;
	}
	strbuf_addf(writer->out, "%s%zu:\n", writer->id, index);
	put_key(writer, "match");
	strbuf_adds(writer->out, "{macaddress: ");
	put_text(writer->out, device->mac);
	strbuf_adds(writer->out, "}\n");
	put_key(writer, "set-name");
	put_text(writer->out, device->name);
	strbuf_addc(writer->out, '\n');
}

static void put_device(struct writer *writer, size_t index)
{
	const struct machine_device *device = &writer->machine->devices[index];
	put_identity(writer, device, index);
	put_dhcp(writer, device, writer->merged->ignore_dhcp_dns[index]);
	if (device->mtu != 0) {
		put_key(writer, "mtu");
		strbuf_addf(writer->out, "%u\n", device->mtu);
	}
	if (device->addresses.n != 0) {
		put_key(writer, "addresses");
		put_list(writer->out, &device->addresses);
		strbuf_addc(writer->out, '\n');
	}
	put_routes(writer, device);
	put_nameservers(writer, &writer->merged->devices[index]);
}

void network_config_write(const struct machine *machine, const struct machine_merged *merged,
			  bool outer, struct strbuf *out)
{
	struct writer writer = { .machine = machine,
				 .merged = merged,
				 .indent = outer ? "  " : "",
				 .id = choose_id(machine),
				 .out = out };
	strbuf_adds(out, outer ? "network:\n" : "");
	strbuf_addf(out, "%sversion: 2\n%sethernets:\n", writer.indent, writer.indent);
	for (size_t i = 0; i < machine->n_devices; i++)
		put_device(&writer, i);
}

void network_config_write_merged(const struct machine_merged *merged, struct strbuf *out)
{
	const struct machine_nameservers *all = &merged->all;
	if (all->search.n == 0 && all->addresses.n == 0) {
		strbuf_adds(out, "nameservers: {}\n");
		return;
	}
	strbuf_adds(out, "nameservers:\n");
	if (all->search.n != 0) {
		strbuf_adds(out, "  search: ");
		put_list(out, &all->search);
		strbuf_addc(out, '\n');
	}
	if (all->addresses.n != 0) {
		strbuf_adds(out, "  addresses: ");
		put_list(out, &all->addresses);
		strbuf_addc(out, '\n');
	}
}
