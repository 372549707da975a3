/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The addresses of this machine's interfaces, as they were a few seconds ago. One thread reads them from the system,
 * workers look under RCU. */
#pragma once

#include <stdbool.h>

#include "base/compiler.h"
#include "net/addr.h"

struct egressfirewall_own_addresses_list;

/* Zeroed: none are known. */
struct egressfirewall_own_addresses {
	struct egressfirewall_own_addresses_list *_Atomic list;
};

/* When nobody reads any more. */
void egressfirewall_own_addresses_done(struct egressfirewall_own_addresses *own);
/* Reads them again; those of before stay where that fails. One thread at a time. */
void egressfirewall_own_addresses_refresh(struct egressfirewall_own_addresses *own);
/* Is it one of them, or of the loopback networks, which need not be known? Inside a read section. */
bool egressfirewall_own_addresses_has(const struct egressfirewall_own_addresses *own,
				      const union net_addr *addr);
