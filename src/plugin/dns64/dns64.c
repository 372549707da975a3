/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dns64: AAAA records for names that have only A records (RFC 6147), so that clients without IPv4
 * reach them through a translator. Looks at the reply to an AAAA query; where it has no address the
 * whole server is asked for A, and that reply is turned into the answer. */
#include <string.h>

#include "base/err.h"
#include "dns/rrwalk.h"
#include "dns/resp_kind.h"
#include "plugin/dns64/prefix.h"
#include "plugin/shared/servercount.h"
#include "server/setup.h"
#include "server/subquery.h"

enum { TTL_WITHOUT_SOA_S = 600 };

struct dns64_conf {
	struct dns64_prefix prefix;
	bool translate_all;
	bool allow_ipv4;
};

struct dns64_state {
	uint32_t ttl_max;
};

static const struct metrics_family translated_family = {
	.name = "coredns_dns64_requests_translated_total",
	.help = "Counter of DNS requests translated by dns64.",
	.kind = METRICS_COUNTER,
	.labels = { "server" },
};

/* ---- set-up ---- */

static int read_prefix(struct opt_ctx *ctx, const struct word *word)
{
	switch (dns64_prefix_parse(slice_of(word->s), ctx->field)) {
	case 0:
		return 0;
	case ERR_RANGE:
		return srcerr_set(
			ctx->err, word->pos,
			"invalid prefix length of '%s', expected 32, 40, 48, 56, 64 or 96",
			word->s);
	default:
		return srcerr_set(ctx->err, word->pos, "'%s' is not an IPv6 network such as '%s'",
				  word->s, "64:ff9b::/96");
	}
}

static int prefix_opt(struct opt_ctx *ctx, const struct opt_line *line)
{
	return read_prefix(ctx, &line->arg[0]);
}

static const struct opt dns64_opts[] = {
	{ "<prefix>", OPT_FN, offsetof(struct dns64_conf, prefix), .fn = prefix_opt, .min = 1,
	  .max = 1, .def = "64:ff9b::/96", .args = "PREFIX",
	  .help = "prefix that IPv4 addresses are mapped into" },
	{ "prefix", OPT_FN, offsetof(struct dns64_conf, prefix), .fn = prefix_opt, .min = 1,
	  .max = 1, .repeatable = true, .args = "PREFIX",
	  .help = "the same as the argument PREFIX" },
	{ "translate_all", OPT_FLAG, offsetof(struct dns64_conf, translate_all), .repeatable = true,
	  .help = "translate also if AAAA records exist" },
	{ "allow_ipv4", OPT_FLAG, offsetof(struct dns64_conf, allow_ipv4), .repeatable = true,
	  .help = "translate also for clients that use IPv4" },
};

/* Stanzas add up; the last prefix counts. */
static int dns64_parse(struct plugin_inst *self, struct setup *setup)
{
	struct dns64_conf *c = self->conf;
	struct opt_ctx ctx = { .arena = setup->arena, .conf = c, .err = setup->err };
	opt_defaults(dns64_opts, ARRAY_LEN(dns64_opts), &ctx);
	for (size_t i = 0; i < setup->n_dir; i++) {
		const struct corefile_dir *d = setup->dir[i];
		const struct opt_line line = { d->name, d->arg, d->n_arg };
		int r = opt_parse_args(dns64_opts, ARRAY_LEN(dns64_opts), &line, &ctx);
		if (r == 0)
			r = setup_body(setup, d, dns64_opts, ARRAY_LEN(dns64_opts), c, NULL);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- the decision ---- */

static bool is_wanted(const struct dns64_conf *conf, const struct query *q)
{
	return q->req.qtype == DNS_TYPE_AAAA && q->req.qclass == DNS_CLASS_IN &&
	       (conf->allow_ipv4 || q->client.family != AF_INET);
}

/* True when the reply has an AAAA record; else what the SOA says about TTLs is kept. */
static bool has_address(const struct dns_resp *resp, uint32_t *ret_ttl_max)
{
	struct dns_rrwalk w;
	bool found = false;
	*ret_ttl_max = TTL_WITHOUT_SOA_S;
	dns_rrwalk_init(&w, resp);
	while (dns_rrwalk_next(&w) && w.of != DNS_ADDITIONAL) {
		found |= w.of == DNS_ANSWER && w.type == DNS_TYPE_AAAA;
		if (w.of == DNS_AUTHORITY && w.type == DNS_TYPE_SOA)
			*ret_ttl_max = w.ttl; /* RFC 6147 section 5.1.7 */
	}
	return found;
}

static enum verdict dns64_respond(struct plugin_inst *self, struct query *q)
{
	const struct dns64_conf *c = self->conf;
	uint32_t ttl_max;
	if (!is_wanted(c, q) || q->outcome != V_ANSWERED ||
	    dns_resp_kind(&q->resp, q->req.qtype) == DNS_KIND_NXDOMAIN)
		return V_NEXT;
	if (has_address(&q->resp, &ttl_max) && !c->translate_all)
		return V_NEXT;
	struct dns64_state *st = query_state(q, self);
	if (st == NULL || query_sub(q, self, SUB_SERVER, q->qname.wire, DNS_TYPE_A) < 0)
		return query_fail(q, DNS_RCODE_SERVFAIL, "dns64: cannot look up the A records");
	st->ttl_max = ttl_max;
	return V_WAIT;
}

/* ---- the answer ---- */

static int map_record(const struct dns64_conf *conf, struct query *q, struct dns_rr *rr,
		      uint32_t ttl_max)
{
	uint8_t *ip = arena_alloc(&q->arena, 16);
	if (ip == NULL)
		return ERR_SPACE;
	dns64_prefix_map(&conf->prefix, rr->rdata, ip);
	rr->type = DNS_TYPE_AAAA;
	rr->rdata = ip;
	rr->rdlen = 16;
	rr->ttl = MIN(rr->ttl, ttl_max);
	return 0;
}

/* The reply to the A query becomes q's: its records, rcode, TC and OPT. */
static int synthesize_reply(const struct dns64_conf *conf, struct query *q, struct dns_resp *from,
			    uint32_t ttl_max)
{
	if (dns_resp_thaw(from, &q->arena) < 0)
		return ERR_SPACE;
	DNS_RR_FOREACH(rr, from, DNS_ANSWER)
	{
		if (rr->type == DNS_TYPE_A && rr->rdlen == 4 &&
		    map_record(conf, q, rr, ttl_max) < 0)
			return ERR_SPACE;
	}
	query_reply(q);
	uint16_t flags = (uint16_t)(q->resp.flags | (from->flags & DNS_FLAG_TC));
	q->resp = *from;
	q->resp.flags = flags;
	return 0;
}

static enum verdict dns64_resume(struct plugin_inst *self, struct query *q)
{
	const struct dns64_state *st = query_state(q, self);
	struct query *sub = q->sub;
	if (!sub->written)
		return query_fail(q, DNS_RCODE_SERVFAIL, "dns64: upstream returned no response");
	if (synthesize_reply(self->conf, q, &sub->resp, st->ttl_max) < 0)
		return query_fail(q, DNS_RCODE_SERVFAIL, "out of query memory");
	servercount_add(self, &translated_family, q);
	return V_ANSWERED;
}

const struct plugin dns64_plugin = {
	.name = "dns64",
	.opts = dns64_opts,
	.n_opts = ARRAY_LEN(dns64_opts),
	.conf_size = sizeof(struct dns64_conf),
	.state_size = sizeof(struct dns64_state),
	.parse = dns64_parse,
	.worker_init = servercount_worker_init,
	.worker_done = servercount_worker_done,
	.respond = dns64_respond,
	.resume = dns64_resume,
};
