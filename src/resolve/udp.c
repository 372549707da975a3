/* SPDX-License-Identifier: GPL-3.0-or-later */
/* UDP: connected sockets on random ports, questions and replies in batches, ICMP errors. */
#include "resolve/udp_priv.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <linux/errqueue.h>

#include "base/err.h"
#include "base/mem.h"
#include "resolve/exchange_priv.h"
#include "resolve/link_priv.h"
#include "resolve/resolver_priv.h"
#include "resolve/types_priv.h"

enum { RECV_BATCHES_PER_TURN = 4, ERRORS_PER_TURN = 64, SEND_TRIES = 4 };

static void udp_on_io(struct loop_fd *loop_fd, uint32_t events);
static void udp_flush(struct resolve_link *link);

void resolve_udp_prepare(struct resolver *resolver)
{
	for (unsigned i = 0; i < UDP_BATCH; i++)
		resolver->tx[i].msg_hdr =
			(struct msghdr){ .msg_iov = &resolver->tx_iov[i], .msg_iovlen = 1 };
	for (unsigned i = 0; i < UDP_RECV_BATCH; i++)
		resolver->rx[i].msg_hdr =
			(struct msghdr){ .msg_iov = &resolver->rx_iov[i], .msg_iovlen = 1 };
}

/* ---- sockets ---- */

static void set_option(int fd, int level, int name, int value)
{
	/* Without it the socket works all the same. */
	IGNORE(setsockopt(fd, level, name, &value, sizeof(value)) != 0);
}

static void udp_closed(struct resolve_link *link)
{
	struct resolve_pool *pool = link->pool;
	for (unsigned i = 0; i < UDP_SOCKETS; i++) {
		if (pool->udp[i] == link)
			pool->udp[i] = NULL;
	}
	if (pool->udp_now == link)
		pool->udp_now = NULL;
	assert(pool->n_udp > 0);
	pool->n_udp--;
}

static int udp_open(struct resolve_pool *pool, struct resolve_link **ret)
{
	int fd = link_socket(&pool->up->conf, SOCK_DGRAM);
	if (fd < 0)
		return fd;
	if (pool->up->conf.addr.family == AF_INET6) {
		set_option(fd, IPPROTO_IPV6, IPV6_RECVERR, 1);
	} else {
		set_option(fd, IPPROTO_IP, IP_RECVERR, 1);
		/* Forged "fragmentation needed" must not make questions fail (RFC 8085). */
		set_option(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_OMIT);
	}
	static const struct link_ops ops = { .flush = udp_flush, .closed = udp_closed };
	struct resolve_link *link = link_open(pool, fd, EPOLLIN, &ops, sizeof(*link));
	if (link == NULL)
		return -ENOMEM;
	link->io.cb = udp_on_io;
	pool->n_udp++;
	link_sweep_at(pool->resolver, link->opened_ns + pool->up->conf.expire_ns);
	*ret = link;
	return 0;
}

static bool worn_out(const struct resolve_link *link, uint64_t now)
{
	return link->uses >= UDP_USES || now - link->opened_ns >= UDP_AGE_NS;
}

/* Any open socket with room, from the i-th on. */
static struct resolve_link *any_socket(const struct resolve_pool *pool, unsigned index)
{
	for (unsigned k = 0; k < UDP_SOCKETS; k++) {
		struct resolve_link *link = pool->udp[(index + k) % UDP_SOCKETS];
		if (link != NULL && link->inflight < UDP_INFLIGHT)
			return link;
	}
	return NULL;
}

static bool carries_question(const struct resolve_link *link,
			     const struct resolve_exchange *exchange)
{
	return exchange->question_hash != 0 && link_carries(link, exchange->question_hash);
}

/* A random place among the sockets whose socket, if there is one, does not carry x's question. */
static unsigned draw_place(struct resolve_pool *pool, const struct resolve_exchange *exchange)
{
	unsigned first = rng_strong_u16(&pool->resolver->rng) % UDP_SOCKETS;
	for (unsigned k = 0; k < UDP_SOCKETS; k++) {
		unsigned i = (first + k) % UDP_SOCKETS;
		if (pool->udp[i] == NULL || !carries_question(pool->udp[i], exchange))
			return i;
	}
	return first;
}

static int draw_socket(struct resolve_pool *pool, const struct resolve_exchange *exchange,
		       struct resolve_link **ret)
{
	unsigned i = draw_place(pool, exchange);
	struct resolve_link *link = pool->udp[i];
	int r = ERR_BUSY;
	if (link != NULL && pool->n_udp < UDP_SOCKETS_ALL &&
	    worn_out(link, loop_now(pool->resolver->env.loop))) {
		pool->udp[i] = NULL;
		link_drain(link);
	}
	if (pool->udp[i] == NULL && pool->n_udp < UDP_SOCKETS_ALL) {
		r = udp_open(pool, &link);
		pool->udp[i] = r == 0 ? link : NULL;
	}
	*ret = any_socket(pool, i);
	return *ret != NULL ? 0 : r;
}

static int socket_for(struct resolve_pool *pool, const struct resolve_exchange *exchange,
		      struct resolve_link **ret)
{
	struct resolve_link *link = pool->udp_now;
	if (link != NULL && pool->udp_batch == pool->resolver->batch &&
	    link->inflight < UDP_INFLIGHT && !carries_question(link, exchange)) {
		*ret = link;
		return 0;
	}
	int r = draw_socket(pool, exchange, ret);
	pool->udp_now = *ret;
	pool->udp_batch = pool->resolver->batch;
	return r;
}

void resolve_udp_enqueue(struct resolve_pool *pool, struct resolve_exchange *exchange)
{
	struct resolve_link *link = NULL;
	int r = socket_for(pool, exchange, &link);
	if (link == NULL) {
		exchange_fail(pool->resolver, exchange, RESOLVE_NETWORK, r);
		return;
	}
	link_add(link, exchange);
	exchange->state = X_QUEUED;
	xlist_append(&link->queued, exchange);
	link_dirty(link);
}

/* ---- errors ---- */

/* "Fragmentation needed" does not mean that the port is closed. */
static bool is_final(const struct sock_extended_err *error)
{
	return error->ee_errno != EMSGSIZE && error->ee_origin != SO_EE_ORIGIN_TIMESTAMPING;
}

/* The error quotes the datagram it is about, if its sender kept enough of it. */
static void one_error(struct resolve_link *link, struct msghdr *msg, const uint8_t *quoted,
		      size_t len)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c != NULL; c = CMSG_NXTHDR(msg, c)) {
		struct sock_extended_err e;
		bool ours = (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR) ||
			    (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_RECVERR);
		if (!ours || c->cmsg_len < CMSG_LEN(sizeof(e)))
			continue;
		memcpy(&e, CMSG_DATA(c), sizeof(e));
		if (!is_final(&e))
			continue;
		struct resolve_exchange *exchange =
			len >= 2 ? link_find(link, dns_get16(quoted)) : NULL;
		if (exchange != NULL && exchange->state == X_SENT)
			exchange_fail(link->pool->resolver, exchange, RESOLVE_NETWORK,
				      -(int)e.ee_errno);
		else if (len < 2)
			link_fail_all(link, RESOLVE_NETWORK, -(int)e.ee_errno);
	}
}

static void udp_errors(struct resolve_link *link)
{
	for (int i = 0; i < ERRORS_PER_TURN && link->io.fd >= 0; i++) {
		uint8_t quoted[2];
		uint8_t control[512];
		struct iovec iov = { .iov_base = quoted, .iov_len = sizeof(quoted) };
		struct msghdr m = { .msg_iov = &iov,
				    .msg_iovlen = 1,
				    .msg_control = control,
				    .msg_controllen = sizeof(control) };
		ssize_t n = recvmsg(link->io.fd, &m, MSG_ERRQUEUE | MSG_DONTWAIT);
		if (n < 0)
			return;
		one_error(link, &m, quoted, (size_t)n);
	}
}

/* ---- sending ---- */

static unsigned gather_queued(struct resolve_link *link)
{
	struct resolver *resolver = link->pool->resolver;
	unsigned n = 0;
	for (struct resolve_exchange *exchange = link->queued.first;
	     exchange != NULL && n < UDP_BATCH; exchange = exchange->q_next)
		resolver->tx_iov[n++] =
			(struct iovec){ .iov_base = exchange->msg, .iov_len = exchange->msg_n };
	return n;
}

static void were_sent(struct resolve_link *link, int count)
{
	uint64_t now = loop_now(link->pool->resolver->env.loop);
	struct resolve_exchange *exchange = link->queued.first;
	for (; count > 0; count--, exchange = exchange->q_next) {
		assert(exchange->state == X_QUEUED);
		exchange->state = X_SENT;
		exchange->sent_ns = now;
	}
	link->queued.first = exchange;
	if (exchange != NULL)
		exchange->q_prev = NULL;
	else
		link->queued.last = NULL;
}

static void watch_writable(struct resolve_link *link, bool on)
{
	uint32_t events = on ? EPOLLIN | EPOLLOUT : EPOLLIN;
	if (loop_fd_mod(link->pool->resolver->env.loop, &link->io, events) < 0)
		link_fail_all(link, RESOLVE_NETWORK, ERR_INTERNAL);
}

static void udp_flush(struct resolve_link *link)
{
	struct resolver *resolver = link->pool->resolver;
	unsigned tries = 0;
	while (link->queued.first != NULL) {
		int n = resolver->env.ops->sendmmsg(link->io.fd, resolver->tx, gather_queued(link));
		if (n > 0) {
			were_sent(link, n);
			tries = 0;
			continue;
		}
		int error = errno;
		if (error == EAGAIN || error == EINTR) {
			watch_writable(link, true);
			return;
		}
		/* The error may be that of an earlier datagram. */
		udp_errors(link);
		if (++tries == SEND_TRIES && link->queued.first != NULL) {
			exchange_fail(resolver, link->queued.first, RESOLVE_NETWORK, -error);
			tries = 0;
		}
	}
}

/* ---- receiving ---- */

static void make_buffers(struct resolver *resolver)
{
	resolver->rx_buf = xmalloc((size_t)UDP_RECV_BATCH * UDP_REPLY_MAX);
	for (unsigned i = 0; i < UDP_RECV_BATCH; i++)
		resolver->rx_iov[i] =
			(struct iovec){ .iov_base = resolver->rx_buf + (size_t)i * UDP_REPLY_MAX,
					.iov_len = UDP_REPLY_MAX };
}

static void take_reply(struct resolve_link *link, uint8_t *msg, size_t len, bool cut)
{
	struct resolver *resolver = link->pool->resolver;
	struct resolve_exchange *exchange =
		len >= DNS_HEADER_BYTES ? link_find(link, dns_get16(msg)) : NULL;
	if (exchange == NULL || exchange->state != X_SENT) {
		resolver->stats.strays++;
		return;
	}
	exchange_reply(resolver, exchange, msg, len, cut);
}

static void udp_read(struct resolve_link *link)
{
	struct resolver *resolver = link->pool->resolver;
	if (resolver->rx_buf == NULL)
		make_buffers(resolver);
	for (int k = 0; k < RECV_BATCHES_PER_TURN && link->io.fd >= 0; k++) {
		int n = resolver->env.ops->recvmmsg(link->io.fd, resolver->rx, UDP_RECV_BATCH);
		for (int i = 0; i < n && link->io.fd >= 0; i++)
			take_reply(link, resolver->rx_iov[i].iov_base, resolver->rx[i].msg_len,
				   (resolver->rx[i].msg_hdr.msg_flags & MSG_TRUNC) != 0);
		if (n < UDP_RECV_BATCH)
			return;
	}
}

static void udp_on_io(struct loop_fd *loop_fd, uint32_t events)
{
	struct resolve_link *link = CONTAINER_OF(loop_fd, struct resolve_link, io);
	struct resolver *resolver = link->pool->resolver;
	resolver_enter(resolver);
	if ((events & EPOLLERR) != 0)
		udp_errors(link);
	if ((events & EPOLLIN) != 0 && link->io.fd >= 0)
		udp_read(link);
	if ((events & EPOLLOUT) != 0 && link->io.fd >= 0) {
		watch_writable(link, false);
		udp_flush(link);
	}
	resolver_leave(resolver);
}
