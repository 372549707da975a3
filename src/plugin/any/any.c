/* SPDX-License-Identifier: GPL-3.0-or-later */
/* any: answers ANY queries with one HINFO record (RFC 8482) instead of all records of the name. */
#include "server/query.h"
#include "server/setup.h"

enum { ANY_TTL_S = 8482 };

static const uint8_t hinfo[] = "\15ANY obsoleted\14See RFC 8482";

/* Lines after the first one are ignored. */
static int any_parse(struct plugin_inst *self, struct setup *setup)
{
	const struct corefile_dir *d = setup->dir[0];
	(void)self;
	if (d->n_arg != 0)
		return setup_error(setup, d->arg[0].pos, "any takes no arguments");
	if (d->n_body != 0)
		return setup_error(setup, d->body[0].name.pos, "any takes no options");
	return 0;
}

static enum verdict any_serve(struct plugin_inst *self, struct query *q)
{
	(void)self;
	if (q->req.qtype != DNS_TYPE_ANY)
		return V_NEXT;
	struct dns_rr rr = {
		.owner = q->req.qname,
		.owner_len = q->qname.len,
		.type = DNS_TYPE_HINFO,
		.cls = DNS_CLASS_IN,
		.ttl = ANY_TTL_S,
		.rdata = hinfo,
		.rdlen = sizeof(hinfo) - 1,
	};
	query_reply(q);
	if (dns_resp_add(&q->resp, &q->arena, DNS_ANSWER, &rr) < 0)
		return query_fail(q, DNS_RCODE_SERVFAIL, "out of query memory");
	return V_ANSWERED;
}

const struct plugin any_plugin = {
	.name = "any",
	.parse = any_parse,
	.serve = any_serve,
};
