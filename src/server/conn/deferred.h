/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests that are served again later, since there was no room to keep their replies: the client
 * has asked for more at once than it has read. A request is short, so that what waits for a client
 * stays small; it is served as if it had just come in, mostly from a cache. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/slice.h"

struct tcp_conn;

enum { CONN_DEFERRED_MAX_BYTES = 256 * 1024 /* of one connection */ };

/* Copies the request. `stream` is that of HTTP. False: there are too many already. */
MUST_CHECK bool conn_defer(struct tcp_conn *conn, uint32_t stream, struct slice msg);
/* Serves those that were deferred before, as many as there is room for. */
void conn_serve_deferred(struct tcp_conn *conn);
