/* SPDX-License-Identifier: GPL-3.0-or-later */
/* DNS over TCP and TLS: messages with their length in front (RFC 1035 §4.2.2), and streams of them
 * (zone transfers). */
#pragma once

#include <stdbool.h>

struct conn_proto;
struct query;
struct tcp_conn;

extern const struct conn_proto tcp_proto;

/* Can a stream of messages be sent where the query came from? */
bool tcp_can_stream(const struct query *q);
/* Sends the messages of q->stream_next as the client accepts them; ends with chain_stream_end. */
void tcp_stream(struct query *q);
/* Goes on with the first stream of the connection, as far as the client accepts it. */
void tcp_stream_run(struct tcp_conn *conn);
