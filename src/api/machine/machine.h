/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A machine and its network devices, as Cluster API's vSphere provider (CAPV) describes them in a
 * VSphereVM, a VSphereMachine or a VSphereMachineTemplate. Everything is read and checked here;
 * what is not valid is reported and left out. Pure: no I/O, equal input gives an equal result.
 *
 * Glossary
 *   device   a network interface: spec.network.devices[i]
 *   pool     an entry of a device's addressesFromPools: one claim, one address
 *   claim    the IPAddressClaim `<machine>-<device>-<pool>` (indexes from 0); its IPAddress has the
 *            same name, unless status.addressRef of the claim names another */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "api/machine/nameservers.h"
#include "api/machine/problem.h"
#include "base/arena.h"
#include "base/compiler.h"

enum {
	MACHINE_DEVICES_MAX = 32, /* vSphere has ten */
	MACHINE_POOLS_MAX = 32,	  /* of one device */
	MACHINE_ROUTES_MAX = 256,
	MACHINE_FIELD_MAX = 256,
};

struct machine_route {
	const char *to, *via; /* canonical: "10.1.0.0/16", "10.0.0.1" */
	int64_t metric;	      /* -1: none */
};

/* A setting of a DHCP client, as network-config version 2 names it. */
struct machine_override {
	const char *key;   /* "use-dns" */
	const char *value; /* as JSON: `false`, `100`, `"name"` */
};

struct machine_overrides {
	struct machine_override *v;
	size_t n;
};

struct machine_device {
	const char *name; /* of the interface: deviceName, else "eth" and the index */
	const char *mac;  /* lower case; NULL: not known */
	bool dhcp4, dhcp6;
	struct machine_overrides overrides4, overrides6;
	unsigned mtu;			 /* 0: not set */
	struct machine_list addresses;	 /* "10.0.0.10/24": its own, then the pools' */
	const char *gateway4, *gateway6; /* NULL: none */
	struct machine_route *routes;
	size_t n_routes;
	size_t n_pools;
	struct machine_nameservers own;		   /* of the device: nameservers, searchDomains */
	struct machine_nameservers from_addresses; /* of its IPAddresses, in the pools' order */
};

struct machine {
	const json_t *object; /* borrowed */
	const char *network;  /* where devices are: "spec.network", "spec.template.spec.network" */
	const char *name, *ns;
	struct machine_device *devices;
	size_t n_devices;
	struct machine_nameservers own; /* of the machine: the annotation */
};

/* True for a kind that machine_read takes; `rank` (may be NULL) orders them: the VSphereVM, which is
 * what runs, comes before the VSphereMachine and the template. */
bool machine_kind_known(const json_t *object, int *ret_rank);

/* Reads the machine and the settings of its devices, addresses of pools not included (bind.h).
 * `name` is what its VSphereVM is called. Texts lie in the problems' arena or in the object. */
void machine_read(const json_t *object, const char *name, struct machine_problems *problems,
		  struct machine *ret);

/* The first device that has the address (canonical, without prefix) and for which it means the same
 * as for `device`: link-local addresses do so on one device only. n_devices: none. */
size_t machine_find_ip(const struct machine *machine, size_t device, const char *ip);
/* The field of a device: "spec.network.devices[1].mtu". */
const char *machine_device_field(const struct machine *machine, size_t device, const char *field,
				 struct arena *arena);
/* The name of a pool's claim: "example-1-0". */
const char *machine_claim_name(const struct machine *machine, size_t device, size_t pool,
			       struct arena *arena);
