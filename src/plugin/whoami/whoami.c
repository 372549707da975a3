/* SPDX-License-Identifier: GPL-3.0-or-later */
/* whoami: returns the client's own address, port and transport in the additional section. */
#include <string.h>

#include "base/err.h"
#include "server/query.h"
#include "server/setup.h"

static int whoami_parse(struct plugin_inst *self, struct setup *setup)
{
	(void)self;
	for (size_t i = 0; i < setup->n_dir; i++) {
		const struct corefile_dir *d = setup->dir[i];
		if (d->n_arg != 0)
			return setup_error(setup, d->arg[0].pos, "whoami takes no arguments");
		if (d->n_body != 0)
			return setup_error(setup, d->body[0].name.pos, "whoami takes no options");
	}
	return 0;
}

static int add_address(struct query *q)
{
	size_t n;
	const uint8_t *ip = net_addr_bytes(&q->client, &n);
	struct dns_rr rr = {
		.owner = q->qname.wire,
		.owner_len = q->qname.len,
		.type = n == 4 ? DNS_TYPE_A : DNS_TYPE_AAAA,
		.cls = q->req.qclass,
		.rdata = ip,
		.rdlen = (uint16_t)n,
	};
	return dns_resp_add(&q->resp, &q->arena, DNS_ADDITIONAL, &rr);
}

/* `_udp.NAME SRV 0 0 PORT .` */
static int add_port(struct query *q)
{
	const char *proto = query_proto_text(q);
	size_t label = strlen(proto) + 1;
	uint8_t *owner = arena_alloc(&q->arena, q->qname.len + label + 1U);
	uint8_t *rdata = arena_alloc(&q->arena, 7);
	if (owner == NULL || rdata == NULL)
		return ERR_SPACE;
	owner[0] = (uint8_t)label;
	owner[1] = '_';
	memcpy(owner + 2, proto, label - 1);
	memcpy(owner + 1 + label, q->qname.wire, q->qname.len);
	memset(rdata, 0, 7);
	dns_put16(rdata + 4, net_addr_port(&q->client));
	struct dns_rr rr = {
		.owner = owner,
		.owner_len = (uint8_t)(q->qname.len + label + 1),
		.type = DNS_TYPE_SRV,
		.cls = q->req.qclass,
		.rdata = rdata,
		.rdlen = 7,
	};
	return dns_resp_add(&q->resp, &q->arena, DNS_ADDITIONAL, &rr);
}

static enum verdict whoami_serve(struct plugin_inst *self, struct query *q)
{
	(void)self;
	query_reply(q);
	q->resp.flags |= DNS_FLAG_AA;
	if (add_address(q) < 0)
		return query_fail(q, DNS_RCODE_SERVFAIL, "out of query memory");
	/* A name too long for one more label goes without the SRV record. */
	if (q->qname.len + 5U <= DNS_NAME_MAX && add_port(q) < 0)
		return query_fail(q, DNS_RCODE_SERVFAIL, "out of query memory");
	return V_ANSWERED;
}

const struct plugin whoami_plugin = {
	.name = "whoami",
	.parse = whoami_parse,
	.serve = whoami_serve,
};
