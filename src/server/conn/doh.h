/* SPDX-License-Identifier: GPL-3.0-or-later */
/* DNS over HTTPS (RFC 8484) on a connection; the framing of HTTP/1.1 and HTTP/2 is in
 * http/framing.h. */
#pragma once

#include "http/framing.h"

struct tcp_conn;

/* The connection speaks HTTP from now on. */
void doh_start(struct tcp_conn *conn, enum http_version version);
