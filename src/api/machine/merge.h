/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One list of DNS servers and search domains from the many that a machine has.
 *
 * Per field: a device's own entries replace those of its addresses; the machine's own replace all;
 * or they are put in front (IP-8). What is repeated is dropped, the first stays (IP-7). Guests hold
 * three servers, six domains and 256 characters of domains: more is cut and listed (IP-15).
 *
 * The lists are then written per device, or all on the device with the default route (NC-1). A field
 * that the machine itself sets is for the whole machine: with either mode it stands on that device,
 * and where it replaces, nowhere else (NC-4). Domains of a device without servers are written on
 * the next device that has some, or the one before. Pure; texts are those of the machine. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "api/machine/machine.h"
#include "api/machine/nameservers.h"
#include "base/arena.h"

enum {
	MACHINE_GUEST_SERVERS_MAX = 3,
	MACHINE_GUEST_DOMAINS_MAX = 6,
	MACHINE_GUEST_DOMAIN_CHARACTERS_MAX = 256, /* joined by blanks */
};

/* Whether a device with DHCP also uses DNS servers and domains of DHCP (IP-9). */
enum machine_dhcp_dns {
	MACHINE_DHCP_DNS_AUTO, /* not where this configuration has servers for it */
	MACHINE_DHCP_DNS_USE,
	MACHINE_DHCP_DNS_IGNORE,
};

struct machine_merge_opts {
	bool flat;    /* all on the device with the default route */
	bool prepend; /* own settings come before those of addresses, instead of replacing them */
	enum machine_dhcp_dns dhcp_dns;
};

struct machine_cut {
	const char *text;
	bool is_domain;
};

struct machine_merged {
	struct machine_nameservers all;	     /* of the machine, within the limits */
	struct machine_nameservers *devices; /* what each device is given; as many as it has */
	bool *ignore_dhcp_dns;		     /* likewise */
	size_t default_device;		     /* the one with the default route */
	struct machine_cut *cut;
	size_t n_cut;
};

void machine_merge(const struct machine *machine, const struct machine_merge_opts *opts,
		   struct arena *arena, struct machine_merged *ret);
