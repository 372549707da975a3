/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CoreDNS's admission rules: what is answered before any plugin sees it. */
#include "server/admit.h"

#include <assert.h>

#include "server/block.h"
#include "server/chain.h"
#include "server/conn/listener.h"
#include "server/generation.h"
#include "server/handler.h"
#include "server/query.h"
#include "server/request_metrics.h"
#include "server/route.h"
#include "server/worker.h"

static enum admit_result reply_only(struct query *q, uint16_t rcode)
{
	q->rcode = rcode;
	return ADMIT_BARE;
}

static void announce_query(struct query *q)
{
	for (unsigned i = 0; i < q->block->n_announce; i++) {
		struct plugin_inst *inst = q->block->announcer[i];
		inst->plugin->announce(inst, q);
	}
}

/* Rejections that do have a question; rcode, or 0 when the query may be served. */
static uint16_t refuse_code(struct query *q, const struct route *route)
{
	uint16_t rcode;
	if (q->req.qclass != DNS_CLASS_IN && !route->any_class)
		return DNS_RCODE_REFUSED;
	if (q->req.opt.present && q->req.opt.version != 0)
		return DNS_RCODE_BADVERS;
	return route_query(q, route, &rcode) ? 0 : rcode;
}

enum admit_result admit_parse(struct query *q, unsigned char *msg, size_t len)
{
	struct route *route = q->sock->route;
	if (route == NULL)
		return ADMIT_NONE;
	switch (dns_request_parse(msg, len, route->opcodes, &q->req)) {
	case DNS_ADMIT_IGNORE:
		return ADMIT_NONE;
	case DNS_ADMIT_FORMERR:
		return reply_only(q, DNS_RCODE_FORMERR);
	case DNS_ADMIT_NOTIMP:
		return reply_only(q, DNS_RCODE_NOTIMP);
	case DNS_ADMIT_EMPTY:
		q->req.qtype = 0;
		q->outcome = V_FAIL;
		if (q->worker->gen->has_metrics)
			request_metrics_count_refused(q, &route->refused_metrics,
						      DNS_RCODE_SERVFAIL);
		return reply_only(q, DNS_RCODE_SERVFAIL);
	case DNS_ADMIT_OK:
		break;
	}
	assert(q->gen == NULL); /* counted once */
	q->gen = q->worker->gen;
	q->gen->worker[q->worker->index].inflight++;
	q->listener = q->sock->listener;
	q->route = route;
	q->question = q->req.qname;
	q->question_len = q->req.question_len;
	dns_qname_set(&q->qname, q->req.qname);
	q->rcode = refuse_code(q, route);
	if (q->block != NULL && q->block->n_announce != 0)
		announce_query(q);
	return ADMIT_SERVE;
}

void admit_serve(struct query *q)
{
	if (q->rcode != 0)
		chain_refuse(q, q->rcode);
	else
		chain_start(q);
}
