/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Builds A and AAAA answers from a set of addresses, each once, directly as wire bytes. */
#include "plugin/kubernetes/addr.h"

#include <string.h>

#include "plugin/kubernetes/reply.h"

enum { RR_HEAD = 12 }; /* a pointer to the question's name, type, class, TTL, length */

void kubernetes_addrs_init(struct kubernetes_addrs *addrs, struct query *q, uint16_t type)
{
	*addrs = (struct kubernetes_addrs){ .type = type, .set.arena = &q->arena };
}

void kubernetes_addrs_add(struct kubernetes_addrs *addrs, const struct kube_ip *ip)
{
	size_t n = addrs->type == DNS_TYPE_A ? 4 : 16;
	if (kube_ip_is4(ip) == (addrs->type == DNS_TYPE_A))
		byteset_add(&addrs->set, (struct slice){ (const char *)ip->b + 16 - n, n });
}

static bool lay_out(const struct kubernetes_conf *conf, struct query *q,
		    const struct kubernetes_addrs *addrs)
{
	size_t size = addrs->type == DNS_TYPE_A ? 4 : 16;
	size_t start = DNS_HEADER_BYTES + (size_t)q->req.question_len;
	size_t count = addrs->set.n, n = start + count * (RR_HEAD + size);
	uint8_t *msg = arena_alloc(&q->arena, n), *p;
	if (msg == NULL)
		return false;
	memset(msg, 0, DNS_HEADER_BYTES);
	dns_put16(msg + 4, 1);
	dns_put16(msg + 6, (uint16_t)count);
	memcpy(msg + DNS_HEADER_BYTES, q->req.qname, q->req.question_len);
	p = msg + start;
	for (size_t i = 0; i < count; i++, p += RR_HEAD + size) {
		dns_put16(p, 0xc000 | DNS_HEADER_BYTES);
		dns_put16(p + 2, addrs->type);
		dns_put16(p + 4, DNS_CLASS_IN);
		dns_put32(p + 6, (uint32_t)conf->ttl_s);
		dns_put16(p + 10, (uint16_t)size);
		memcpy(p + RR_HEAD, addrs->set.v[i].p, size);
	}
	q->resp.msg = msg;
	q->resp.msg_len = (uint32_t)n;
	q->resp.body_at = (uint16_t)start;
	q->resp.count[DNS_ANSWER] = (uint16_t)count;
	q->resp.full_size = (uint32_t)(n + count * (size_t)(q->qname.len - 2));
	return true;
}

void kubernetes_addrs_append(const struct kubernetes_conf *conf, struct query *q,
			     const struct kubernetes_addrs *addrs, const uint8_t *owner)
{
	for (uint32_t i = 0; i < addrs->set.n; i++) {
		if (!kubernetes_reply_add(conf, q, DNS_ANSWER, owner, addrs->type,
					  addrs->set.v[i].p, addrs->set.v[i].n))
			return;
	}
	if (addrs->set.full)
		q->resp.flags |= DNS_FLAG_TC;
}

enum verdict kubernetes_addrs_reply(const struct kubernetes_conf *conf, struct query *q,
				    const struct kubernetes_addrs *addrs)
{
	if (addrs->set.n == 0)
		return V_NEXT;
	kubernetes_reply_open(q);
	if (q->question != q->req.qname || addrs->set.full || !lay_out(conf, q, addrs))
		kubernetes_addrs_append(conf, q, addrs, q->req.qname);
	return V_ANSWERED;
}
