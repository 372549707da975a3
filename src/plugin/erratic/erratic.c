/* SPDX-License-Identifier: GPL-3.0-or-later */
/* erratic: a plugin for tests of clients. It answers, and drops, delays or cuts some of its replies
 * by counting. */
#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/text/duration.h"
#include "server/query.h"
#include "server/setup.h"

enum { DEFAULT_AMOUNT = 2, LARGE_RECORDS = 30, AMOUNT_MAX = INT32_MAX };
#define DEFAULT_DELAY_NS (100 * (int64_t)NS_PER_MS)

struct erratic_conf {
	_Atomic uint64_t n; /* queries met, by all workers */
	uint64_t drop, delay, truncate;
	int64_t delay_ns;
	bool drop_given, large;
};

/* ---- options ---- */

static int parse_amount(struct opt_ctx *ctx, const struct opt_line *line, uint64_t *ret)
{
	const struct word *w = &line->arg[0];
	if (slice_u64(slice_of(w->s), ret) == 0 && *ret <= AMOUNT_MAX)
		return 0;
	return srcerr_set(ctx->err, w->pos, "%s: expected a number from 0 to %d, got '%s'",
			  line->name.s, AMOUNT_MAX, w->s);
}

/* Without an amount the previous value stays. */
static int parse_drop(struct opt_ctx *ctx, const struct opt_line *line)
{
	struct erratic_conf *c = ctx->conf;
	if (line->n_arg == 0)
		return 0;
	c->drop_given = true;
	return parse_amount(ctx, line, &c->drop);
}

static int parse_truncate(struct opt_ctx *ctx, const struct opt_line *line)
{
	struct erratic_conf *c = ctx->conf;
	c->truncate = DEFAULT_AMOUNT;
	return line->n_arg == 0 ? 0 : parse_amount(ctx, line, &c->truncate);
}

static int parse_delay(struct opt_ctx *ctx, const struct opt_line *line)
{
	struct erratic_conf *c = ctx->conf;
	c->delay = DEFAULT_AMOUNT;
	c->delay_ns = DEFAULT_DELAY_NS;
	int r = line->n_arg == 0 ? 0 : parse_amount(ctx, line, &c->delay);
	if (r < 0 || line->n_arg < 2)
		return r;
	const struct word *w = &line->arg[1];
	if (duration_parse(slice_of(w->s), &c->delay_ns) < 0)
		return srcerr_set(ctx->err, w->pos,
				  "%s: expected a duration such as 100ms, got '%s'", line->name.s,
				  w->s);
	return 0;
}

static const struct opt erratic_opts[] = {
	{ "drop", OPT_FN, 0, 0, 1, .fn = parse_drop, .repeatable = true, .args = "[AMOUNT]",
	  .help = "drop one of so many replies (2)" },
	{ "truncate", OPT_FN, 0, 0, 1, .fn = parse_truncate, .repeatable = true, .args = "[AMOUNT]",
	  .help = "set TC in replies whose number has none of these bits (2)" },
	{ "delay", OPT_FN, 0, 0, 2, .fn = parse_delay, .repeatable = true,
	  .args = "[AMOUNT [DURATION]]", .help = "delay one of so many replies (2, 100ms)" },
	{ "large", OPT_FLAG, offsetof(struct erratic_conf, large), .repeatable = true,
	  .help = "answer A with 30 records" },
};

static int erratic_parse(struct plugin_inst *self, struct setup *setup)
{
	struct erratic_conf *c = self->conf;
	c->drop = DEFAULT_AMOUNT;
	for (size_t i = 0; i < setup->n_dir; i++) {
		int r = setup_options(setup, setup->dir[i], erratic_opts, ARRAY_LEN(erratic_opts),
				      c, NULL);
		if (r < 0)
			return r;
	}
	/* `delay` or `truncate` alone turn the default dropping off. */
	if ((c->delay > 0 || c->truncate > 0) && !c->drop_given)
		c->drop = 0;
	return 0;
}

/* ---- answers ---- */

static const uint8_t ipv4[] = { 192, 0, 2, 53 };
static const uint8_t ipv6[16] = { 0x20, 0x01, 0x0d, 0xb8, [15] = 0x53 };

static int add_record(struct query *q, const uint8_t *owner, uint16_t type, const uint8_t *rdata,
		      size_t rdlen)
{
	struct dns_rr rr = {
		.owner = owner,
		.owner_len = (uint8_t)dns_name_len(owner),
		.type = type,
		.cls = DNS_CLASS_IN,
		.rdata = rdata,
		.rdlen = (uint16_t)rdlen,
	};
	return dns_resp_add(&q->resp, &q->arena, DNS_ANSWER, &rr);
}

/* `a.ZONE` or `b.ZONE`; NULL when that is too long. */
static const uint8_t *host_of(struct query *q, char letter)
{
	if (q->qname.len + 2U > DNS_NAME_MAX)
		return NULL;
	uint8_t *p = arena_alloc(&q->arena, q->qname.len + 2U);
	if (p == NULL)
		return NULL;
	p[0] = 1;
	p[1] = (uint8_t)letter;
	memcpy(p + 2, q->qname.wire, q->qname.len);
	return p;
}

/* A small zone, whatever its name; cut short it lacks the SOA at its end. */
static int add_zone(struct query *q, bool cut)
{
	static const uint8_t soa[] = "\3sns\3dns\5icann\3org\0\3noc\3dns\5icann\3org\0"
				     "\170\111\3\11\0\0\34\40\0\0\16\20\0\22\165\0\0\0\16\20";
	static const uint8_t ip_a[16] = { 0x20, 0x01, 0x0b, 0xd8, [15] = 0x53 };
	static const uint8_t ip_b[16] = { 0x20, 0x01, 0x05, 0x00, [15] = 0x54 };
	const uint8_t *zone = q->qname.wire, *a = host_of(q, 'a'), *b = host_of(q, 'b');
	size_t len = q->qname.len + 2U;
	if (a == NULL || b == NULL)
		return ERR_SPACE;
	int r = add_record(q, zone, DNS_TYPE_SOA, soa, sizeof(soa) - 1);
	if (r == 0)
		r = add_record(q, zone, DNS_TYPE_NS, b, len);
	if (r == 0)
		r = add_record(q, zone, DNS_TYPE_NS, a, len);
	if (r == 0)
		r = add_record(q, a, DNS_TYPE_AAAA, ip_a, sizeof(ip_a));
	if (r == 0)
		r = add_record(q, b, DNS_TYPE_AAAA, ip_b, sizeof(ip_b));
	if (r == 0 && !cut)
		r = add_record(q, zone, DNS_TYPE_SOA, soa, sizeof(soa) - 1);
	return r;
}

static bool known_type(uint16_t type)
{
	return type == DNS_TYPE_A || type == DNS_TYPE_AAAA || type == DNS_TYPE_AXFR;
}

static int fill_reply(struct query *q, const struct erratic_conf *conf, bool cut)
{
	query_reply(q);
	q->resp.flags |= DNS_FLAG_AA;
	if (q->req.qtype == DNS_TYPE_AXFR)
		return add_zone(q, cut);
	if (cut)
		q->resp.flags |= DNS_FLAG_TC;
	if (q->req.qtype == DNS_TYPE_AAAA)
		return add_record(q, q->req.qname, DNS_TYPE_AAAA, ipv6, sizeof(ipv6));
	int r = 0;
	for (int i = 0; i < (conf->large ? LARGE_RECORDS : 1) && r == 0; i++)
		r = add_record(q, q->req.qname, DNS_TYPE_A, ipv4, sizeof(ipv4));
	return r;
}

/* ---- queries ---- */

static enum verdict finish_reply(struct query *q)
{
	if (!known_type(q->req.qtype))
		return query_fail(q, DNS_RCODE_SERVFAIL, NULL);
	return V_ANSWERED;
}

static enum verdict erratic_resume(struct plugin_inst *self, struct query *q)
{
	(void)self;
	return finish_reply(q);
}

static enum verdict erratic_serve(struct plugin_inst *self, struct query *q)
{
	struct erratic_conf *c = self->conf;
	uint64_t n = atomic_fetch_add_explicit(&c->n, 1, memory_order_relaxed);
	if (c->drop > 0 && n % c->drop == 0)
		return V_DROP;
	/* CoreDNS has a bitwise "and" here, and tests of clients count on what comes of it. */
	bool cut = c->truncate > 0 && (n & c->truncate) == 0;
	if (known_type(q->req.qtype) && fill_reply(q, c, cut) < 0)
		return query_fail(q, DNS_RCODE_SERVFAIL, "out of query memory");
	if (c->delay > 0 && n % c->delay == 0 && c->delay_ns > 0) {
		query_resume_at(q, query_now(q) + (uint64_t)c->delay_ns);
		return V_WAIT;
	}
	return finish_reply(q);
}

/* For tests of `ready`: so for the third and fourth query only. */
static bool erratic_ready(struct plugin_inst *self)
{
	struct erratic_conf *c = self->conf;
	uint64_t n = atomic_load_explicit(&c->n, memory_order_relaxed);
	return n >= 3 && n < 5;
}

/* For tests of `autopath`. */
static int erratic_search(struct plugin_inst *self, struct query *q, const uint8_t **out,
			  size_t max)
{
	static const char *const path[] = { "\1a\7example\3org", "\1b\7example\3org", "" };
	size_t n = MIN(max, ARRAY_LEN(path));
	(void)self;
	(void)q;
	for (size_t i = 0; i < n; i++)
		out[i] = (const uint8_t *)path[i];
	return (int)n;
}

const struct plugin erratic_plugin = {
	.name = "erratic",
	.opts = erratic_opts,
	.n_opts = ARRAY_LEN(erratic_opts),
	.conf_size = sizeof(struct erratic_conf),
	.parse = erratic_parse,
	.serve = erratic_serve,
	.resume = erratic_resume,
	.ops = { .ready = erratic_ready, .search_for_client = erratic_search },
};
