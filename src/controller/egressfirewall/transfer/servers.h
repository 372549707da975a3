/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The DNS servers that learn addresses: those of `--dns-instances`, else the endpoints of the cluster's
 * DNS Service; on one machine the server of this process. */
#pragma once

#include <stdbool.h>

#include "base/vec.h"
#include "controller/controller.h"
#include "net/addr.h"

enum { EGRESSFIREWALL_TRANSFER_SERVERS_MAX = 10000 }; /* others are left out */

typedef VEC(union net_addr) egressfirewall_transfer_servers;

/* Do servers learn at all: is the feature on? */
bool egressfirewall_transfer_is_on(const struct controller_ctx *ctx);
/* Appends them, with the ports at which they answer over TCP; one may be there twice. */
void egressfirewall_transfer_list_servers(const struct controller_ctx *ctx,
					  egressfirewall_transfer_servers *ret);
