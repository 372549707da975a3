/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads a machine: its name, its devices, and the DNS settings of both. */
#include "api/machine/machine.h"

#include <string.h>

#include "api/machine/device_priv.h"
#include "api/meta.h"
#include "api/tree.h"

enum { NAME_MAX_BYTES = 253 }; /* of an object of Kubernetes */

static const struct {
	const char *kind, *network;
} kinds[] = {
	{ "VSphereVM", "spec.network" },
	{ "VSphereMachine", "spec.network" },
	{ "VSphereMachineTemplate", "spec.template.spec.network" },
};

bool machine_kind_known(const json_t *object, int *ret_rank)
{
	static const char group[] = "infrastructure.cluster.x-k8s.io/";
	if (strncmp(api_version(object), group, sizeof(group) - 1) != 0)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (strcmp(api_kind(object), kinds[i].kind) != 0)
			continue;
		if (ret_rank != NULL)
			*ret_rank = (int)i;
		return true;
	}
	return false;
}

static bool has_ip(const struct machine_device *device, const char *ip)
{
	size_t n = strlen(ip);
	for (size_t i = 0; i < device->addresses.n; i++) {
		const char *cidr = device->addresses.v[i];
		if (strncmp(cidr, ip, n) == 0 && cidr[n] == '/')
			return true;
	}
	return false;
}

size_t machine_find_ip(const struct machine *machine, size_t device, const char *ip)
{
	bool local = slice_starts(slice_of(ip), SLICE("fe80:"));
	size_t i = 0;
	while (i < machine->n_devices &&
	       ((local && i != device) || !has_ip(&machine->devices[i], ip)))
		i++;
	return i;
}

const char *machine_device_field(const struct machine *machine, size_t device, const char *field,
				 struct arena *arena)
{
	return arena_printf(arena, "%s.devices[%zu]%s%s", machine->network, device,
			    field[0] != '\0' ? "." : "", field);
}

const char *machine_claim_name(const struct machine *machine, size_t device, size_t pool,
			       struct arena *arena)
{
	return arena_printf(arena, "%s-%zu-%zu", machine->name, device, pool);
}

static void read_own_nameservers(struct machine *machine, struct machine_problems *problems)
{
	const char *text = api_annotation(machine->object, MACHINE_NAMESERVERS_ANNOTATION);
	if (text == NULL)
		return;
	IGNORE(machine_parse_nameservers(slice_of(text), machine->object,
					 "metadata.annotations[" MACHINE_NAMESERVERS_ANNOTATION "]",
					 problems, &machine->own));
}

/* Two devices must differ in what they are found by. */
static void check_unique(const struct machine *machine, struct machine_problems *problems)
{
	for (size_t i = 1; i < machine->n_devices; i++) {
		const struct machine_device *device = &machine->devices[i];
		for (size_t j = 0; j < i; j++) {
			const struct machine_device *other = &machine->devices[j];
			if (strcmp(device->name, other->name) == 0)
				machine_report(problems, machine->object,
					       machine_device_field(machine, i, "deviceName",
								    problems->arena),
					       "'%s' is the name of device %zu already",
					       device->name, j);
			if (device->mac != NULL && other->mac != NULL &&
			    strcmp(device->mac, other->mac) == 0)
				machine_report(problems, machine->object,
					       machine_device_field(machine, i, "macAddr",
								    problems->arena),
					       "'%s' is the MAC address of device %zu already",
					       device->mac, j);
		}
	}
}

static void read_devices(struct machine *machine, const json_t *network,
			 struct machine_problems *problems)
{
	const json_t *devices = json_object_get(network, "devices");
	size_t count = json_array_size(devices);
	const char *field = arena_printf(problems->arena, "%s.devices", machine->network);
	if (count == 0) {
		machine_report(problems, machine->object, field, "the machine has no devices");
		return;
	}
	if (count > MACHINE_DEVICES_MAX) {
		machine_report(problems, machine->object, field,
			       "has %zu devices, at most %d are allowed", count,
			       MACHINE_DEVICES_MAX);
		return;
	}
	machine->devices = arena_calloc(problems->arena, count * sizeof(*machine->devices));
	machine->n_devices = count;
	for (size_t i = 0; i < count; i++)
		device_read(machine, i, json_array_get(devices, i), problems);
	check_unique(machine, problems);
}

void machine_read(const json_t *object, const char *name, struct machine_problems *problems,
		  struct machine *ret)
{
	int rank = 0;
	*ret = (struct machine){ .object = object, .name = name, .ns = api_namespace(object) };
	if (!machine_kind_known(object, &rank)) {
		machine_report(problems, object, "kind", "'%.100s' is no machine",
			       api_kind(object));
		return;
	}
	ret->network = kinds[rank].network;
	if (strlen(name) > NAME_MAX_BYTES)
		machine_report(problems, object, "metadata.name",
			       "'%s' cannot be the name of a machine: it has %zu characters, at "
			       "most %d are allowed",
			       machine_shorten(name, problems->arena), strlen(name),
			       NAME_MAX_BYTES);
	else if (!api_is_subdomain_name(name))
		machine_report(
			problems, object, "metadata.name",
			"'%s' cannot be the name of a machine: it must have lower-case letters, "
			"digits, '-' and '.' only, and begin and end with a letter or a "
			"digit",
			machine_shorten(name, problems->arena));
	const json_t *network = api_get(object, ret->network);
	if (json_array_size(json_object_get(network, "routes")) != 0)
		machine_warn(problems, object,
			     arena_printf(problems->arena, "%s.routes", ret->network),
			     "routes of the whole machine are left out: write them to a device");
	read_own_nameservers(ret, problems);
	read_devices(ret, network, problems);
}
