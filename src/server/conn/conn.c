/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Connections: accepting, time-outs, closing and freeing them. An idle connection costs its struct
 * and nothing else. */
#include "server/conn/conn.h"

#include <assert.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <linux/sockios.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "net/tls.h"
#include "server/chain.h"
#include "server/conn/doh.h"
#include "server/conn/flow.h"
#include "server/conn/io.h"
#include "server/conn/listener.h"
#include "server/conn/conn_limits.h"
#include "server/conn/tcp.h"
#include "server/query.h"
#include "server/route.h"
#include "server/server_state.h"
#include "server/worker.h"
enum {
	ACCEPTS_PER_TURN = 32,
	ACCEPT_PAUSE_NS = 100 * 1000 * 1000, /* when no file descriptor is left */
};

/* ---- life ---- */

const struct block_timeouts *conn_timeouts(const struct tcp_conn *conn)
{
	static const struct block_timeouts none;
	const struct route *route = conn->sock != NULL ? conn->sock->route : NULL;
	return route != NULL ? &route->timeouts : &none;
}

void conn_set_timeout(struct tcp_conn *conn, int64_t ns, uint64_t default_s)
{
	uint64_t d = ns != 0 ? (uint64_t)ns : default_s * NS_PER_S;
	loop_timer_set(conn->worker->loop, &conn->timer, loop_now(conn->worker->loop) + d);
}

static void conn_free(struct tcp_conn *conn)
{
	assert(conn->inflight == 0 && conn->holds == 0 && conn->stream == NULL);
	if (conn->proto->free != NULL)
		conn->proto->free(conn);
	net_tls_free(conn->tls);
	free(conn->part);
	free(conn->deferred);
	free(conn->out);
	free(conn);
}

void conn_hold(struct tcp_conn *conn)
{
	conn->holds++;
}

void conn_let_go(struct tcp_conn *conn)
{
	assert(conn->holds > 0);
	if (--conn->holds == 0 && conn->inflight == 0 && conn->closed)
		conn_free(conn);
}

void conn_close(struct tcp_conn *conn)
{
	if (conn->closed)
		return;
	conn->closed = true;
	if (conn->tls != NULL && !conn->handshaking)
		net_tls_bye(conn->tls);
	loop_fd_del(conn->worker->loop, &conn->io);
	close(conn->io.fd);
	loop_timer_stop(conn->worker->loop, &conn->timer);
	conn_limits_remove(conn);
	conn_hold(conn);
	while (conn->stream != NULL) {
		struct query *s = conn->stream;
		conn->stream = s->next;
		chain_stream_end(s);
	}
	conn_let_go(conn);
}

bool conn_is_behind(const struct tcp_conn *conn)
{
	int in_kernel = 0;
	return conn_unsent(conn) > 0 ||
	       (ioctl(conn->io.fd, SIOCOUTQ, &in_kernel) == 0 && in_kernel > 0);
}

void conn_abort(struct tcp_conn *conn)
{
	struct linger at_once = { .l_onoff = 1, .l_linger = 0 };
	if (!conn->closed && conn_is_behind(conn))
		IGNORE(setsockopt(conn->io.fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)) !=
		       0);
	conn_close(conn);
}

bool conn_is_closed(const struct tcp_conn *conn)
{
	return conn->closed;
}

void conn_close_all(struct worker *worker)
{
	while (worker->conns.oldest != NULL)
		conn_close(worker->conns.oldest);
}

void conn_leave_all(struct listener_sock *sock)
{
	while (sock->conns.oldest != NULL) {
		struct tcp_conn *conn = sock->conns.oldest;
		conn_limits_remove_from_listener(conn);
		conn->eof = true;
		conn->part_n = conn->deferred_n = 0;
		conn_hold(conn);
		if (conn->proto->end != NULL)
			conn->proto->end(conn);
		if (!conn->closed)
			conn_settle(conn);
		conn_let_go(conn);
	}
}

/* ---- accepting ---- */

/* What a client has not accepted waits here, where it is counted, and not in the kernel, which
 * would keep megabytes for each. */
static void limit_kernel_buffer(int fd)
{
	int bytes = CONN_PACE_BYTES;
	IGNORE(setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &bytes, sizeof(bytes)) != 0);
}

static void add_conn(struct listener_sock *sock, int fd, const union net_addr *client)
{
	struct worker *w = sock->worker;
	struct tcp_conn *conn = xcalloc(1, sizeof(*conn));
	conn->io = (struct loop_fd){ .fd = fd, .cb = conn_io_ready };
	conn->timer.cb = conn_on_timeout;
	assert(sock->route != NULL);
	conn->transport_io = &conn_io_plain;
	conn->proto = &tcp_proto;
	conn->sock = sock;
	conn->worker = w;
	conn->client = *client;
	net_addr_unmap(&conn->client);
	socklen_t len = sizeof(conn->local);
	if (getsockname(fd, &conn->local.sa, &len) != 0)
		conn->local = sock->listener->addr;
	net_addr_unmap(&conn->local);
	limit_kernel_buffer(fd);
	conn->events = EPOLLIN;
	struct certs *certs = sock->route->certs;
	if (certs == NULL && sock->listener->transport == TRANSPORT_HTTPS)
		doh_start(conn, HTTP_1_1);
	if ((certs != NULL && conn_tls_start(conn, certs) < 0) ||
	    loop_fd_add(w->loop, &conn->io, conn->events) < 0) {
		close(fd);
		conn_free(conn);
		return;
	}
	conn_set_timeout(conn, conn_timeouts(conn)->read_ns, 3);
	conn_limits_add(conn);
}

/* Out of descriptors: the longest-idle connection gives up its own. With none here (others hold
 * them all) new ones stay in the kernel's queue for a while, as looking again at once would spin.
 */
static void make_descriptor(struct listener_sock *sock)
{
	struct worker *w = sock->worker;
	if (w->conns.oldest != NULL) {
		conn_close(w->conns.oldest);
		return;
	}
	if (loop_fd_mod(w->loop, &sock->tcp, 0) == 0)
		loop_timer_set(w->loop, &sock->accept_timer, loop_now(w->loop) + ACCEPT_PAUSE_NS);
}

void conn_accept_again(struct loop_timer *timer)
{
	struct listener_sock *sock = CONTAINER_OF(timer, struct listener_sock, accept_timer);
	if (loop_fd_mod(sock->worker->loop, &sock->tcp, EPOLLIN) < 0)
		loop_timer_set(sock->worker->loop, timer,
			       loop_now(sock->worker->loop) + ACCEPT_PAUSE_NS);
}

void conn_accept(struct loop_fd *loop_fd, uint32_t events)
{
	struct listener_sock *sock = CONTAINER_OF(loop_fd, struct listener_sock, tcp);
	(void)events;
	for (int i = 0; i < ACCEPTS_PER_TURN; i++) {
		union net_addr client = { 0 };
		socklen_t len = sizeof(client);
		int fd = accept4(loop_fd->fd, &client.sa, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd < 0) {
			/* The kernel looks for a descriptor before it looks for a client: only the
			 * first failure of a turn means that somebody waits. */
			if (i == 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
				       errno == ENOMEM))
				make_descriptor(sock);
			return;
		}
		add_conn(sock, fd, &client);
	}
}
