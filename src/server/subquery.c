/* Builds the request of a sub-query and queues it; chain.c runs it and hands its outcome to the
 * parent. */
#include "server/subquery.h"

#include <string.h>

#include "base/err.h"
#include "server/admit.h"
#include "server/block.h"
#include "server/chain.h"
#include "server/generation.h"
#include "server/query.h"
#include "server/server_state.h"
#include "server/slab.h"
#include "server/waiting.h"
#include "server/worker.h"

/* The parent's OPT as plugins have left it; its options only when they fit. Returns the bytes. */
static size_t put_opt(uint8_t *pos, const struct dns_opt *opt, size_t room)
{
	enum { FIXED = 11 };
	uint16_t n = FIXED + (size_t)opt->options_len <= room ? opt->options_len : 0;
	pos[0] = 0;
	dns_put16(pos + 1, DNS_TYPE_OPT);
	dns_put16(pos + 3, opt->udp_size);
	pos[5] = opt->ext_rcode;
	pos[6] = opt->version;
	dns_put16(pos + 7, (uint16_t)((opt->dnssec_ok ? 0x8000 : 0) | opt->z));
	dns_put16(pos + 9, n);
	if (n != 0)
		memcpy(pos + FIXED, opt->options, n);
	return FIXED + (size_t)n;
}

/* The sub-query's request: header and OPT of the parent with another question. */
static int build_request(struct query *query, const struct query *q, const uint8_t *name,
			 uint16_t qtype, uint16_t qclass)
{
	size_t name_len = dns_name_len(name);
	size_t n = DNS_HEADER_BYTES + name_len + 4;
	uint8_t *p = query->buf;
	memset(p, 0, DNS_HEADER_BYTES);
	dns_put16(p, q->req.id);
	dns_put16(p + 2, q->req.flags);
	p[5] = 1;
	p[11] = q->req.opt.present;
	memcpy(p + DNS_HEADER_BYTES, name, name_len);
	dns_put16(p + n - 4, qtype);
	dns_put16(p + n - 2, qclass);
	if (q->req.opt.present)
		n += put_opt(p + n, &q->req.opt, SLOT_REQUEST_MAX - n);
	slot_fit(query, n);
	if (dns_request_parse(p, n, UINT16_MAX, &query->req) != DNS_ADMIT_OK)
		return ERR_INTERNAL;
	query->question = query->req.qname;
	query->question_len = query->req.question_len;
	dns_qname_set(&query->qname, query->req.qname);
	return 0;
}

int query_sub(struct query *q, struct plugin_inst *self, enum sub_kind kind, const uint8_t *name,
	      uint16_t qtype)
{
	struct worker *w = q->worker;
	bool detached = kind == SUB_DETACHED;
	if (q->depth + 1 > QUERY_SUB_DEPTH_MAX)
		return ERR_LIMIT;
	struct query *s = slab_allows_sub(w, detached) ? slot_take(w) : NULL;
	if (s == NULL) {
		q->hit_limit |= !detached;
		return ERR_LIMIT;
	}
	uint16_t qclass = kind == SUB_SERVER ? DNS_CLASS_IN : q->req.qclass;
	if (build_request(s, q, name, qtype, qclass) < 0) {
		slot_release(w, s);
		return ERR_INTERNAL;
	}
	s->is_sub = true;
	s->detached = detached;
	if (!s->detached) {
		s->parent = q;
		s->sub_next = q->running;
		q->running = s;
	}
	s->depth = (uint8_t)(q->depth + 1);
	s->proto = q->proto;
	s->client = q->client;
	s->local = q->local;
	s->listener = q->listener;
	s->route = q->route;
	s->sock = q->sock;
	s->gen = q->gen;
	s->gen->w[w->index].inflight++;
	s->start_ns = query_now(q);
	s->deadline_ns = s->detached ? 0 : q->deadline_ns;
	if (kind != SUB_SERVER) {
		s->block = q->block;
		s->zone = q->zone;
		s->asker = self;
		s->top = (uint16_t)(self->chain_at + (s->detached ? 0 : 1));
		s->at = s->entered = s->top;
	}
	if (kind == SUB_SERVER)
		q->chased = true;
	waiting_charge(s);
	chain_queue(s);
	return 0;
}
