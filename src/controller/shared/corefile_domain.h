/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The cluster domain, from the Corefile of the cluster's DNS servers. */
#pragma once

#include <stdbool.h>

#include "base/compiler.h"
#include "base/slice.h"

enum { COREFILE_DOMAIN_MAX = 254 };

/* The domain that the plugin kubernetes serves in a Corefile; ERR_NOTFOUND when the file names none
 * that can be read: by an environment variable, in a file that it imports, or not at all. */
MUST_CHECK int corefile_domain_find(struct slice corefile, char out[COREFILE_DOMAIN_MAX]);

/* Whether servers with this Corefile answer for suffixes ID.search.DOMAIN (the plugin searchpath): the
 * block that gets queries for the domain has the plugin, for that very zone. A zone that an
 * environment variable completes may be the domain. */
bool corefile_domain_is_searched(struct slice corefile, const char *domain);
