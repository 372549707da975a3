/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The zone itself and its name server, ns1.APEX.ZONE. */
#include "plugin/k8s_external/apex.h"

#include <string.h>

enum { SOA_REFRESH_S = 7200, SOA_RETRY_S = 1800, SOA_EXPIRE_S = 86400, SOA_NUMBERS = 20 };

static const uint8_t mailbox[] = "\12hostmaster";

void k8s_external_open(struct query *q)
{
	query_reply(q);
	q->resp.flags |= DNS_FLAG_AA;
}

bool k8s_external_add(struct query *q, enum dns_section section, const struct dns_rr *rr)
{
	struct dns_rr own = *rr;
	own.owner_len = (uint8_t)dns_name_len(rr->owner);
	own.cls = DNS_CLASS_IN;
	own.rdata = arena_memdup(&q->arena, rr->rdata, rr->rdlen);
	if (own.rdata != NULL && dns_resp_add(&q->resp, &q->arena, section, &own) == 0)
		return true;
	q->resp.flags |= DNS_FLAG_TC;
	return false;
}

static bool stop_at_first(void *ctx, const struct external_hit *hit)
{
	(void)ctx;
	(void)hit;
	return false;
}

static void add_soa(const struct k8s_external_conf *conf, struct query *q, size_t zone,
		    enum dns_section section)
{
	uint8_t rdata[2 * DNS_NAME_MAX + SOA_NUMBERS], *p = rdata;
	const uint8_t *server = conf->server[zone], *apex = server + sizeof("ns1");
	struct external_ask a = { .servers = true, .each = stop_at_first };
	size_t n = dns_name_len(server);
	conf->services->find(conf->from, q, &a);
	memcpy(p, server, n);
	p += n;
	memcpy(p, mailbox, sizeof(mailbox) - 1);
	memcpy(p + sizeof(mailbox) - 1, apex, dns_name_len(apex));
	p += sizeof(mailbox) - 1 + dns_name_len(apex);
	const uint32_t v[] = { a.serial, SOA_REFRESH_S, SOA_RETRY_S, SOA_EXPIRE_S,
			       (uint32_t)conf->ttl_s };
	for (size_t i = 0; i < ARRAY_LEN(v); i++)
		dns_put32(p + 4 * i, v[i]);
	k8s_external_add(q, section,
			 &(struct dns_rr){ .owner = conf->zones.wire[zone],
					   .type = DNS_TYPE_SOA,
					   .ttl = (uint32_t)conf->ttl_s,
					   .rdata = rdata,
					   .rdlen = (uint16_t)(p + SOA_NUMBERS - rdata) });
}

enum verdict k8s_external_denial(const struct k8s_external_conf *conf, struct query *q, size_t zone,
				 uint16_t rcode)
{
	k8s_external_open(q);
	q->resp.rcode = rcode;
	add_soa(conf, q, zone, DNS_AUTHORITY);
	return V_ANSWERED;
}

/* ---- addresses of the name server ---- */

struct servers {
	const struct k8s_external_conf *c;
	struct query *q;
	enum dns_section section;
	const uint8_t *owner;
	uint16_t type; /* 0: both */
};

static bool add_server(void *ctx, const struct external_hit *hit)
{
	const struct servers *s = ctx;
	static const uint8_t v4[12] = { [10] = 0xff, [11] = 0xff };
	size_t n = memcmp(hit->ip, v4, sizeof(v4)) == 0 ? 4 : 16;
	uint16_t type = n == 4 ? DNS_TYPE_A : DNS_TYPE_AAAA;
	if (s->type != 0 && s->type != type)
		return true;
	DNS_RR_FOREACH(rr, &s->q->resp, s->section)
	{
		if (rr->rdlen == n && memcmp(rr->rdata, hit->ip + 16 - n, n) == 0)
			return true;
	}
	return k8s_external_add(s->q, s->section,
				&(struct dns_rr){ .owner = s->owner,
						  .type = type,
						  .ttl = (uint32_t)s->c->ttl_s,
						  .rdata = hit->ip + 16 - n,
						  .rdlen = (uint16_t)n });
}

static void add_servers(const struct servers *servers)
{
	struct servers own = *servers;
	struct external_ask a = {
		.servers = true, .headless = servers->c->headless, .each = add_server, .ctx = &own
	};
	servers->c->services->find(servers->c->from, servers->q, &a);
}

/* ns1.APEX before the zone in the letters of the question. */
static const uint8_t *server_as_asked(const struct k8s_external_conf *conf, struct query *q,
				      size_t zone)
{
	size_t n = dns_name_len(conf->server[zone]), zone_n = dns_name_len(q->req.qname);
	uint8_t *name = arena_memdup(&q->arena, conf->server[zone], n);
	if (name != NULL)
		memcpy(name + n - zone_n, q->req.qname, zone_n);
	return name;
}

enum verdict k8s_external_serve_apex(const struct k8s_external_conf *conf, struct query *q,
				     size_t zone)
{
	const uint8_t *server = conf->server[zone];
	switch (q->req.qtype) {
	case DNS_TYPE_SOA:
		k8s_external_open(q);
		add_soa(conf, q, zone, DNS_ANSWER);
		return V_ANSWERED;
	case DNS_TYPE_NS:
		break;
	default:
		return k8s_external_denial(conf, q, zone, DNS_RCODE_NOERROR);
	}
	k8s_external_open(q);
	k8s_external_add(q, DNS_ANSWER,
			 &(struct dns_rr){ .owner = conf->zones.wire[zone],
					   .type = DNS_TYPE_NS,
					   .ttl = (uint32_t)conf->ttl_s,
					   .rdata = server,
					   .rdlen = (uint16_t)dns_name_len(server) });
	const uint8_t *owner = server_as_asked(conf, q, zone);
	if (owner != NULL)
		add_servers(&(struct servers){
			.c = conf, .q = q, .section = DNS_ADDITIONAL, .owner = owner });
	return V_ANSWERED;
}

enum verdict k8s_external_serve_servers(const struct k8s_external_conf *conf, struct query *q,
					size_t zone)
{
	unsigned labels = q->qname.n_labels - conf->zone_labels[zone];
	uint16_t type = q->req.qtype;
	/* CoreDNS counts on an apex of one label: with a longer one ns1 is never found. */
	if (labels == 1)
		return k8s_external_denial(conf, q, zone, DNS_RCODE_NOERROR);
	if (labels != 2 || !dns_name_eq(q->qname.wire, conf->server[zone]))
		return k8s_external_denial(conf, q, zone, DNS_RCODE_NXDOMAIN);
	k8s_external_open(q);
	if (type == DNS_TYPE_A || type == DNS_TYPE_AAAA)
		add_servers(&(struct servers){ .c = conf,
					       .q = q,
					       .section = DNS_ANSWER,
					       .owner = q->req.qname,
					       .type = type });
	return q->resp.count[DNS_ANSWER] != 0
		       ? V_ANSWERED
		       : k8s_external_denial(conf, q, zone, DNS_RCODE_NOERROR);
}
