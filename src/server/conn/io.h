/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How the bytes of a connection are moved: as they are, or through TLS. */
#pragma once

#include <stdbool.h>

#include "base/compiler.h"

struct certs;
struct conn_io;
struct tcp_conn;

extern const struct conn_io conn_io_plain, conn_io_tls;

/* Puts TLS on a connection whose client has sent nothing yet. */
MUST_CHECK int conn_tls_start(struct tcp_conn *conn, struct certs *certs);
/* The handshake goes on; true: it is done, and the protocol is chosen. Otherwise it waits, or the
 * connection is closed. */
bool conn_tls_handshake(struct tcp_conn *conn);
