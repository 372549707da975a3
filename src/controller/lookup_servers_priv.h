/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The DNS servers that controllers ask. */
#pragma once

#include <stddef.h>

#include "net/addr.h"
#include "resolve/lookup.h"

struct controller_options;

/* Those of the options; else, on one machine, the DNS server of this process, unless it has a Corefile
 * of the user, which may listen elsewhere; else those of /etc/resolv.conf. How many there are, at most LOOKUP_SERVERS_MAX. */
size_t lookup_servers_choose(const struct controller_options *options,
			     union net_addr ret[LOOKUP_SERVERS_MAX]);
