/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests and benchmarks have pods and firewalls of their own instead of those of an API server. */
#pragma once

#include "plugin/egressfirewall/hold/clients.h"
#include "plugin/egressfirewall/hold/hold.h"

/* Holds made from now on ask no API server: `fill` adds pods and firewalls, and gets the number. NULL: from the API
 * server again. */
void egressfirewall_hold_preset(void (*fill)(struct egressfirewall_clients *clients,
					     unsigned number),
				unsigned number);
/* Of the hold that was made last. */
struct egressfirewall_clients *egressfirewall_hold_clients(void);
