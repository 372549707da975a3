/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Words of `bind` to addresses; apart from the plugin so that tests can use interfaces of their
 * own. */
#pragma once

#include <stddef.h>

#include "base/compiler.h"
#include "base/opt.h"

struct ifaddrs;

enum { BIND_MAX_ADDRESSES = 1024 }; /* of a server block */

struct bind_addrs {
	const char *v[BIND_MAX_ADDRESSES]; /* in the arena */
	size_t n;
};

/* Appends the addresses that the words stand for: an IP address itself as written, or all addresses
 * of an interface, link-local IPv6 ones with their %scope. `ifs` is what getifaddrs gave, NULL for
 * none. ERR_PARSE for a word that is neither, and beyond the limit. */
MUST_CHECK int bind_expand(const struct opt_list *words, const struct ifaddrs *ifs,
			   struct arena *arena, struct bind_addrs *ret, struct srcerr *reterr);
