/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Builds the query that is sent to upstreams: the client's, as plugins above have changed it. */
#include "plugin/forward/message.h"

#include <string.h>

#include "base/err.h"
#include "dns/message.h"
#include "dns/resp.h"

/* Records of the request beyond question and OPT (the SOA of an IXFR). */
static bool has_more(const struct query *q)
{
	const uint8_t *m = q->req.msg;
	unsigned n = (unsigned)dns_get16(m + 6) + dns_get16(m + 8) + dns_get16(m + 10);
	return n > q->req.opt.present;
}

/* The rare form: all records of the request, opened and written anew behind our question. */
static int build_whole(struct forward_query *query, const struct dns_opt *opt)
{
	struct query *q = query->q;
	struct dns_resp all;
	uint8_t *copy = arena_memdup(&q->arena, q->req.msg, q->req.len);
	size_t cap = 2 * q->req.len + DNS_NAME_MAX + DNS_OPT_BYTES + opt->options_len;
	query->msg = arena_alloc(&q->arena, cap);
	if (copy == NULL || query->msg == NULL)
		return ERR_SPACE;
	int r = dns_resp_from_wire(&all, &q->arena, copy, q->req.len);
	if (r >= 0)
		r = dns_resp_thaw(&all, &q->arena);
	if (r < 0)
		return r;
	all.has_opt = false;
	struct dns_encode encode = {
		.id = q->req.id,
		.question = q->req.qname,
		.question_len = q->req.question_len,
		.limit = UINT16_MAX,
	};
	r = dns_resp_encode(&all, &encode, query->msg, cap - DNS_OPT_BYTES - opt->options_len);
	if (r < 0)
		return r;
	size_t n = (size_t)r;
	if (opt->present && n + DNS_OPT_BYTES + opt->options_len > UINT16_MAX)
		return ERR_LIMIT;
	if (opt->present)
		n = dns_message_add_opt(query->msg, n, opt);
	query->msg_n = (uint16_t)n;
	return 0;
}

int forward_message_build(struct forward_query *query)
{
	const struct query *q = query->q;
	struct dns_opt o = q->req.opt;
	query->own_opt = query->stanza->cookies && !o.present;
	if (query->own_opt)
		o = (struct dns_opt){ .present = true, .udp_size = 1232 };
	query->options_n = o.options_len;
	query->udp_max = query->own_opt ? o.udp_size : query_udp_size(q);
	if (has_more(q))
		return build_whole(query, &o);
	size_t cap = DNS_HEADER_BYTES + (size_t)q->req.question_len;
	if (o.present)
		cap += DNS_OPT_BYTES + (size_t)o.options_len;
	if (cap > UINT16_MAX) /* rules of rewrite may have added to what was as long as can be */
		return ERR_LIMIT;
	uint8_t *m = arena_alloc(&query->q->arena, cap);
	if (m == NULL)
		return ERR_SPACE;
	size_t n = dns_message_start(m, q->req.id, q->req.flags, q->req.qname, q->req.question_len);
	if (o.present)
		dns_message_add_opt(m, n, &o);
	query->msg = m;
	query->msg_n = (uint16_t)cap;
	return 0;
}
