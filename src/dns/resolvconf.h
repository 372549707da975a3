/* SPDX-License-Identifier: GPL-3.0-or-later */
/* resolv.conf(5) as text: name servers, search list, options. Read as miekg/dns does, so that a
 * file means the same here and to CoreDNS: the last `search` or `domain` line wins, lines and
 * options that are not known are passed over, and what follows the address of a `nameserver` line
 * is nobody's concern. Addresses and names are not judged here. */
#pragma once

#include <stddef.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "base/slice.h"

enum {
	DNS_RESOLVCONF_BYTES_MAX = 1 << 20, /* of the text */
	DNS_RESOLVCONF_WORDS_MAX = 256,	    /* name servers; search elements of a line */
	DNS_RESOLVCONF_NDOTS_MAX = 15,
};

struct dns_resolvconf {
	const char **nameserver;
	size_t n_nameserver;
	const char **search;
	size_t n_search;
	unsigned ndots;	    /* 1 by default */
	unsigned timeout_s; /* 5 */
	unsigned attempts;  /* 2 */
};

/* Fills *ret from the text; its strings are copies in the (growing) arena. ERR_LIMIT beyond the
 * limits above; anything else is a resolv.conf. */
MUST_CHECK int dns_resolvconf_parse(struct slice text, struct arena *arena,
				    struct dns_resolvconf *ret);
