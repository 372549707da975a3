/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading the script of an upstream, and finding the rule for a query. */
#include "rules.h"

#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "base/err_text.h"
#include "dns/request.h"
#include "dns/types.h"

enum { QUERY_MAX = 4096 };

/* -1: does not matter. */
struct rule {
	char *name; /* lower case, `*` is any text */
	char *type, *cls;
	int tcp, edns, dnssec_ok;
	unsigned from, to; /* of nth */
	uint16_t flags_set, flags_clear;
	VEC(struct rules_reply) reply;
};

struct rules {
	VEC(struct rule) rule;
};

static const char *const reply_words[] = { "rcode",    "flags",	     "edns",	   "noedns",
					   "answer",   "authority",  "additional", "delay",
					   "drop",     "close",	     "truncate",   "id",
					   "question", "noquestion", "raw",	   "garbage" };

uint16_t rules_flag(struct slice name)
{
	static const struct {
		const char *name;
		uint16_t bit;
	} bits[] = {
		{ "qr", DNS_FLAG_QR }, { "aa", DNS_FLAG_AA }, { "tc", DNS_FLAG_TC },
		{ "rd", DNS_FLAG_RD }, { "ra", DNS_FLAG_RA }, { "z", DNS_FLAG_Z },
		{ "ad", DNS_FLAG_AD }, { "cd", DNS_FLAG_CD },
	};
	for (size_t i = 0; i < ARRAY_LEN(bits); i++) {
		if (slice_is(name, bits[i].name))
			return bits[i].bit;
	}
	return 0;
}

/* ---- reading ---- */

/* `3`, `1..2`, `4..` */
static bool parse_range(struct slice text, struct rule *r)
{
	uint64_t from, to;
	ptrdiff_t dot = slice_find(text, '.');
	struct slice low = dot < 0 ? text : (struct slice){ text.p, (size_t)dot };
	if (slice_u64(low, &from) < 0)
		return false;
	to = dot < 0 ? from : UINT_MAX;
	struct slice high = dot < 0 ? SLICE("") : slice_from(text, (size_t)dot + 2);
	if (high.n > 0 && slice_u64(high, &to) < 0)
		return false;
	r->from = (unsigned)from;
	r->to = (unsigned)to;
	return true;
}

static bool parse_bit(struct slice word, struct rule *r)
{
	uint16_t bit = rules_flag(slice_from(word, 1));
	if (bit == 0)
		return false;
	if (word.p[0] == '+')
		r->flags_set |= bit;
	else
		r->flags_clear |= bit;
	return true;
}

static bool parse_condition(struct slice word, struct rule *r)
{
	const struct {
		const char *word;
		int *field;
		int value;
	} plain[] = {
		{ "udp", &r->tcp, 0 },	     { "tcp", &r->tcp, 1 },   { "do", &r->dnssec_ok, 1 },
		{ "-do", &r->dnssec_ok, 0 }, { "edns", &r->edns, 1 }, { "-edns", &r->edns, 0 },
	};
	for (size_t i = 0; i < ARRAY_LEN(plain); i++) {
		if (slice_is(word, plain[i].word)) {
			*plain[i].field = plain[i].value;
			return true;
		}
	}
	if (slice_starts(word, SLICE("n=")))
		return parse_range(slice_from(word, 2), r);
	if (slice_starts(word, SLICE("class="))) {
		free(r->cls);
		r->cls = xstrndup(word.p + 6, word.n - 6);
		return true;
	}
	return (word.p[0] == '+' || word.p[0] == '-') && parse_bit(word, r);
}

static bool parse_rule(struct slice line, struct rules *rules)
{
	struct rule *r = vec_add(&rules->rule);
	*r = (struct rule){ .tcp = -1, .edns = -1, .dnssec_ok = -1, .to = UINT_MAX };
	vec_push(&r->reply, (struct rules_reply){ 0 });
	struct slice name = slice_cut(&line, ' ');
	r->name = xstrndup(name.p, name.n);
	for (char *c = r->name; *c != '\0'; c++)
		*c = ascii_lower(*c);
	line = slice_trim(line);
	struct slice type = slice_cut(&line, ' ');
	r->type = type.n > 0 ? xstrndup(type.p, type.n) : xstrdup("*");
	while (line.n > 0) {
		struct slice word = slice_cut(&line, ' ');
		if (word.n > 0 && !parse_condition(word, r))
			return false;
	}
	return name.n > 0 && (name.p[name.n - 1] == '.' || name.p[name.n - 1] == '*');
}

static bool parse_reply_line(struct slice line, struct rules *rules)
{
	if (rules->rule.n == 0)
		return false;
	struct rule *r = &rules->rule.v[rules->rule.n - 1];
	struct slice word = slice_cut(&line, ' ');
	if (slice_is(word, "and")) {
		vec_push(&r->reply, (struct rules_reply){ 0 });
		return true;
	}
	size_t i = 0;
	while (i < ARRAY_LEN(reply_words) && !slice_is(word, reply_words[i]))
		i++;
	if (i == ARRAY_LEN(reply_words))
		return false;
	struct rules_reply *reply = &r->reply.v[r->reply.n - 1];
	reply->word = xreallocarray(reply->word, reply->n + 1, sizeof(*reply->word));
	line = slice_trim(line);
	reply->word[reply->n++] =
		(struct rules_word){ .word = xstrndup(word.p, word.n),
				     .rest = xstrndup(line.n > 0 ? line.p : "", line.n) };
	return true;
}

/* Cuts the text before the first " ; " off. */
static struct slice cut_part(struct slice *rest)
{
	for (size_t i = 0; i + 3 <= rest->n; i++) {
		if (memcmp(rest->p + i, " ; ", 3) == 0) {
			struct slice part = { rest->p, i };
			*rest = slice_from(*rest, i + 3);
			return slice_trim(part);
		}
	}
	struct slice all = *rest;
	*rest = (struct slice){ 0 };
	return slice_trim(all);
}

/* A rule, or replies of the last one where the line is indented. */
static bool parse_line(struct slice line, struct rules *rules)
{
	bool indented = line.n > 0 && ascii_isspace(line.p[0]);
	bool ok = true;
	struct slice rest = slice_trim(line);
	if (!indented && rest.n > 0)
		ok = parse_rule(cut_part(&rest), rules);
	while (ok && rest.n > 0)
		ok = parse_reply_line(cut_part(&rest), rules);
	return ok;
}

struct rules *rules_parse(const char *script, struct err_text why)
{
	struct rules *r = xcalloc(1, sizeof(*r));
	struct slice rest = slice_of(script);
	while (rest.n > 0) {
		struct slice line = slice_cut(&rest, '\n');
		if (!parse_line(line, r)) {
			err_text_set(why, "cannot read '%.*s'", (int)line.n, line.p);
			rules_free(r);
			return NULL;
		}
	}
	if (!parse_line(SLICE("* * ; rcode REFUSED"), r))
		abort();
	return r;
}

static void reply_done(struct rules_reply *r)
{
	for (size_t i = 0; i < r->n; i++) {
		free(r->word[i].word);
		free(r->word[i].rest);
	}
	free(r->word);
}

void rules_free(struct rules *r)
{
	if (r == NULL)
		return;
	for (size_t i = 0; i < r->rule.n; i++) {
		struct rule *rule = &r->rule.v[i];
		for (size_t k = 0; k < rule->reply.n; k++)
			reply_done(&rule->reply.v[k]);
		vec_done(&rule->reply);
		free(rule->name);
		free(rule->type);
		free(rule->cls);
	}
	vec_done(&r->rule);
	free(r);
}

/* ---- finding ---- */

static bool fits(const struct rule *r, const struct rules_query *q)
{
	char lower[sizeof(q->name)];
	size_t n = strlen(q->name);
	for (size_t i = 0; i <= n; i++)
		lower[i] = ascii_lower(q->name[i]);
	return fnmatch(r->name, lower, FNM_NOESCAPE) == 0 &&
	       (strcmp(r->type, "*") == 0 || strcmp(r->type, q->type) == 0) &&
	       (r->cls == NULL || strcmp(r->cls, q->cls) == 0) &&
	       (r->tcp < 0 || r->tcp == q->tcp) && (r->edns < 0 || r->edns == q->edns) &&
	       (r->dnssec_ok < 0 || r->dnssec_ok == q->dnssec_ok) && q->nth >= r->from &&
	       q->nth <= r->to && (q->flags & r->flags_set) == r->flags_set &&
	       (q->flags & r->flags_clear) == 0;
}

const struct rules_reply *rules_find(const struct rules *r, const struct rules_query *q,
				     size_t *ret_n)
{
	for (size_t i = 0; i < r->rule.n; i++) {
		if (fits(&r->rule.v[i], q)) {
			*ret_n = r->rule.v[i].reply.n;
			return r->rule.v[i].reply.v;
		}
	}
	abort(); /* the last rule fits always */
}

const char *rules_get(const struct rules_reply *r, const char *word)
{
	for (size_t i = r->n; i-- > 0;) {
		if (strcmp(r->word[i].word, word) == 0)
			return r->word[i].rest;
	}
	return NULL;
}

bool rules_read_query(const uint8_t *msg, size_t n, bool tcp, struct rules_query *q)
{
	uint8_t copy[QUERY_MAX + DNS_REQUEST_SLACK], wire[DNS_NAME_MAX];
	struct dns_request r;
	*q = (struct rules_query){ .msg = msg, .n = n, .tcp = tcp };
	if (n > QUERY_MAX)
		return false;
	memcpy(copy, msg, n);
	if (dns_request_parse(copy, n, UINT16_MAX, &r) != DNS_ADMIT_OK ||
	    dns_name_unpack(copy, n, DNS_HEADER_BYTES, wire) < 0)
		return false;
	char type[DNS_MNEMONIC_MAX], cls[DNS_MNEMONIC_MAX];
	dns_name_to_text(wire, false, q->name);
	snprintf(q->type, sizeof(q->type), "%s", dns_type_str(r.qtype, type));
	snprintf(q->cls, sizeof(q->cls), "%s", dns_class_str(r.qclass, cls));
	q->question_end = DNS_HEADER_BYTES + r.question_len;
	q->flags = r.flags;
	q->edns = r.opt.present;
	q->dnssec_ok = r.opt.dnssec_ok;
	q->udp_size = r.opt.udp_size;
	return true;
}
