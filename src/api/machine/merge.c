/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Merges DNS settings of a machine, of its devices and of their addresses. */
#include "api/machine/merge.h"

#include <assert.h>
#include <string.h>

struct merger {
	const struct machine *machine;
	const struct machine_merge_opts *opts;
	struct arena *arena;
	struct machine_merged *merged;
};

/* The field of the settings that a call is about. */
static struct machine_list *pick_list(struct machine_nameservers *settings, bool domains)
{
	return domains ? &settings->search : &settings->addresses;
}

static const struct machine_list *view_list(const struct machine_nameservers *settings,
					    bool domains)
{
	return domains ? &settings->search : &settings->addresses;
}

/* `own` in place of `others`, or before them. */
static void join_lists(const struct merger *merger, struct machine_list *out,
		       const struct machine_list *own, const struct machine_list *others)
{
	machine_list_join(out, merger->arena, own);
	if (own->n == 0 || merger->opts->prepend)
		machine_list_join(out, merger->arena, others);
}

/* How many entries guests can hold. The rest is cut from the end, so that what comes first stays. */
static size_t count_that_fit(const struct machine_list *list, bool domains)
{
	size_t most = domains ? MACHINE_GUEST_DOMAINS_MAX : MACHINE_GUEST_SERVERS_MAX;
	size_t characters = 0;
	for (size_t i = 0; i < MIN(list->n, most); i++) {
		characters += (i != 0) + strlen(list->v[i]);
		if (domains && characters > MACHINE_GUEST_DOMAIN_CHARACTERS_MAX)
			return i;
	}
	return MIN(list->n, most);
}

static void cut_list(const struct merger *merger, struct machine_list *list, bool domains)
{
	size_t keep = count_that_fit(list, domains);
	size_t old = merger->merged->n_cut, more = list->n - keep;
	if (more == 0)
		return;
	struct machine_cut *cut = arena_alloc(merger->arena, (old + more) * sizeof(*cut));
	if (old != 0)
		memcpy(cut, merger->merged->cut, old * sizeof(*cut));
	for (size_t i = 0; i < more; i++)
		cut[old + i] = (struct machine_cut){ list->v[keep + i], domains };
	merger->merged->cut = cut;
	merger->merged->n_cut = old + more;
	list->n = keep;
}

/* Drops what was cut from the list of the whole machine. */
static void keep_what_fits(struct machine_list *list, const struct machine_list *all)
{
	size_t kept = 0;
	for (size_t i = 0; i < list->n; i++) {
		if (machine_list_has(all, list->v[i]))
			list->v[kept++] = list->v[i];
	}
	list->n = kept;
}

static void merge_field(const struct merger *merger, bool domains)
{
	const struct machine *machine = merger->machine;
	struct machine_merged *merged = merger->merged;
	struct machine_list *all = pick_list(&merged->all, domains);
	const struct machine_list *own = view_list(&machine->own, domains);
	struct machine_list joined = { 0 };
	for (size_t i = 0; i < machine->n_devices; i++) {
		const struct machine_device *device = &machine->devices[i];
		struct machine_list *list = pick_list(&merged->devices[i], domains);
		join_lists(merger, list, view_list(&device->own, domains),
			   view_list(&device->from_addresses, domains));
		machine_list_join(&joined, merger->arena, list);
	}
	join_lists(merger, all, own, &joined);
	cut_list(merger, all, domains);
	for (size_t i = 0; i < machine->n_devices; i++) {
		struct machine_list *list = pick_list(&merged->devices[i], domains);
		bool here = i == merged->default_device;
		if (merger->opts->flat || (own->n != 0 && !merger->opts->prepend)) {
			*list = here ? *all : (struct machine_list){ 0 };
			continue;
		}
		struct machine_list mine = { 0 };
		if (here)
			machine_list_join(&mine, merger->arena, own);
		machine_list_join(&mine, merger->arena, list);
		keep_what_fits(&mine, all);
		*list = mine;
	}
}

/* The device whose servers the domains of device `index`, which has none, are used with: the next one
 * that has some, else the last one before, so that the order of all domains stays; else itself. */
static size_t find_device_with_servers(const struct merger *merger, size_t index)
{
	for (size_t i = index + 1; i < merger->machine->n_devices; i++) {
		if (merger->merged->devices[i].addresses.n != 0)
			return i;
	}
	for (size_t i = index; i-- > 0;) {
		if (merger->merged->devices[i].addresses.n != 0)
			return i;
	}
	return index;
}

static void move_domains(const struct merger *merger, size_t from, size_t to)
{
	struct machine_nameservers *devices = merger->merged->devices;
	struct machine_list joined = { 0 };
	machine_list_join(&joined, merger->arena, &devices[MIN(from, to)].search);
	machine_list_join(&joined, merger->arena, &devices[MAX(from, to)].search);
	devices[to].search = joined;
	devices[from].search = (struct machine_list){ 0 };
}

/* cloud-init 22.4 gives up on the DNS settings of all devices from the first one that has domains
 * and no servers. Those that go to a later device are moved from the last on, others from the
 * first on: that keeps their order. */
static void move_lone_domains(const struct merger *merger)
{
	const struct machine_nameservers *devices = merger->merged->devices;
	size_t count = merger->machine->n_devices;
	for (size_t n = 0; n < 2 * count; n++) {
		size_t i = n < count ? count - 1 - n : n - count;
		size_t to = devices[i].addresses.n == 0 ? find_device_with_servers(merger, i) : i;
		if (n < count ? to > i : to < i)
			move_domains(merger, i, to);
	}
}

static bool has_default_route(const struct machine_device *device, const char *network)
{
	for (size_t i = 0; i < device->n_routes; i++) {
		if (strcmp(device->routes[i].to, network) == 0)
			return true;
	}
	return false;
}

/* The first device with a default route for IPv4, else for IPv6, else with DHCP, else the first. */
static size_t find_default_device(const struct machine *machine)
{
	size_t by_gateway6 = machine->n_devices, by_dhcp = machine->n_devices;
	for (size_t i = machine->n_devices; i-- > 0;) {
		const struct machine_device *device = &machine->devices[i];
		if (device->gateway6 != NULL || has_default_route(device, "::/0"))
			by_gateway6 = i;
		if (device->dhcp4 || device->dhcp6)
			by_dhcp = i;
	}
	for (size_t i = 0; i < machine->n_devices; i++) {
		const struct machine_device *device = &machine->devices[i];
		if (device->gateway4 != NULL || has_default_route(device, "0.0.0.0/0"))
			return i;
	}
	if (by_gateway6 != machine->n_devices)
		return by_gateway6;
	return by_dhcp != machine->n_devices ? by_dhcp : 0;
}

static bool ignores_dhcp_dns(const struct merger *merger, size_t index)
{
	const struct machine_device *device = &merger->machine->devices[index];
	bool for_all = merger->opts->flat || merger->machine->own.addresses.n != 0;
	if (!device->dhcp4 && !device->dhcp6)
		return false;
	switch (merger->opts->dhcp_dns) {
	case MACHINE_DHCP_DNS_USE:
		return false;
	case MACHINE_DHCP_DNS_IGNORE:
		return true;
	case MACHINE_DHCP_DNS_AUTO:
		break;
	}
	return merger->merged->devices[index].addresses.n != 0 ||
	       (for_all && merger->merged->all.addresses.n != 0);
}

void machine_merge(const struct machine *machine, const struct machine_merge_opts *opts,
		   struct arena *arena, struct machine_merged *ret)
{
	struct merger merger = { .machine = machine, .opts = opts, .arena = arena, .merged = ret };
	size_t count = machine->n_devices;
	*ret = (struct machine_merged){ .default_device = find_default_device(machine) };
	ret->devices = arena_calloc(arena, (count + 1) * sizeof(*ret->devices));
	ret->ignore_dhcp_dns = arena_calloc(arena, (count + 1) * sizeof(*ret->ignore_dhcp_dns));
	assert(ret->default_device < count || count == 0);
	merge_field(&merger, true);
	merge_field(&merger, false);
	move_lone_domains(&merger);
	for (size_t i = 0; i < count; i++)
		ret->ignore_dhcp_dns[i] = ignores_dhcp_dns(&merger, i);
	assert(ret->all.addresses.n <= MACHINE_GUEST_SERVERS_MAX);
	assert(ret->all.search.n <= MACHINE_GUEST_DOMAINS_MAX);
}
