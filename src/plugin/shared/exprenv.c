/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The functions of expressions: each is a row that reads one property of the query. */
#include "plugin/shared/exprenv.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "dns/types.h"
#include "server/query.h"

static struct query *query_of(const struct expr_run *run)
{
	return ((struct exprenv *)run->ctx)->q;
}

/* A text that lives as long as the evaluation's results. */
static int return_text(const struct expr_run *run, const char *pos, size_t len,
		       struct expr_value *ret)
{
	const char *copy = arena_strndup(run->arena, pos, len);
	if (copy == NULL)
		return ERR_LIMIT;
	*ret = expr_string((struct slice){ copy, len });
	return 0;
}

/* The signature of expr_fn. */
#define FN(name)                                                                                 \
	static int name(const struct expr_run *run UNUSED, const struct expr_value *args UNUSED, \
			struct expr_value *ret, char *errtext UNUSED, size_t n_errtext UNUSED)

FN(fn_type)
{
	char buf[DNS_MNEMONIC_MAX];
	const char *s = dns_type_str(query_of(run)->req.qtype, buf);
	if (s == buf)
		return return_text(run, s, strlen(s), ret);
	*ret = expr_string(slice_of(s));
	return 0;
}

FN(fn_class)
{
	char buf[DNS_MNEMONIC_MAX];
	const char *s = dns_class_str(query_of(run)->req.qclass, buf);
	if (s == buf)
		return return_text(run, s, strlen(s), ret);
	*ret = expr_string(slice_of(s));
	return 0;
}

FN(fn_name)
{
	struct slice s = query_name_text(query_of(run));
	*ret = expr_string(s);
	return s.n != 0 ? 0 : ERR_LIMIT;
}

FN(fn_proto)
{
	*ret = expr_string(slice_of(query_proto_text(query_of(run))));
	return 0;
}

FN(fn_client_ip)
{
	struct slice s = query_client_text(query_of(run));
	*ret = expr_string(s);
	return s.n != 0 ? 0 : ERR_LIMIT;
}

FN(fn_server_ip)
{
	char text[NET_ADDR_TEXT_MAX];
	return return_text(run, text, net_addr_ip_str(&query_of(run)->local, text), ret);
}

static int return_port(const struct expr_run *run, const union net_addr *a, struct expr_value *ret)
{
	char text[8];
	int n = snprintf(text, sizeof(text), "%u", net_addr_port(a));
	return return_text(run, text, (size_t)n, ret);
}

FN(fn_port)
{
	return return_port(run, &query_of(run)->client, ret);
}

FN(fn_server_port)
{
	return return_port(run, &query_of(run)->local, ret);
}

/* Bytes of a client-subnet option (RFC 7871) beyond its prefix: CoreDNS measures the request as it
 * would write it, which is without them. */
static size_t subnet_excess(const struct dns_opt *opt)
{
	enum { SUBNET = 8, FIXED = 4 };
	struct dns_option o;
	size_t pos = 0, excess = 0;
	while (dns_option_next(opt, &pos, &o)) {
		size_t need = o.len >= FIXED ? FIXED + (o.data[2] + 7U) / 8 : o.len;
		if (o.code == SUBNET && o.len > need)
			excess += o.len - need;
	}
	return excess;
}

FN(fn_size)
{
	const struct dns_request *r = &query_of(run)->req;
	*ret = expr_int((int64_t)(r->len - subnet_excess(&r->opt)));
	return 0;
}

FN(fn_bufsize)
{
	*ret = expr_int(query_udp_size(query_of(run)));
	return 0;
}

FN(fn_id)
{
	*ret = expr_int(query_of(run)->req.id);
	return 0;
}

FN(fn_opcode)
{
	*ret = expr_int(query_of(run)->req.opcode);
	return 0;
}

FN(fn_do)
{
	*ret = expr_bool(query_of(run)->req.opt.dnssec_ok);
	return 0;
}

FN(fn_metadata)
{
	struct exprenv *env = run->ctx;
	env->asked_others = true;
	struct slice s = query_meta_get(env->q, args[0].s);
	*ret = expr_string(s.p != NULL ? s : SLICE(""));
	return 0;
}

/* Go compares an IPv4-mapped network as the IPv4 network it stands for. */
static void unmap(struct net_cidr *c)
{
	static const uint8_t mapped[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };
	if (c->family != AF_INET6 || c->bits < 96 || memcmp(c->ip, mapped, sizeof(mapped)) != 0)
		return;
	c->family = AF_INET;
	c->bits = (uint8_t)(c->bits - 96);
	memmove(c->ip, c->ip + 12, 4);
}

FN(fn_incidr)
{
	union net_addr ip;
	struct net_cidr net;
	if (slice_find(args[0].s, '%') >= 0 || net_addr_parse_ip(args[0].s, &ip) < 0) {
		snprintf(errtext, n_errtext, "first argument is not an IP address");
		return ERR_TYPE;
	}
	if (slice_find(args[1].s, '/') < 0 || net_cidr_parse(args[1].s, &net) < 0) {
		snprintf(errtext, n_errtext, "invalid CIDR address");
		return ERR_TYPE;
	}
	net_addr_unmap(&ip);
	unmap(&net);
	*ret = expr_bool(net_cidr_has(&net, &ip));
	return 0;
}

FN(fn_group)
{
	const struct exprenv *env = run->ctx;
	char number[24];
	struct slice key = { NULL, 0 };
	if (args[0].type == EXPR_STRING) {
		key = args[0].s;
	} else if (args[0].type == EXPR_INT) {
		key.n = (size_t)snprintf(number, sizeof(number), "%lld", (long long)args[0].i);
		key.p = number;
	}
	struct slice s = { NULL, 0 };
	if (key.p != NULL && env->group != NULL)
		s = env->group(env->group_ctx, key);
	*ret = expr_string(s.p != NULL ? s : SLICE(""));
	return 0;
}

const struct expr_func exprenv_funcs[EXPRENV_FUNCS] = {
	{ "type", 0, { 0 }, EXPR_STRING, fn_type },
	{ "name", 0, { 0 }, EXPR_STRING, fn_name },
	{ "class", 0, { 0 }, EXPR_STRING, fn_class },
	{ "proto", 0, { 0 }, EXPR_STRING, fn_proto },
	{ "client_ip", 0, { 0 }, EXPR_STRING, fn_client_ip },
	{ "port", 0, { 0 }, EXPR_STRING, fn_port },
	{ "server_ip", 0, { 0 }, EXPR_STRING, fn_server_ip },
	{ "server_port", 0, { 0 }, EXPR_STRING, fn_server_port },
	{ "metadata", 1, { EXPR_STRING }, EXPR_STRING, fn_metadata },
	{ "size", 0, { 0 }, EXPR_INT, fn_size },
	{ "bufsize", 0, { 0 }, EXPR_INT, fn_bufsize },
	{ "id", 0, { 0 }, EXPR_INT, fn_id },
	{ "opcode", 0, { 0 }, EXPR_INT, fn_opcode },
	{ "do", 0, { 0 }, EXPR_BOOL, fn_do },
	{ "incidr", 2, { EXPR_STRING, EXPR_STRING }, EXPR_BOOL, fn_incidr },
	{ "group", 1, { EXPR_ANY }, EXPR_STRING, fn_group },
};

int exprenv_parse(const struct word *words, size_t count, const struct word *line,
		  const struct expr_env *env, const char *what, struct expr **ret,
		  struct srcerr *err)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	struct srcpos at = count != 0 ? words[0].pos : line->pos;
	struct srcerr inner = { .text = "" };
	for (size_t i = 0; i < count; i++)
		strbuf_addf(&text, "%s%s", i == 0 ? "" : " ", words[i].s);
	struct expr *e;
	int r = expr_parse(strbuf_slice(&text), at, env, &e, &inner);
	if (r < 0)
		return srcerr_set(err, inner.pos, "could not compile expression: %s%s%s",
				  what != NULL ? what : "", what != NULL ? ", " : "", inner.text);
	if (expr_uses_regex(e) && expr_regex_groups(e) > QUERY_REGEX_GROUPS) {
		r = srcerr_set(err, at, "pattern of 'matches' with more than %d groups",
			       QUERY_REGEX_GROUPS);
		expr_free(e);
		return r;
	}
	*ret = e;
	return 0;
}

int exprenv_eval(const struct expr *expr, struct exprenv *env, const struct expr_value *vars,
		 struct expr_value *ret)
{
	char why[128];
	struct expr_run run = {
		.ctx = env,
		.vars = vars,
		.arena = &env->q->arena,
		.scratch = expr_uses_regex(expr) ? query_regex(env->q) : NULL,
	};
	return expr_eval(expr, &run, ret, why, sizeof(why));
}
