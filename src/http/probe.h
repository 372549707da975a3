/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One blocking GET to a server of our own, to learn whether and how fast it answers. */
#pragma once

#include "base/compiler.h"
#include "base/slice.h"

enum { HTTP_PROBE_MAX_BYTES = 4096 }; /* of the reply that are read */

/* GETs `path` at `addr`, written as for http_server_start; an address that means "all" is asked on
 * the loopback. The whole exchange takes at most timeout_ms. ERR_TIMEOUT; ERR_PARSE for a bad
 * address or a reply that is not HTTP; ERR_CLOSED for a reply that ends early; -errno. */
MUST_CHECK int http_probe(const char *addr, const char *path, int timeout_ms, unsigned *ret_status);
