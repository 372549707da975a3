/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a finished query to bytes on the wire: what CoreDNS's replies promise, and its EDNS rules,
 * and the worker's batch of outgoing datagrams. */
#include "server/reply.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "dns/tsig/server.h"
#include "server/conn/flow.h"
#include "server/conn/listener.h"
#include "server/generation.h"
#include "server/handler.h"
#include "server/query.h"
#include "server/slab.h"
#include "server/worker.h"

static bool is_echoed(const struct generation *generation, uint16_t code)
{
	for (size_t i = 0; i < generation->n_edns_echo; i++) {
		if (generation->edns_echo[i] == code)
			return true;
	}
	return false;
}

static void echo_options(struct query *q)
{
	const struct dns_opt *from = q->echo != NULL ? q->echo : &q->req.opt;
	struct dns_option o;
	size_t pos = 0;
	while (dns_option_next(from, &pos, &o)) {
		/* Without memory for it the option is left off: echoing is a courtesy. */
		if (is_echoed(q->gen, o.code))
			IGNORE(dns_resp_option(&q->resp, &q->arena, o.code, o.data, o.len) < 0);
	}
}

/* A client that sent OPT gets one: its own size and DO, version 0. A reply that has an OPT of its
 * own keeps that one's options. */
static void complete_edns(struct query *q)
{
	const struct dns_opt *o = &q->req.opt;
	struct dns_resp *resp = &q->resp;
	bool own = resp->has_opt;
	q->own_opt = own;
	if (!o->present)
		return;
	if (o->version != 0 && resp->rcode == DNS_RCODE_BADVERS) {
		resp->has_opt = true; /* a bare one */
		return;
	}
	resp->has_opt = true;
	resp->opt_udp_size = o->udp_size;
	resp->opt_do = own ? resp->opt_do || o->dnssec_ok : o->dnssec_ok;
	resp->opt_z = own ? 0 : o->z & 0x7f00;
	if (!own && q->gen->n_edns_echo != 0)
		echo_options(q);
}

void query_reply_opt(struct query *q)
{
	complete_edns(q);
	q->req.opt.options = q->resp.options;
	q->req.opt.options_len = q->resp.options_len;
}

/* Over TCP a client could not get a truncated set whole by asking again. What no message has room
 * for is truncated all the same. */
static bool is_cut_by_memory(const struct query *q)
{
	return q->proto == QUERY_TCP && (q->resp.flags & DNS_FLAG_TC) != 0 &&
	       dns_resp_size(&q->resp, q->question_len) <= UINT16_MAX;
}

void reply_complete(struct query *q)
{
	assert(q->outcome == V_ANSWERED || q->outcome == V_FAIL || q->outcome == V_DROP);
	q->written = q->outcome != V_DROP;
	if (!q->written)
		return;
	if (q->hit_limit && q->outcome == V_ANSWERED && is_cut_by_memory(q))
		q->outcome = query_fail_limit(q, "out of query memory");
	if (q->outcome == V_FAIL) {
		query_reply(q);
		q->resp.rcode = q->rcode;
	} else {
		q->resp.full_size = (uint32_t)dns_resp_size(&q->resp, q->question_len);
	}
	complete_edns(q);
}

static struct dns_encode encode_args(const struct query *q, size_t limit)
{
	return (struct dns_encode){
		.id = q->req.id,
		.question = q->question,
		.question_len = q->question_len,
		.qname = q->question == q->req.qname ? &q->qname : NULL,
		.limit = limit,
	};
}

/* Encodes; what cannot be encoded becomes SERVFAIL, which always fits. */
static size_t encode_reply(struct query *q, size_t limit, uint8_t *out, size_t cap)
{
	struct dns_encode encode = encode_args(q, limit);
	int n = dns_resp_encode(&q->resp, &encode, out, cap);
	if (n < 0 && q->resp.msg != NULL && dns_resp_thaw(&q->resp, &q->arena) == 0)
		n = dns_resp_encode(&q->resp, &encode, out, cap);
	if (n < 0) {
		q->rcode = DNS_RCODE_SERVFAIL;
		dns_resp_reply(&q->resp, &q->req);
		q->resp.rcode = DNS_RCODE_SERVFAIL;
		n = dns_resp_encode(&q->resp, &encode, out, cap);
	}
	return n > 0 ? (size_t)n : 0;
}

/* The same with a signature behind it. Without room for that there is no reply: an unsigned one would
 * be taken for a forgery. */
static NOINLINE size_t encode_signed_reply(struct query *q, size_t limit, uint8_t *out, size_t cap)
{
	size_t room = MIN(limit, cap);
	size_t n = room > DNS_TSIG_RECORD_MAX
			   ? encode_reply(q, room - DNS_TSIG_RECORD_MAX, out, cap)
			   : 0;
	int r = n != 0 ? dns_tsig_sign_answer(q->tsig, out, n, cap, clock_wall_ns() / NS_PER_S)
		       : ERR_SPACE;
	return r > 0 ? (size_t)r : 0;
}

static size_t encode_any_reply(struct query *q, size_t limit, uint8_t *out, size_t cap)
{
	return LIKELY(q->tsig == NULL) ? encode_reply(q, limit, out, cap)
				       : encode_signed_reply(q, limit, out, cap);
}

/* The next free entry of the batch; a full batch is sent first. */
static struct tx_entry *tx_next(struct worker *worker, const struct query *q)
{
	if (worker->n_tx == WORKER_BATCH)
		reply_flush(worker);
	struct tx_entry *t = &worker->tx_e[worker->n_tx];
	t->big = NULL;
	t->fd = q->udp->io.fd;
	t->to = q->client;
	return t;
}

static void tx_commit(struct worker *worker, struct tx_entry *entry, const struct query *q,
		      uint8_t *buf, size_t len)
{
	struct msghdr *m = &worker->tx[worker->n_tx].msg_hdr;
	worker->tx_iov[worker->n_tx] = (struct iovec){ .iov_base = buf, .iov_len = len };
	m->msg_name = &entry->to;
	m->msg_namelen = net_addr_len(&entry->to);
	m->msg_controllen = 0;
	m->msg_control = NULL;
	if (q->sock->wildcard) {
		m->msg_control = entry->control;
		m->msg_controllen = net_pktinfo_put(&q->local, entry->control);
	}
	worker->n_tx++;
}

/* A large reply keeps its block until it is sent: when no block is free, the replies that are ready
 * are sent first. */
static struct mem_block *tx_block(struct worker *worker)
{
	struct mem_block *block = slab_take_large(worker);
	if (block != NULL)
		return block;
	reply_flush(worker);
	return slab_take_large(worker);
}

static void send_udp(struct query *q)
{
	struct worker *w = q->worker;
	size_t cap = WORKER_TX_BYTES;
	size_t limit = query_udp_size(q);
	size_t need = q->resp.full_size + 16U + q->resp.options_len;
	struct mem_block *big =
		need > WORKER_TX_BYTES && limit > WORKER_TX_BYTES ? tx_block(w) : NULL;
	struct tx_entry *t = tx_next(w, q);
	uint8_t *buf = w->tx_buf[w->n_tx];
	t->big = big;
	if (big != NULL) {
		buf = big->data;
		cap = SLAB_LARGE_BYTES;
	}
	size_t n = encode_any_reply(q, limit, buf, cap);
	q->wire_len = (uint16_t)n;
	tx_commit(w, t, q, buf, n);
}

static void send_tcp(struct query *q)
{
	uint8_t *out = q->worker->tcp_out;
	size_t n = encode_any_reply(q, UINT16_MAX, out + 2, UINT16_MAX);
	dns_put16(out, (uint16_t)n);
	q->wire_len = (uint16_t)n;
	conn_send(q, out, n + 2);
}

void reply_send(struct query *q)
{
	if (!q->written || query_client_gone(q))
		return;
	if (q->conn != NULL)
		send_tcp(q);
	else
		send_udp(q);
}

/* miekg/dns copies the request's header bits into the replies it makes before any handler runs. */
static size_t bare_message(const struct query *q, uint16_t rcode, uint8_t *out)
{
	uint16_t keep = DNS_FLAG_TC | DNS_FLAG_RD | DNS_FLAG_RA | DNS_FLAG_AD | DNS_FLAG_CD;
	if (rcode == DNS_RCODE_SERVFAIL)
		keep = q->req.opcode == DNS_OPCODE_QUERY ? DNS_FLAG_RD | DNS_FLAG_CD : 0;
	uint16_t flags = (uint16_t)(DNS_FLAG_QR | (q->req.flags & keep) | rcode);
	if (rcode != DNS_RCODE_FORMERR)
		flags |= (uint16_t)(q->req.opcode << 11);
	memset(out, 0, DNS_HEADER_BYTES);
	dns_put16(out, q->req.id);
	dns_put16(out + 2, flags);
	if (q->req.question_len == 0)
		return DNS_HEADER_BYTES;
	dns_put16(out + 4, 1);
	memcpy(out + DNS_HEADER_BYTES, q->req.qname, q->req.question_len);
	return DNS_HEADER_BYTES + (size_t)q->req.question_len;
}

void reply_bare(struct query *q, uint16_t rcode)
{
	struct worker *w = q->worker;
	if (q->conn != NULL) {
		size_t n = bare_message(q, rcode, w->tcp_out + 2);
		dns_put16(w->tcp_out, (uint16_t)n);
		conn_send(q, w->tcp_out, n + 2);
		return;
	}
	struct tx_entry *t = tx_next(w, q);
	uint8_t *buf = w->tx_buf[w->n_tx];
	tx_commit(w, t, q, buf, bare_message(q, rcode, buf));
}

/* Sends entries [from, to), which all leave by the same socket. A full socket buffer drops the
 * rest: UDP clients ask again, waiting would stop everybody. */
static void send_run(struct worker *worker, unsigned from, unsigned to)
{
	while (from < to) {
		int n = worker->ops->sendmmsg(worker->tx_e[from].fd, &worker->tx[from], to - from);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN)
			n = 1; /* this one cannot be sent (unreachable, odd address): go past it */
		if (n <= 0)
			return;
		from += (unsigned)n;
	}
}

void reply_flush(struct worker *worker)
{
	unsigned from = 0;
	for (unsigned i = 1; i <= worker->n_tx; i++) {
		if (i < worker->n_tx && worker->tx_e[i].fd == worker->tx_e[from].fd)
			continue;
		send_run(worker, from, i);
		from = i;
	}
	for (unsigned i = 0; i < worker->n_tx; i++) {
		if (worker->tx_e[i].big != NULL)
			slab_release_large(worker, worker->tx_e[i].big);
	}
	assert(worker->n_tx <= WORKER_BATCH);
	worker->n_tx = 0;
}
