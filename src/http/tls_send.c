/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sends records of a TLS session; one that is held back leaves together with the next. */
#include "http/tls_send_priv.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/compiler.h"
#include "http/tls_send_test.h"

enum { PARTS_MAX = 16 };

static ssize_t hold_back(struct http_tls_send *send, const giovec_t *iov, int count)
{
	size_t before = send->held.n;
	for (int i = 0; i < count; i++)
		strbuf_add(&send->held, iov[i].iov_base, iov[i].iov_len);
	return (ssize_t)(send->held.n - before);
}

/* How many of `sent` bytes are not of what was held; -1 with EAGAIN: none, try again. */
static ssize_t count_new(struct http_tls_send *send, size_t sent)
{
	size_t old = MIN(sent, send->held.n - send->held_sent);
	send->held_sent += old;
	if (send->held_sent == send->held.n) {
		strbuf_reset(&send->held);
		send->held_sent = 0;
	}
	if (sent > old)
		return (ssize_t)(sent - old);
	errno = EAGAIN;
	return -1;
}

ssize_t http_tls_send_push(gnutls_transport_ptr_t ptr, const giovec_t *iov, int count)
{
	struct http_tls_send *send = ptr;
	struct iovec part[PARTS_MAX];
	size_t n = 0;
	if (send->hold) {
		send->hold = false;
		return hold_back(send, iov, count);
	}
	if (send->held.n > 0)
		part[n++] = (struct iovec){ send->held.s + send->held_sent,
					    send->held.n - send->held_sent };
	/* Those that do not fit are not sent, which the caller sees from the number of bytes. */
	for (int i = 0; i < count && n < PARTS_MAX; i++)
		part[n++] = (struct iovec){ iov[i].iov_base, iov[i].iov_len };
	ssize_t sent = sendmsg(send->fd, &(struct msghdr){ .msg_iov = part, .msg_iovlen = n },
			       MSG_NOSIGNAL);
	return sent < 0 ? sent : count_new(send, (size_t)sent);
}

void http_tls_send_init(struct http_tls_send *send, gnutls_session_t session, int fd)
{
	*send = (struct http_tls_send){ .fd = fd };
	strbuf_init(&send->held);
	gnutls_transport_set_ptr2(session, (gnutls_transport_ptr_t)(intptr_t)fd, send);
	gnutls_transport_set_vec_push_function(session, http_tls_send_push);
}

void http_tls_send_done(struct http_tls_send *send)
{
	strbuf_done(&send->held);
}

void http_tls_send_hold(struct http_tls_send *send)
{
	send->hold = true;
}
