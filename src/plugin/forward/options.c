/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The options of forward, by table. What CoreDNS accepts is accepted: lines may be repeated, the
 * last one counts, lists add up. */
#include "plugin/forward/options.h"

#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/text/duration.h"
#include "corefile/key.h"
#include "dns/types.h"
#include "plugin/forward/upstream_address.h"

#define AREA	"plugin/forward"
#define F(name) offsetof(struct forward_stanza, name)

static const char *const policies[] = { "random", "round_robin", "sequential", "fastest", NULL };
static const char *const doh_methods[] = { "POST", "GET", NULL };

/* ---- options with a form of their own ---- */

static int parse_attempts(struct opt_ctx *ctx, const struct opt_line *line)
{
	struct forward_stanza *stanza = ctx->conf;
	uint64_t v;
	if (slice_u64(slice_of(line->arg[0].s), &v) < 0 || v > UINT32_MAX)
		return srcerr_set(ctx->err, line->arg[0].pos,
				  "max_connect_attempts: expected a number from 0 to %u, got '%s'",
				  UINT32_MAX, line->arg[0].s);
	stanza->max_attempts = v;
	stanza->has_max_attempts = true;
	return 0;
}

/* [CA], CERT KEY, or CERT KEY CA. */
static int parse_tls(struct opt_ctx *ctx, const struct opt_line *line)
{
	static const enum forward_tls_file places[][FORWARD_TLS_FILES] = {
		{ 0 },
		{ FORWARD_TLS_CA },
		{ FORWARD_TLS_CERT, FORWARD_TLS_KEY },
		{ FORWARD_TLS_CERT, FORWARD_TLS_KEY, FORWARD_TLS_CA },
	};
	struct forward_stanza *stanza = ctx->conf;
	if (line->n_arg > FORWARD_TLS_FILES)
		return srcerr_set(ctx->err, line->arg[FORWARD_TLS_FILES].pos,
				  "tls: expected at most CERT KEY CA");
	stanza->tls_given = true;
	memset(stanza->tls_file, 0, sizeof(stanza->tls_file));
	for (size_t i = 0; i < line->n_arg; i++)
		stanza->tls_file[places[line->n_arg][i]] =
			setup_path(stanza->setup, arena_strdup(ctx->arena, line->arg[i].s));
	return 0;
}

static int parse_domain(struct opt_ctx *ctx, const struct word *word, const uint8_t **ret)
{
	uint8_t wire[DNS_NAME_MAX];
	int n = dns_name_from_text(slice_of(word->s), wire);
	if (n < 0)
		return srcerr_set(ctx->err, word->pos, "health_check: invalid domain name %s",
				  word->s);
	dns_name_lower(wire, wire);
	*ret = arena_memdup(ctx->arena, wire, (size_t)n);
	return 0;
}

/* INTERVAL [no_rec] [domain NAME] */
static int parse_health(struct opt_ctx *ctx, const struct opt_line *line)
{
	struct forward_stanza *stanza = ctx->conf;
	const struct word *word = line->arg;
	if (duration_parse(slice_of(word->s), &stanza->check_ns) < 0)
		return srcerr_set(ctx->err, word->pos,
				  "health_check: expected a duration such as 0.5s, got '%s'",
				  word->s);
	if (stanza->check_ns < 0)
		return srcerr_set(ctx->err, word->pos, "health_check can't be negative: %s",
				  word->s);
	stanza->check_domain = dns_name_root;
	for (size_t i = 1; i < line->n_arg; i++) {
		if (strcmp(word[i].s, "no_rec") == 0) {
			stanza->check_no_rec = true;
			continue;
		}
		if (strcmp(word[i].s, "domain") != 0)
			return srcerr_set(ctx->err, word[i].pos, "health_check: unknown option %s",
					  word[i].s);
		if (++i == line->n_arg)
			return srcerr_set(ctx->err, word[i - 1].pos,
					  "health_check: expected a name after 'domain'");
		int r = parse_domain(ctx, &word[i], &stanza->check_domain);
		if (r < 0)
			return r;
	}
	return 0;
}

static int parse_rcodes(struct opt_ctx *ctx, const struct opt_line *line)
{
	uint32_t *set = ctx->field;
	for (size_t i = 0; i < line->n_arg; i++) {
		char upper[DNS_MNEMONIC_MAX] = "";
		const char *s = line->arg[i].s;
		size_t n = strlen(s);
		for (size_t k = 0; k < n && n < sizeof(upper); k++)
			upper[k] = ascii_isalpha(s[k]) ? (char)(s[k] & ~0x20) : s[k];
		int rcode = dns_rcode_parse(slice_of(upper));
		if (rcode < 0 || rcode >= 32)
			return srcerr_set(ctx->err, line->arg[i].pos, "%s is not a valid rcode", s);
		*set |= UINT32_C(1) << rcode;
	}
	return 0;
}

static int parse_failover(struct opt_ctx *ctx, const struct opt_line *line)
{
	const uint32_t *set = ctx->field;
	int r = parse_rcodes(ctx, line);
	if (r >= 0 && (*set & 1U << DNS_RCODE_NOERROR) != 0)
		return srcerr_set(ctx->err, line->arg[0].pos, "NoError cannot be used in failover");
	return r;
}

static int parse_source(struct opt_ctx *ctx, const struct opt_line *line)
{
	union net_addr *a = ctx->field;
	if (net_addr_parse_ip(slice_of(line->arg[0].s), a) < 0)
		return srcerr_set(ctx->err, line->arg[0].pos, "invalid IP address: %s",
				  line->arg[0].s);
	net_addr_unmap(a);
	return 0;
}

/* IP or IP:port each; a second line replaces the first. */
static int parse_resolver(struct opt_ctx *ctx, const struct opt_line *line)
{
	struct forward_stanza *stanza = ctx->conf;
	union net_addr *v = arena_alloc(ctx->arena, line->n_arg * sizeof(*v));
	for (size_t i = 0; i < line->n_arg; i++) {
		struct forward_address to;
		char err[FORWARD_ERR_MAX];
		if (forward_address_parse(slice_of(line->arg[i].s), &to, err) < 0 ||
		    to.has_scheme || to.kind != FORWARD_ADDRESS_IP)
			return srcerr_set(ctx->err, line->arg[i].pos,
					  "resolver must be an IP address or IP:port: \"%s\"",
					  line->arg[i].s);
		v[i] = to.addr;
	}
	stanza->resolver = v;
	stanza->n_resolver = line->n_arg;
	return 0;
}

/* ---- the table ---- */

const struct opt forward_opts[FORWARD_OPTS] = {
	{ "<from>", OPT_STRING, F(from_text), .args = "FROM",
	  .help = "the zone whose names are forwarded" },
	{ "<to...>", OPT_LIST, F(to), .args = "TO...",
	  .help = "upstreams: addresses, files such as /etc/resolv.conf, names; up to 15" },
	{ "except", OPT_LIST, F(except_words), .args = "ZONE...",
	  .help = "zones below FROM that are passed to the next plugin" },
	{ "force_tcp", OPT_FLAG, F(force_tcp), .repeatable = true,
	  .help = "ask over TCP whatever the client uses" },
	{ "prefer_udp", OPT_FLAG, F(prefer_udp), .repeatable = true,
	  .help = "ask over UDP whatever the client uses, over TCP only what was truncated" },
	{ "expire", OPT_DURATION, F(expire_ns), .def = "10s", .repeatable = true,
	  .help = "idle connections are closed after this time" },
	{ "max_age", OPT_DURATION, F(max_age_ns), .def = "0s", .repeatable = true,
	  .help = "connections are not used for longer; 0: no limit" },
	{ "max_idle_conns", OPT_UINT, F(max_idle), 0, INT64_MAX, .def = "0", .repeatable = true,
	  .help = "idle connections kept for each upstream and worker; 0: no limit" },
	{ "read_timeout", OPT_DURATION, F(read_timeout_ns), 1, INT64_MAX, .def = "2s",
	  .repeatable = true, .help = "how long to wait for one upstream's reply" },
	{ "max_fails", OPT_UINT, F(max_fails), 0, UINT32_MAX, .def = "2", .repeatable = true,
	  .help = "an upstream is down when more health checks in a row failed; 0: never" },
	{ "max_connect_attempts", OPT_FN, F(max_attempts), 1, 1, .fn = parse_attempts,
	  .repeatable = true, .args = "N",
	  .help = "failed attempts after which a query is given up (default: 2 for each "
		  "upstream; 0: only the time ends them)" },
	{ "doh_method", OPT_ENUM, F(doh), .def = "POST", .words = doh_methods, .repeatable = true,
	  .args = "GET|POST", .help = "HTTP method for https:// upstreams" },
	{ "tls", OPT_FN, F(tls_file), 0, FORWARD_TLS_FILES, .fn = parse_tls, .repeatable = true,
	  .args = "[CERT KEY] [CA]",
	  .help = "own certificate and the CA to trust (default: the system's CAs)" },
	{ "tls_servername", OPT_STRING, F(tls_servername), .repeatable = true, .args = "NAME",
	  .help = "the name that certificates of tls:// and https:// upstreams must have" },
	{ "policy", OPT_ENUM, F(policy), .def = "random", .words = policies, .repeatable = true,
	  .args = "random|round_robin|sequential|fastest",
	  .help = "which upstream is asked first; fastest is an addition to CoreDNS" },
	{ "health_check", OPT_FN, F(check_ns), 1, 64, .fn = parse_health, .def = "0.5s",
	  .repeatable = true, .args = "DURATION [no_rec] [domain NAME]",
	  .help = "interval of health checks, without recursion desired, for another name" },
	{ "max_concurrent", OPT_UINT, F(max_concurrent), 0, INT64_MAX, .def = "0",
	  .repeatable = true,
	  .help = "queries that may wait for replies; more get REFUSED; 0: no limit" },
	{ "next", OPT_FN, F(next_rcodes), 1, 64, .fn = parse_rcodes, .repeatable = true,
	  .args = "RCODE...", .help = "with these replies ask the next forward of the block" },
	{ "next_on_nodata", OPT_FLAG, F(next_on_nodata), .repeatable = true,
	  .help = "ask it also when there are no records" },
	{ "failfast_all_unhealthy_upstreams", OPT_FLAG, F(failfast), .repeatable = true,
	  .help = "SERVFAIL at once when all upstreams are down, instead of trying one" },
	{ "failover", OPT_FN, F(failover_rcodes), 1, 64, .fn = parse_failover, .repeatable = true,
	  .args = "RCODE...", .help = "with these replies ask another upstream" },
	{ "source_address", OPT_FN, F(source), 1, 1, .fn = parse_source, .repeatable = true,
	  .args = "IP", .help = "address queries are sent from" },
	{ "resolver", OPT_FN, F(resolver), 1, 64, .fn = parse_resolver, .repeatable = true,
	  .args = "IP[:PORT]...",
	  .help = "where names among TO are looked up (default: as the system does)" },
	{ "hedge", OPT_DURATION, F(hedge_ns), 1, INT64_MAX, .repeatable = true,
	  .help = "addition: ask a second upstream when the first has not replied by then" },
	{ "random_case", OPT_FLAG, F(random_case), .repeatable = true,
	  .help = "addition: letters of the name get random case, replies must match (0x20)" },
	{ "cookies", OPT_FLAG, F(cookies), .repeatable = true,
	  .help = "addition: DNS cookies to upstreams" },
};

/* ---- a stanza ---- */

static int parse_from(struct setup *setup, const struct word *word, struct forward_stanza *st)
{
	const char *const *zones;
	size_t n;
	uint8_t wire[DNS_NAME_MAX];
	if (corefile_zones_expand(setup->arena, word, &zones, &n, setup->err) < 0 || n == 0)
		return setup_error(setup, word->pos, "unable to normalize '%s'", word->s);
	if (n > 1)
		log_warn(AREA,
			 "Unsupported CIDR notation: '%s' expands to multiple zones. Using only "
			 "'%s'.",
			 word->s, zones[0]);
	int len = dns_name_from_text(slice_of(zones[0]), wire);
	if (len < 0)
		return setup_error(setup, word->pos, "unable to normalize '%s'", word->s);
	dns_name_lower(wire, wire);
	st->from = arena_memdup(setup->arena, wire, (size_t)len);
	return 0;
}

static int parse_except(struct setup *setup, struct forward_stanza *st)
{
	size_t n = st->except_words.n;
	if (n == 0)
		return 0;
	struct word *word = arena_alloc(setup->arena, n * sizeof(*word));
	for (size_t i = 0; i < n; i++)
		word[i] = *st->except_words.v[i];
	return setup_zones(setup, word, n, &st->except);
}

/* What is wrong with a TO whatever files and names there are. */
static int check_to(struct setup *setup, const struct forward_stanza *st)
{
	char err[FORWARD_ERR_MAX];
	if (st->to.n == 0)
		return setup_error(setup, st->pos, "forward needs FROM and at least one TO");
	for (size_t i = 0; i < st->to.n; i++) {
		struct forward_address to;
		const struct word *word = st->to.v[i];
		if (forward_address_parse(slice_of(word->s), &to, err) < 0)
			return setup_error(setup, word->pos, "%s", err);
		if (to.transport == RESOLVE_TLS && to.name.n != 0 && st->tls_servername != NULL)
			return setup_error(setup, word->pos,
					   "both forward ('%s') and proxy level ('%.*s') TLS "
					   "servernames are set for upstream proxy '%s'",
					   st->tls_servername, (int)to.name.n, to.name.p, word->s);
	}
	return 0;
}

int forward_stanza_parse(struct setup *setup, const struct corefile_dir *dir,
			 struct forward_stanza *st)
{
	st->pos = dir->name.pos;
	st->setup = setup;
	int r = setup_options(setup, dir, forward_opts, FORWARD_OPTS, st, setup);
	st->setup = NULL;
	if (r < 0)
		return r;
	if (st->from_text == NULL)
		return setup_error(setup, st->pos, "forward needs FROM and at least one TO");
	r = parse_from(setup, &dir->arg[0], st);
	if (r >= 0)
		r = parse_except(setup, st);
	if (r < 0)
		return r;
	if (st->max_age_ns > 0 && st->max_age_ns < st->expire_ns) {
		char age[40], expire[40];
		return setup_error(setup, st->pos, "max_age (%s) must not be less than expire (%s)",
				   duration_str(st->max_age_ns, age, sizeof(age)),
				   duration_str(st->expire_ns, expire, sizeof(expire)));
	}
	st->too_many = arena_printf(setup->arena, "concurrent queries exceeded maximum %llu",
				    (unsigned long long)st->max_concurrent);
	return check_to(setup, st);
}
