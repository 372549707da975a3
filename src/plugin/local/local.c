/* SPDX-License-Identifier: GPL-3.0-or-later */
/* local: answers what should never leave the machine: localhost, names below it or with it in
 * front, and the reverse zones of 0, 127 and 255. */
#include <string.h>

#include "base/err.h"
#include "base/metrics/metrics.h"
#include "server/query.h"
#include "server/setup.h"

enum { LOCAL_TTL_S = 604800 };

struct local_conf {
	bool localhost_prefix;
	struct metrics_series *requests;
};

static int parse_prefix(struct opt_ctx *ctx, const struct opt_line *line)
{
	const struct word *w = &line->arg[0];
	bool on = strcmp(w->s, "on") == 0;
	if (!on && strcmp(w->s, "off") != 0)
		return srcerr_set(ctx->err, w->pos, "%s: expected on or off, got '%s'",
				  line->name.s, w->s);
	*(bool *)ctx->field = on;
	return 0;
}

static const struct opt local_opts[] = {
	{ "localhost_prefix", OPT_FN, offsetof(struct local_conf, localhost_prefix), 1, 1,
	  .fn = parse_prefix, .repeatable = true, .def = "on", .args = "on|off",
	  .help = "answer names that start with localhost" },
};

static const struct metrics_family requests_family = {
	.name = "coredns_local_localhost_requests_total",
	.help = "Counter of special localhost subdomain requests.",
	.kind = METRICS_COUNTER,
};

/* Wire names; the literal's own end is the root label. */
static const uint8_t localhost[] = "\11localhost";
static const uint8_t loopback_ptr[] = "\0011\0010\0010\003127\7in-addr\4arpa";
static const uint8_t reverse_0[] = "\0010\7in-addr\4arpa";
static const uint8_t reverse_127[] = "\003127\7in-addr\4arpa";
static const uint8_t reverse_255[] = "\003255\7in-addr\4arpa";
static const uint8_t *const zones[] = { localhost, reverse_0, reverse_127, reverse_255 };

static const uint8_t ipv4[] = { 127, 0, 0, 1 };
static const uint8_t ipv6[16] = { [15] = 1 };
/* localhost. root.localhost. 1 0 0 0 604800 */
static const uint8_t soa[] = "\11localhost\0\4root\11localhost\0\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\0\0"
			     "\11\72\200";

static enum verdict reply_with_record(struct query *q, enum dns_section section, struct dns_rr rr)
{
	rr.owner_len = (uint8_t)dns_name_len(rr.owner);
	rr.cls = DNS_CLASS_IN;
	rr.ttl = LOCAL_TTL_S;
	if (dns_resp_add(&q->resp, &q->arena, section, &rr) < 0)
		return query_fail(q, DNS_RCODE_SERVFAIL, "out of query memory");
	return V_ANSWERED;
}

static enum verdict reply_nodata(struct query *q, const uint8_t *owner)
{
	return reply_with_record(q, DNS_AUTHORITY,
				 (struct dns_rr){ .owner = owner,
						  .type = DNS_TYPE_SOA,
						  .rdata = soa,
						  .rdlen = sizeof(soa) - 1 });
}

/* What a type has at a name: addresses only where names are of hosts, NS and SOA only at an apex.
 */
static const struct {
	uint16_t type;
	bool host, apex;
	const uint8_t *rdata;
	uint16_t rdlen;
} records[] = {
	{ DNS_TYPE_A, true, false, ipv4, sizeof(ipv4) },
	{ DNS_TYPE_AAAA, true, false, ipv6, sizeof(ipv6) },
	{ DNS_TYPE_NS, false, true, localhost, sizeof(localhost) },
	{ DNS_TYPE_SOA, false, true, soa, sizeof(soa) - 1 },
};

static enum verdict answer_query(struct query *q, bool host, bool apex)
{
	for (size_t i = 0; i < ARRAY_LEN(records); i++) {
		if (records[i].type == q->req.qtype &&
		    ((records[i].host && host) || (records[i].apex && apex)))
			return reply_with_record(q, DNS_ANSWER,
						 (struct dns_rr){ .owner = q->req.qname,
								  .type = records[i].type,
								  .rdata = records[i].rdata,
								  .rdlen = records[i].rdlen });
	}
	return reply_nodata(q, q->req.qname);
}

/* Below localhost, or with localhost as first of several labels. */
static bool is_subdomain(const struct local_conf *conf, const struct dns_qname *qname)
{
	if (qname->n_labels < 2)
		return false;
	if (dns_name_eq_case(qname->wire + qname->label[qname->n_labels - 1], localhost))
		return true;
	return conf->localhost_prefix && memcmp(qname->wire, localhost, sizeof(localhost) - 1) == 0;
}

static const uint8_t *find_zone(const struct dns_qname *qname)
{
	for (size_t i = 0; i < ARRAY_LEN(zones); i++) {
		if (dns_name_is_below(qname->wire, zones[i]))
			return zones[i];
	}
	return NULL;
}

static enum verdict serve_zone(struct query *q, const uint8_t *zone)
{
	query_reply(q);
	if (dns_name_len(zone) == q->qname.len)
		return answer_query(q, zone == localhost, true);
	if (!dns_name_eq_case(q->qname.wire, loopback_ptr))
		q->resp.rcode = DNS_RCODE_NXDOMAIN;
	else if (q->req.qtype == DNS_TYPE_PTR)
		return reply_with_record(q, DNS_ANSWER,
					 (struct dns_rr){ .owner = q->req.qname,
							  .type = DNS_TYPE_PTR,
							  .rdata = localhost,
							  .rdlen = sizeof(localhost) });
	return reply_nodata(q, zone);
}

static enum verdict local_serve(struct plugin_inst *self, struct query *q)
{
	const struct local_conf *c = self->conf;
	if (is_subdomain(c, &q->qname)) {
		metrics_add(c->requests, query_slot(q), 1);
		query_reply(q);
		return answer_query(q, true, false);
	}
	const uint8_t *zone = find_zone(&q->qname);
	return zone != NULL ? serve_zone(q, zone) : V_NEXT;
}

static int local_parse(struct plugin_inst *self, struct setup *setup)
{
	struct local_conf *c = self->conf;
	struct opt_ctx ctx = { .arena = setup->arena, .conf = c, .err = setup->err };
	opt_defaults(local_opts, ARRAY_LEN(local_opts), &ctx);
	for (size_t i = 0; i < setup->n_dir; i++) {
		const struct corefile_dir *d = setup->dir[i];
		if (d->n_arg != 0)
			return setup_error(setup, d->arg[0].pos, "local takes no arguments");
		int r = setup_body(setup, d, local_opts, ARRAY_LEN(local_opts), c, NULL);
		if (r < 0)
			return r;
	}
	c->requests = metrics_get(&requests_family, NULL);
	return 0;
}

const struct plugin local_plugin = {
	.name = "local",
	.opts = local_opts,
	.n_opts = ARRAY_LEN(local_opts),
	.conf_size = sizeof(struct local_conf),
	.parse = local_parse,
	.serve = local_serve,
};
