/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Builds the request of a sub-query and queues it; chain.c runs it and hands its outcome to the
 * parent. */
#include "server/subquery.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "dns/message.h"
#include "server/admit.h"
#include "server/block.h"
#include "server/chain.h"
#include "server/generation.h"
#include "server/query.h"
#include "server/server_state.h"
#include "server/slab.h"
#include "server/waiting.h"
#include "server/worker.h"

/* Appends the parent's OPT as plugins have left it; its options only when they fit. */
static size_t add_opt(uint8_t *msg, size_t len, const struct dns_opt *parent)
{
	struct dns_opt opt = *parent;
	if (len + DNS_OPT_BYTES + opt.options_len > SLOT_REQUEST_MAX)
		opt.options_len = 0;
	return dns_message_add_opt(msg, len, &opt);
}

/* The sub-query's request: header and OPT of the parent with another question. */
static int build_request(struct query *query, const struct query *q, const uint8_t *name,
			 uint16_t qtype, uint16_t qclass)
{
	uint8_t *p = query->buf;
	uint8_t question[DNS_QUESTION_MAX];
	size_t n = dns_message_question(question, name, qtype, qclass);
	n = dns_message_start(p, q->req.id, q->req.flags, question, n);
	if (q->req.opt.present)
		n = add_opt(p, n, &q->req.opt);
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
	bool detached = kind == SUB_DETACHED, routed = kind == SUB_SERVER || kind == SUB_WALK;
	if (q->depth + 1 > QUERY_SUB_DEPTH_MAX)
		return ERR_LIMIT;
	struct query *s = slab_allows_sub(w, detached) ? slot_take(w) : NULL;
	if (s == NULL) {
		q->hit_limit |= !detached;
		return ERR_LIMIT;
	}
	uint16_t qclass = routed ? DNS_CLASS_IN : q->req.qclass;
	if (build_request(s, q, name, qtype, qclass) < 0) {
		slot_release(w, s);
		return ERR_INTERNAL;
	}
	assert(q->gen != NULL && (routed || self != NULL));
	s->is_sub = true;
	s->in_walk = q->in_walk || kind == SUB_WALK;
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
	s->gen->worker[w->index].inflight++;
	s->start_ns = query_now(q);
	s->deadline_ns = s->detached ? 0 : q->deadline_ns;
	if (!routed) {
		s->block = q->block;
		s->zone = q->zone;
		s->asker = self;
		s->top = (uint16_t)(self->chain_at + (s->detached ? 0 : 1));
		s->at = s->entered = s->top;
	}
	if (routed)
		q->chased = true;
	waiting_charge(s);
	chain_queue(s);
	return 0;
}
