/* UDP: a batch is received straight into query slots, then parsed and routed in one pass and served
 * in a second, so that what the first pass prefetches is near when the second needs it. */
#include <string.h>

#include "server/admit.h"
#include "server/server_priv.h"

enum { BATCHES_PER_TURN = 4 };

static unsigned refill(struct worker *w)
{
	unsigned i = 0;
	for (; i < BATCH; i++) {
		struct query *q = w->rx_q[i];
		if (q == NULL) {
			q = slot_take(w);
			if (q == NULL)
				break;
			w->rx_q[i] = q;
			w->rx_iov[i] = (struct iovec){ .iov_base = q->buf, .iov_len = REQUEST_MAX };
		}
		struct msghdr *m = &w->rx[i].msg_hdr;
		m->msg_name = &q->client;
		m->msg_namelen = sizeof(q->client);
		m->msg_controllen = NET_PKTINFO_BYTES;
	}
	return i;
}

void udp_prepare(struct worker *w)
{
	for (unsigned i = 0; i < BATCH; i++) {
		w->rx[i].msg_hdr = (struct msghdr){
			.msg_iov = &w->rx_iov[i],
			.msg_iovlen = 1,
			.msg_control = w->rx_control[i],
		};
		w->tx[i].msg_hdr = (struct msghdr){ .msg_iov = &w->tx_iov[i], .msg_iovlen = 1 };
	}
}

static void set_addresses(struct query *q, struct msghdr *m)
{
	const struct listener_sock *s = q->sock;
	q->local = s->listener->addr;
	if (s->wildcard) {
		net_pktinfo_get(m, &q->local);
		net_addr_set_port(&q->local, net_addr_port(&s->listener->addr));
	}
}

static enum admit_result receive_one(struct udp_sock *u, struct query *q, struct mmsghdr *m,
				     uint64_t now)
{
	q->udp = u;
	q->sock = u->of;
	q->proto = QUERY_UDP;
	q->start_ns = now;
	set_addresses(q, &m->msg_hdr);
	if ((m->msg_hdr.msg_flags & MSG_TRUNC) == 0) {
		slot_fit(q, m->msg_len);
		return admit_parse(q, q->buf, m->msg_len);
	}
	/* Longer than we receive: FORMERR with the question, unless it is a response. */
	if (dns_request_parse(q->buf, REQUEST_MAX, 0, &q->req) == DNS_ADMIT_IGNORE)
		return ADMIT_NONE;
	q->rcode = DNS_RCODE_FORMERR;
	return ADMIT_BARE;
}

static void conclude(struct worker *w, struct query *q, enum admit_result a)
{
	switch (a) {
	case ADMIT_SERVE:
		admit_serve(q);
		return;
	case ADMIT_BARE:
		reply_bare(q, q->rcode);
		break;
	case ADMIT_NONE:
		break;
	}
	slot_release(w, q);
}

static int one_batch(struct worker *w, struct udp_sock *u)
{
	enum admit_result act[BATCH];
	struct query *batch[BATCH];
	int n = w->ops->recvmmsg(u->io.fd, w->rx, refill(w));
	uint64_t now = loop_now(w->loop);
	for (int i = 0; i < n; i++) {
		batch[i] = w->rx_q[i];
		act[i] = receive_one(u, batch[i], &w->rx[i], now);
	}
	for (int i = 0; i < n; i++) {
		w->rx_q[i] = NULL;
		conclude(w, batch[i], act[i]);
	}
	return n;
}

void udp_readable(struct loop_fd *f, uint32_t events)
{
	struct udp_sock *u = CONTAINER_OF(f, struct udp_sock, io);
	struct worker *w = u->of->worker;
	(void)events;
	for (int i = 0; i < BATCHES_PER_TURN; i++) {
		if (i > 0)
			loop_now_refresh(w->loop);
		int n = one_batch(w, u);
		worker_flush(w);
		if (n < BATCH)
			return;
	}
}
