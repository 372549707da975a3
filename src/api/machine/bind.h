/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The addresses that a machine's claims were given. The order is that of devices and of pools in a
 * device, whatever the order of the objects, which is that of allocation (IP-4). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "api/machine/machine.h"
#include "api/machine/problem.h"

/* Holds the name servers for addresses whose pool has none, as YAML under the key `nameservers`. */
#define MACHINE_DEFAULTS_CONFIGMAP "fairlead-ipam"

/* Borrowed trees in any order: IPAddresses, IPAddressClaims, pools, the ConfigMap of defaults;
 * others are passed over. */
struct machine_objects {
	json_t *const *v;
	size_t n;
	const char *defaults_ns; /* the namespace of that ConfigMap; NULL: the first in any */
};

/* Finds the address of every pool of every device and adds it, its gateway and its name servers
 * (IP-14: those of the address, of its annotation, of its pool, else the default) to the device. An
 * annotation without an entry means that the address has none.
 * An address that is missing is reported: a machine is configured when all its claims are bound
 * (IP-12). With `dns_only`, what is wrong with the address itself is a warning. */
void machine_bind(struct machine *machine, const struct machine_objects *objects, bool dns_only,
		  struct machine_problems *problems);
