/* How the bytes of a connection are moved. */
#include <errno.h>

#include "server/conn_priv.h"

static int again_or_broken(void)
{
	return errno == EAGAIN || errno == EINTR ? -EAGAIN : -errno;
}

static ssize_t plain_recv(struct tcp_conn *c, void *buf, size_t n)
{
	ssize_t r = recv(c->io.fd, buf, n, MSG_DONTWAIT);
	return r >= 0 ? r : again_or_broken();
}

static ssize_t plain_send(struct tcp_conn *c, const void *buf, size_t n)
{
	ssize_t r = send(c->io.fd, buf, n, MSG_NOSIGNAL | MSG_DONTWAIT);
	return r >= 0 ? r : again_or_broken();
}

const struct conn_io conn_io_plain = { .recv = plain_recv, .send = plain_send };
