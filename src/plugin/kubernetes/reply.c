/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Builds replies. Denials, the commonest of all (search paths ask for names that do not exist), are
 * written as wire bytes: the zone's name is in the question, so its SOA record is a few
 * pointers. */
#include "plugin/kubernetes/reply.h"

#include <string.h>

enum {
	SOA_REFRESH_S = 7200,
	SOA_RETRY_S = 1800,
	SOA_EXPIRE_S = 86400,
	SOA_TTL_MAX_S = 300,
	SOA_NUMBERS = 20,
};

static const uint8_t mname[] = "\2ns\3dns", rname[] = "\12hostmaster";

static void put_numbers(const struct kubernetes_conf *conf, size_t zone, uint8_t *pos)
{
	const struct kubernetes_index *x =
		conf->is_multicluster[zone] ? conf->imports : conf->index;
	const uint32_t v[] = { kubernetes_index_serial(x), SOA_REFRESH_S, SOA_RETRY_S, SOA_EXPIRE_S,
			       (uint32_t)conf->ttl_s };
	for (size_t i = 0; i < ARRAY_LEN(v); i++)
		dns_put32(pos + 4 * i, v[i]);
}

uint32_t kubernetes_soa_ttl(const struct kubernetes_conf *conf)
{
	return (uint32_t)MIN(conf->ttl_s, (uint64_t)SOA_TTL_MAX_S);
}

/* Where the zone begins in the question. */
static size_t zone_at(const struct kubernetes_conf *conf, const struct query *q, size_t zone)
{
	return q->qname.label[q->qname.n_labels - conf->zone_labels[zone]];
}

/* The reply as bytes, behind header and question one SOA record. */
static bool lay_out_soa(const struct kubernetes_conf *conf, struct query *q, size_t zone,
			enum dns_section section)
{
	size_t start = DNS_HEADER_BYTES + (size_t)q->req.question_len;
	size_t at = DNS_HEADER_BYTES + zone_at(conf, q, zone),
	       zone_len = q->qname.len - zone_at(conf, q, zone);
	size_t rdlen = sizeof(mname) - 1 + 2 + sizeof(rname) - 1 + 2 + SOA_NUMBERS;
	size_t n = start + 2 + 10 + rdlen;
	uint8_t *msg = arena_alloc(&q->arena, n), *p;
	if (msg == NULL)
		return false;
	memset(msg, 0, DNS_HEADER_BYTES);
	dns_put16(msg + 4, 1);
	dns_put16(msg + 6 + 2 * (size_t)section, 1);
	memcpy(msg + DNS_HEADER_BYTES, q->req.qname, q->req.question_len);
	p = msg + start;
	dns_put16(p, (uint16_t)(0xc000 | at));
	dns_put16(p + 2, DNS_TYPE_SOA);
	dns_put16(p + 4, DNS_CLASS_IN);
	dns_put32(p + 6, kubernetes_soa_ttl(conf));
	dns_put16(p + 10, (uint16_t)rdlen);
	p += 12;
	memcpy(p, mname, sizeof(mname) - 1);
	dns_put16(p + sizeof(mname) - 1, (uint16_t)(0xc000 | at));
	p += sizeof(mname) + 1;
	memcpy(p, rname, sizeof(rname) - 1);
	dns_put16(p + sizeof(rname) - 1, (uint16_t)(0xc000 | at));
	put_numbers(conf, zone, p + sizeof(rname) + 1);
	q->resp.msg = msg;
	q->resp.msg_len = (uint32_t)n;
	q->resp.body_at = (uint16_t)start;
	q->resp.count[section] = 1;
	q->resp.full_size = (uint32_t)(n + 3 * (zone_len - 2));
	return true;
}

size_t kubernetes_soa_data(const struct kubernetes_conf *conf, size_t zone, const uint8_t *name,
			   uint8_t out[KUBERNETES_SOA_MAX])
{
	size_t len = dns_name_len(name);
	uint8_t *p = out;
	memcpy(p, mname, sizeof(mname) - 1);
	memcpy(p + sizeof(mname) - 1, name, len);
	p += sizeof(mname) - 1 + len;
	memcpy(p, rname, sizeof(rname) - 1);
	memcpy(p + sizeof(rname) - 1, name, len);
	p += sizeof(rname) - 1 + len;
	put_numbers(conf, zone, p);
	return (size_t)(p + SOA_NUMBERS - out);
}

/* The same as a record, for questions that were changed on their way. */
static void add_soa(const struct kubernetes_conf *conf, struct query *q, size_t zone,
		    enum dns_section section)
{
	const uint8_t *name = q->req.qname + zone_at(conf, q, zone);
	size_t len = q->qname.len - zone_at(conf, q, zone);
	uint8_t rdata[KUBERNETES_SOA_MAX];
	struct dns_rr rr = { .owner = name,
			     .owner_len = (uint8_t)len,
			     .type = DNS_TYPE_SOA,
			     .cls = DNS_CLASS_IN,
			     .ttl = kubernetes_soa_ttl(conf),
			     .rdlen = (uint16_t)kubernetes_soa_data(conf, zone, name, rdata) };
	rr.rdata = arena_memdup(&q->arena, rdata, rr.rdlen);
	if (rr.rdata == NULL || dns_resp_add(&q->resp, &q->arena, section, &rr) < 0)
		q->resp.flags |= DNS_FLAG_TC;
}

static enum verdict reply_soa(const struct kubernetes_conf *conf, struct query *q, size_t zone,
			      uint16_t rcode, enum dns_section section)
{
	query_reply(q);
	q->resp.flags |= DNS_FLAG_AA;
	q->resp.rcode = rcode;
	if (q->question != q->req.qname || !lay_out_soa(conf, q, zone, section))
		add_soa(conf, q, zone, section);
	return V_ANSWERED;
}

enum verdict kubernetes_reply_soa(const struct kubernetes_conf *conf, struct query *q, size_t zone,
				  uint16_t rcode)
{
	/* Search paths cause queries for any number of missing names; kept, each denial would push
	 * out an answer that is needed again. */
	q->unkept = true;
	return reply_soa(conf, q, zone, rcode, DNS_AUTHORITY);
}

enum verdict kubernetes_answer_soa(const struct kubernetes_conf *conf, struct query *q, size_t zone)
{
	return reply_soa(conf, q, zone, DNS_RCODE_NOERROR, DNS_ANSWER);
}

void kubernetes_reply_open(struct query *q)
{
	query_reply(q);
	q->resp.flags |= DNS_FLAG_AA;
}

bool kubernetes_reply_add(const struct kubernetes_conf *conf, struct query *q,
			  enum dns_section section, const uint8_t *owner, uint16_t type,
			  const void *rdata, size_t len)
{
	struct dns_rr rr = { .owner = owner,
			     .owner_len = (uint8_t)dns_name_len(owner),
			     .type = type,
			     .cls = DNS_CLASS_IN,
			     .ttl = (uint32_t)conf->ttl_s,
			     .rdata = arena_memdup(&q->arena, rdata, len),
			     .rdlen = (uint16_t)len };
	if (rr.rdata != NULL && dns_resp_add(&q->resp, &q->arena, section, &rr) == 0)
		return true;
	q->resp.flags |= DNS_FLAG_TC;
	return false;
}
