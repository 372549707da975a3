/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Addresses of a name among the TO arguments, looked up once, when a configuration is loaded. It
 * blocks: never on a worker. */
#pragma once

#include <stddef.h>

#include "base/compiler.h"
#include "net/addr.h"
#include "plugin/forward/upstream_address.h"

enum { FORWARD_LOOKUP_MAX = 64 }; /* addresses of one name */

/* Asks the given resolvers in turn, or the system when there are none. The name is absolute: no
 * search list. The number of addresses (port 0), or ERR_NOTFOUND with a sentence in `err`. */
MUST_CHECK int forward_lookup(const char *name, const union net_addr *resolver, size_t n_resolver,
			      union net_addr addr[FORWARD_LOOKUP_MAX], char err[FORWARD_ERR_MAX]);
