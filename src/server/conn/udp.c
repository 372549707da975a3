/* SPDX-License-Identifier: GPL-3.0-or-later */
/* UDP: a batch is received straight into query slots, then parsed and routed in one pass and served
 * in a second, so that what the first pass prefetches is near when the second needs it. */
#include "server/conn/udp.h"

#include <string.h>

#include "server/admit.h"
#include "server/conn/listener.h"
#include "server/query.h"
#include "server/reply.h"
#include "server/slab.h"
#include "server/worker.h"

enum { BATCHES_PER_TURN = 4 };

static unsigned refill_slots(struct worker *worker)
{
	unsigned i = 0;
	for (; i < WORKER_BATCH; i++) {
		struct query *q = worker->rx_q[i];
		if (q == NULL) {
			q = slot_take(worker);
			if (q == NULL)
				break;
			worker->rx_q[i] = q;
			worker->rx_iov[i] =
				(struct iovec){ .iov_base = q->buf, .iov_len = SLOT_REQUEST_MAX };
		}
		struct msghdr *m = &worker->rx[i].msg_hdr;
		m->msg_name = &q->client;
		m->msg_namelen = sizeof(q->client);
		m->msg_controllen = NET_PKTINFO_BYTES;
	}
	return i;
}

void udp_prepare(struct worker *worker)
{
	for (unsigned i = 0; i < WORKER_BATCH; i++) {
		worker->rx[i].msg_hdr = (struct msghdr){
			.msg_iov = &worker->rx_iov[i],
			.msg_iovlen = 1,
			.msg_control = worker->rx_control[i],
		};
		worker->tx[i].msg_hdr =
			(struct msghdr){ .msg_iov = &worker->tx_iov[i], .msg_iovlen = 1 };
	}
}

static void set_addresses(struct query *q, struct msghdr *msg)
{
	const struct listener_sock *sock = q->sock;
	q->local = sock->listener->addr;
	if (sock->wildcard) {
		net_pktinfo_get(msg, &q->local);
		net_addr_set_port(&q->local, net_addr_port(&sock->listener->addr));
	}
}

static enum admit_result receive_one(struct udp_sock *sock, struct query *q, struct mmsghdr *msgs,
				     uint64_t now)
{
	q->udp = sock;
	q->sock = sock->parent;
	q->proto = QUERY_UDP;
	q->start_ns = now;
	set_addresses(q, &msgs->msg_hdr);
	if ((msgs->msg_hdr.msg_flags & MSG_TRUNC) == 0) {
		slot_fit(q, msgs->msg_len);
		return admit_parse(q, q->buf, msgs->msg_len);
	}
	/* Longer than we receive: FORMERR with the question, unless it is a response. */
	if (dns_request_parse(q->buf, SLOT_REQUEST_MAX, 0, &q->req) == DNS_ADMIT_IGNORE)
		return ADMIT_NONE;
	q->rcode = DNS_RCODE_FORMERR;
	return ADMIT_BARE;
}

static void finish_admission(struct worker *worker, struct query *q, enum admit_result result)
{
	switch (result) {
	case ADMIT_SERVE:
		admit_serve(q);
		return;
	case ADMIT_BARE:
		reply_bare(q, q->rcode);
		break;
	case ADMIT_NONE:
		break;
	}
	slot_release(worker, q);
}

static int one_batch(struct worker *worker, struct udp_sock *sock)
{
	enum admit_result act[WORKER_BATCH];
	struct query *batch[WORKER_BATCH];
	int n = worker->ops->recvmmsg(sock->io.fd, worker->rx, refill_slots(worker));
	uint64_t now = loop_now(worker->loop);
	for (int i = 0; i < n; i++) {
		batch[i] = worker->rx_q[i];
		act[i] = receive_one(sock, batch[i], &worker->rx[i], now);
	}
	for (int i = 0; i < n; i++) {
		worker->rx_q[i] = NULL;
		finish_admission(worker, batch[i], act[i]);
	}
	return n;
}

void udp_readable(struct loop_fd *loop_fd, uint32_t events)
{
	struct udp_sock *sock = CONTAINER_OF(loop_fd, struct udp_sock, io);
	struct worker *w = sock->parent->worker;
	(void)events;
	for (int i = 0; i < BATCHES_PER_TURN; i++) {
		if (i > 0)
			loop_now_refresh(w->loop);
		int n = one_batch(w, sock);
		worker_flush(w);
		if (n < WORKER_BATCH)
			return;
	}
}
