/* Answers of addresses: each once, laid out as bytes. */
#include <string.h>

#include "plugin/kubernetes/conf.h"

enum {
	FIRST_CAP = 8,
	ADDRS_MAX = 4096, /* more cannot stand in a message of 64 KB */
	RR_HEAD = 12,	  /* a pointer to the question's name, type, class, TTL, length */
};

void kubernetes_addrs_init(struct kubernetes_addrs *a, struct query *q, uint16_t type)
{
	*a = (struct kubernetes_addrs){ .type = type, .arena = &q->arena };
}

static bool has(const struct kubernetes_addrs *a, const struct kube_ip *ip)
{
	for (size_t i = 0; i < a->n; i++) {
		if (a->v[i] == ip || memcmp(a->v[i], ip, sizeof(*ip)) == 0)
			return true;
	}
	return false;
}

void kubernetes_addrs_add(struct kubernetes_addrs *a, const struct kube_ip *ip)
{
	if (kube_ip_is4(ip) != (a->type == DNS_TYPE_A) || a->full || has(a, ip))
		return;
	if (a->n == a->cap) {
		size_t cap = a->cap != 0 ? 2 * a->cap : FIRST_CAP;
		const struct kube_ip **v = arena_alloc(a->arena, cap * sizeof(*v));
		a->full = v == NULL || cap > ADDRS_MAX;
		if (a->full)
			return;
		if (a->n != 0)
			memcpy(v, a->v, a->n * sizeof(*v));
		a->v = v;
		a->cap = cap;
	}
	a->v[a->n++] = ip;
}

static bool lay_out(const struct kubernetes_conf *c, struct query *q,
		    const struct kubernetes_addrs *a)
{
	size_t size = a->type == DNS_TYPE_A ? 4 : 16;
	size_t start = DNS_HEADER_BYTES + (size_t)q->req.question_len;
	size_t n = start + a->n * (RR_HEAD + size);
	uint8_t *msg = arena_alloc(&q->arena, n), *p;
	if (msg == NULL)
		return false;
	memset(msg, 0, DNS_HEADER_BYTES);
	dns_put16(msg + 4, 1);
	dns_put16(msg + 6, (uint16_t)a->n);
	memcpy(msg + DNS_HEADER_BYTES, q->req.qname, q->req.question_len);
	p = msg + start;
	for (size_t i = 0; i < a->n; i++, p += RR_HEAD + size) {
		dns_put16(p, 0xc000 | DNS_HEADER_BYTES);
		dns_put16(p + 2, a->type);
		dns_put16(p + 4, DNS_CLASS_IN);
		dns_put32(p + 6, (uint32_t)c->ttl_s);
		dns_put16(p + 10, (uint16_t)size);
		memcpy(p + RR_HEAD, a->v[i]->b + 16 - size, size);
	}
	q->resp.msg = msg;
	q->resp.msg_len = (uint32_t)n;
	q->resp.body_at = (uint16_t)start;
	q->resp.count[DNS_ANSWER] = (uint16_t)a->n;
	q->resp.full_size = (uint32_t)(n + a->n * (size_t)(q->qname.len - 2));
	return true;
}

enum verdict kubernetes_addrs_reply(const struct kubernetes_conf *c, struct query *q,
				    const struct kubernetes_addrs *a)
{
	size_t size = a->type == DNS_TYPE_A ? 4 : 16;
	if (a->n == 0)
		return V_NEXT;
	kubernetes_reply_open(q);
	if (q->question == q->req.qname && !a->full && lay_out(c, q, a))
		return V_ANSWERED;
	for (size_t i = 0; i < a->n; i++) {
		if (!kubernetes_reply_add(c, q, DNS_ANSWER, q->req.qname, a->type,
					  a->v[i]->b + 16 - size, size))
			break;
	}
	if (a->full)
		q->resp.flags |= DNS_FLAG_TC;
	return V_ANSWERED;
}
