/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How the bytes of a connection are moved: as they are, or through TLS. */
#include "server/conn/io.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "net/tls.h"
#include "server/conn/certs.h"
#include "server/conn/conn.h"
#include "server/conn/doh.h"
#include "server/conn/flow.h"
#include "server/conn/listener.h"

static int again_or_broken(void)
{
	return errno == EAGAIN || errno == EINTR ? -EAGAIN : -errno;
}

static ssize_t plain_recv(struct tcp_conn *conn, void *buf, size_t len)
{
	ssize_t r = recv(conn->io.fd, buf, len, MSG_DONTWAIT);
	return r >= 0 ? r : again_or_broken();
}

static ssize_t plain_send(struct tcp_conn *conn, const void *buf, size_t len)
{
	ssize_t r = send(conn->io.fd, buf, len, MSG_NOSIGNAL | MSG_DONTWAIT);
	return r >= 0 ? r : again_or_broken();
}

const struct conn_io conn_io_plain = { .recv = plain_recv, .send = plain_send };

/* All that can be read, up to `len`: readiness is about bytes in the socket, not those decrypted
 * already. */
static ssize_t tls_recv(struct tcp_conn *conn, void *buf, size_t len)
{
	size_t got = 0;
	while (got < len) {
		ssize_t r = net_tls_recv(conn->tls, (uint8_t *)buf + got, len - got);
		if (r <= 0)
			return got > 0 ? (ssize_t)got : r; /* the next call returns it again */
		got += (size_t)r;
	}
	return (ssize_t)got;
}

static ssize_t tls_send(struct tcp_conn *conn, const void *buf, size_t len)
{
	return net_tls_send(conn->tls, buf, len);
}

static bool tls_has_more(const struct tcp_conn *conn)
{
	return net_tls_pending(conn->tls) > 0;
}

const struct conn_io conn_io_tls = {
	.recv = tls_recv,
	.send = tls_send,
	.has_more = tls_has_more,
};

int conn_tls_start(struct tcp_conn *conn, struct certs *certs)
{
	static const char *const dot[] = { "dot", NULL };
	static const char *const doh[] = { "h2", "http/1.1", NULL };
	assert(conn->tls == NULL);
	bool https = conn->sock->listener->transport == TRANSPORT_HTTPS;
	struct net_tls_cred *cred = certs_cred(certs);
	int r = net_tls_accept(cred, conn->io.fd, https ? doh : dot, &conn->tls);
	net_tls_cred_unref(cred);
	if (r < 0)
		return r;
	conn->transport_io = &conn_io_tls;
	conn->handshaking = true;
	return 0;
}

bool conn_tls_handshake(struct tcp_conn *conn)
{
	assert(conn->handshaking && conn->tls != NULL);
	int r = net_tls_handshake(conn->tls);
	if (r == 0) {
		conn->handshaking = false;
		if (conn->sock != NULL && conn->sock->listener->transport == TRANSPORT_HTTPS)
			doh_start(conn,
				  strcmp(net_tls_alpn(conn->tls), "h2") == 0 ? HTTP_2 : HTTP_1_1);
		return true;
	}
	if (r == -EAGAIN)
		conn_update_events(conn);
	else
		conn_close(conn);
	return false;
}
