/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading and writing a connection: what to do when it is readable, writable or too slow. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

struct loop_fd;
struct loop_timer;
struct query;
struct tcp_conn;

void conn_io_ready(struct loop_fd *loop_fd, uint32_t events);
void conn_on_timeout(struct loop_timer *timer);
void conn_update_events(struct tcp_conn *conn);
/* Closes the connection, pauses reading or goes on, as its state asks. */
void conn_settle(struct tcp_conn *conn);
/* Sends what it can, and waits for writability where that is not all. */
void conn_flush(struct tcp_conn *conn);
/* Counts what is kept for the connection; where it is too much for its client, closes the connection of
 * that client on this worker that keeps most. */
void conn_count_kept(struct tcp_conn *conn);
/* May another request be served? */
bool conn_can_serve(const struct tcp_conn *conn);
/* May so many bytes more be kept for the client? Always, if none are. */
bool conn_has_room(const struct tcp_conn *conn, size_t len);
/* May a deferred request be served? Its reply, and those in flight, must find room however long they are, or it
 * would be served again and again while the client does not read. */
bool conn_can_serve_deferred(const struct tcp_conn *conn);
/* Replies are collected, where that is cheaper, until they are sent together. */
void conn_gather(struct tcp_conn *conn);
void conn_send_gathered(struct tcp_conn *conn);
/* A request that came in on `conn`: a slot with the message copied to *ret_at, counted as in
 * flight; NULL at the hard cap. *ret_at is NULL for a long message that no memory was left for. */
struct query *conn_query(struct tcp_conn *conn, const uint8_t *msg, size_t len, uint8_t **ret_at);
/* The query came in on a connection: sends its reply; and it is over, with or without one. */
void conn_send(struct query *q, uint8_t *msg, size_t len);
void conn_query_done(struct query *q);
