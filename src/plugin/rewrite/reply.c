/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the collected steps do to a reply: they run newest first over every record, authority before
 * answer before additional, as CoreDNS runs them. */
#include "plugin/rewrite/reply.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "plugin/rewrite/edns.h"
#include "plugin/rewrite/match.h"
#include "plugin/rewrite/name.h"
#include "server/subquery.h"

/* CoreDNS shares this count with file's CNAME chains: the ninth look-up is the last. */
enum { CNAME_DEPTH_MAX = 8 };

/* A name of a record; as text once an action needed it. */
struct field {
	const uint8_t *wire;
	bool has_text;
	bool changed;
	struct rewrite_text text;
};

struct rewrite_reply {
	struct plugin_inst *self;
	struct query *q;
	struct rewrite_state *st;
	struct dns_rr *rr; /* NULL: the message, or its OPT */
	enum verdict failed;
	struct field owner, value;
};

enum outcome { OUT_GO_ON, OUT_WAIT, OUT_FAILED };

static enum outcome fail_reply(struct rewrite_reply *reply, enum verdict verdict)
{
	reply->failed = verdict;
	return OUT_FAILED;
}

static enum outcome no_memory(struct rewrite_reply *reply)
{
	return fail_reply(reply, rewrite_out_of_memory(reply->q));
}

/* ---- names of records ---- */

/* Where the name stands in the data of these types. */
static const struct {
	uint16_t type;
	uint8_t at;
} value_at[] = {
	{ DNS_TYPE_NS, 0 },    { DNS_TYPE_CNAME, 0 }, { DNS_TYPE_SOA, 0 },
	{ DNS_TYPE_PTR, 0 },   { DNS_TYPE_MX, 2 },    { DNS_TYPE_SRV, 6 },
	{ DNS_TYPE_DNAME, 0 }, { DNS_TYPE_NAPTR, 4 }, /* and three strings */
};

/* Offset of the name, or -1. */
static int value_offset(const struct dns_rr *rr)
{
	size_t i = 0;
	while (i < ARRAY_LEN(value_at) && value_at[i].type != rr->type)
		i++;
	if (i == ARRAY_LEN(value_at))
		return -1;
	size_t at = value_at[i].at;
	for (int s = 0; rr->type == DNS_TYPE_NAPTR && s < 3 && at < rr->rdlen; s++)
		at += rr->rdata[at] + 1U;
	return at < rr->rdlen ? (int)at : -1;
}

static void open_record(struct rewrite_reply *reply, struct dns_rr *rr)
{
	reply->rr = rr;
	reply->owner.has_text = reply->owner.changed = false;
	reply->value.has_text = reply->value.changed = false;
	int at = value_offset(rr);
	reply->owner.wire = rr->owner;
	reply->value.wire = at >= 0 ? rr->rdata + at : NULL;
}

static struct slice field_text(struct field *field)
{
	if (!field->has_text) {
		rewrite_text_wire(&field->text, field->wire);
		field->has_text = true;
	}
	return rewrite_text_slice(&field->text);
}

static int put_value(struct rewrite_reply *reply, const uint8_t *name)
{
	struct dns_rr *rr = reply->rr;
	size_t at = (size_t)value_offset(rr);
	size_t old = dns_name_len(rr->rdata + at), now = dns_name_len(name);
	size_t n = rr->rdlen - old + now;
	uint8_t *copy = n <= UINT16_MAX ? arena_alloc(&reply->q->arena, n) : NULL;
	if (copy == NULL)
		return ERR_SPACE;
	memcpy(copy, rr->rdata, at);
	memcpy(copy + at, name, now);
	memcpy(copy + at + now, rr->rdata + at + old, rr->rdlen - at - old);
	rr->rdata = copy;
	rr->rdlen = (uint16_t)n;
	return 0;
}

/* The name as it is now: from the text when that is newer. NULL: none, and the query has failed. */
static const uint8_t *field_name(struct rewrite_reply *reply, struct field *field)
{
	uint8_t wire[DNS_NAME_MAX];
	if (!field->has_text)
		return field->wire;
	int n = field->text.too_long ? ERR_PARSE
				     : dns_name_from_text(rewrite_text_slice(&field->text), wire);
	if (n < 0) {
		reply->failed = query_failf(reply->q, DNS_RCODE_SERVFAIL,
					    "invalid name after rewrite: %.*s", (int)field->text.n,
					    field->text.s);
		return NULL;
	}
	field->wire = arena_memdup(&reply->q->arena, wire, (size_t)n);
	field->has_text = false;
	if (field->wire == NULL)
		reply->failed = rewrite_out_of_memory(reply->q);
	return field->wire;
}

/* What changed goes into the record. */
static enum outcome close_record(struct rewrite_reply *reply)
{
	if (reply->owner.changed) {
		const uint8_t *name = field_name(reply, &reply->owner);
		if (name == NULL)
			return OUT_FAILED;
		reply->rr->owner = name;
		reply->rr->owner_len = (uint8_t)dns_name_len(name);
		reply->owner.changed = false;
	}
	if (reply->value.changed) {
		const uint8_t *name = field_name(reply, &reply->value);
		if (name == NULL)
			return OUT_FAILED;
		if (put_value(reply, name) < 0)
			return no_memory(reply);
		reply->value.wire = reply->rr->rdata + value_offset(reply->rr);
		reply->value.changed = false;
	}
	return OUT_GO_ON;
}

/* ---- actions on names ---- */

static bool by_regex(const struct rewrite_action *act, struct query *q, struct slice src,
		     struct rewrite_text *out)
{
	if (!regex_match(act->pattern->re, query_regex(q), src))
		return false;
	rewrite_groups(act->to, query_regex(q), regex_groups(act->pattern->re), out);
	return true;
}

static bool by_suffix(const struct rewrite_action *act, struct query *q, struct slice src,
		      struct rewrite_text *out)
{
	(void)q;
	if (!slice_ends(src, act->from))
		return false;
	rewrite_text_set(out, (struct slice){ src.p, src.n - act->from.n });
	rewrite_text_add(out, act->to);
	return true;
}

/* The name itself, or one below it. */
static bool by_remap(const struct rewrite_action *act, struct query *q, struct slice src,
		     struct rewrite_text *out)
{
	if (src.n > act->from.n && src.p[src.n - act->from.n - 1] != '.')
		return false;
	return by_suffix(act, q, src, out);
}

static enum outcome on_name(const struct rewrite_action *act, struct rewrite_reply *reply)
{
	static bool (*const ways[])(const struct rewrite_action *act, struct query *q,
				    struct slice src, struct rewrite_text *out) = {
		[REWRITE_ACT_REGEX] = by_regex,
		[REWRITE_ACT_SUFFIX] = by_suffix,
		[REWRITE_ACT_REMAP] = by_remap,
	};
	struct rewrite_text out;
	struct field *f = act->value ? &reply->value : &reply->owner;
	if (reply->rr == NULL || f->wire == NULL)
		return OUT_GO_ON;
	/* Most replies are about the very name that was asked. */
	if (act->from_wire != NULL && act->to_wire != NULL && !f->has_text &&
	    dns_name_eq_case(f->wire, act->from_wire)) {
		f->wire = act->to_wire;
		f->changed = true;
		return OUT_GO_ON;
	}
	if (ways[act->kind](act, reply->q, field_text(f), &out)) {
		rewrite_text_set(&f->text, rewrite_text_slice(&out));
		f->text.too_long = out.too_long;
		f->changed = true;
	}
	return OUT_GO_ON;
}

/* ---- other actions ---- */

static enum outcome on_ttl(const struct rewrite_action *act, struct rewrite_reply *reply)
{
	if (reply->rr != NULL && reply->rr->ttl < act->min)
		reply->rr->ttl = act->min;
	else if (reply->rr != NULL && reply->rr->ttl > act->max)
		reply->rr->ttl = act->max;
	return OUT_GO_ON;
}

static enum outcome on_rcode(const struct rewrite_action *act, struct rewrite_reply *reply)
{
	if (reply->q->resp.rcode == act->min)
		reply->q->resp.rcode = (uint16_t)act->max;
	return OUT_GO_ON;
}

static enum outcome on_option(const struct rewrite_action *act, struct rewrite_reply *reply)
{
	struct dns_resp *resp = &reply->q->resp;
	const uint8_t *options = resp->options;
	if (!resp->has_opt)
		return OUT_GO_ON;
	if (rewrite_edns_undo(act, &reply->q->arena, &options, &resp->options_len) < 0)
		return no_memory(reply);
	resp->options = (uint8_t *)(uintptr_t)options; /* as it was, or a copy of our own */
	return OUT_GO_ON;
}

/* Is this a CNAME whose target the rule replaces? Then the new target is looked up. */
static enum outcome on_cname(const struct rewrite_action *act, struct rewrite_reply *reply)
{
	struct query *q = reply->q;
	struct rewrite_state *st = reply->st;
	struct rewrite_text out;
	uint8_t wire[DNS_NAME_MAX];
	if (reply->rr == NULL || reply->rr->type != DNS_TYPE_CNAME || reply->value.wire == NULL)
		return OUT_GO_ON;
	struct slice target = field_text(&reply->value);
	bool hit = rewrite_replace(act->match, act->to, q, target, &out);
	if (!hit || q->depth > CNAME_DEPTH_MAX)
		return OUT_GO_ON;
	int n = out.too_long ? ERR_PARSE : dns_name_from_text(rewrite_text_slice(&out), wire);
	if (n < 0)
		return fail_reply(reply, query_failf(q, DNS_RCODE_SERVFAIL,
						     "invalid name after rewrite: %.*s", (int)out.n,
						     out.s));
	st->cname_from = (struct slice){ arena_memdup(&q->arena, target.p, target.n), target.n };
	st->cname_to = arena_memdup(&q->arena, wire, (size_t)n);
	if (st->cname_from.p == NULL || st->cname_to == NULL ||
	    query_ask(q, wire, q->req.qtype, q->req.qclass) < 0)
		return no_memory(reply);
	return query_sub(q, reply->self, SUB_SERVER, wire, q->req.qtype) < 0 ? OUT_GO_ON : OUT_WAIT;
}

static enum outcome (*const on[])(const struct rewrite_action *act, struct rewrite_reply *r) = {
	[REWRITE_ACT_REGEX] = on_name,	       [REWRITE_ACT_SUFFIX] = on_name,
	[REWRITE_ACT_REMAP] = on_name,	       [REWRITE_ACT_TTL] = on_ttl,
	[REWRITE_ACT_RCODE] = on_rcode,	       [REWRITE_ACT_CNAME] = on_cname,
	[REWRITE_ACT_DROP_OPTION] = on_option, [REWRITE_ACT_PUT_OPTION] = on_option,
};

/* ---- the walk ---- */

/* Runs the steps from `step` on over one record, or over the message alone. */
static enum outcome run_steps(struct rewrite_reply *reply, const struct rewrite_step *step)
{
	for (; step != NULL; step = step->next) {
		enum outcome o = on[step->act->kind](step->act, reply);
		reply->st->step = step;
		if (o != OUT_GO_ON)
			return o;
	}
	return OUT_GO_ON;
}

/* A list of the records as they are now: look-ups change the sections while we walk. */
static int list_records(struct query *q, struct rewrite_state *st)
{
	static const enum dns_section order[] = { DNS_AUTHORITY, DNS_ANSWER, DNS_ADDITIONAL };
	const struct dns_resp *resp = &q->resp;
	size_t n = (size_t)resp->count[0] + resp->count[1] + resp->count[2];
	st->rr = arena_alloc(&q->arena, n * sizeof(struct dns_rr *));
	if (st->rr == NULL)
		return ERR_SPACE;
	for (size_t i = 0; i < ARRAY_LEN(order); i++) {
		DNS_RR_FOREACH(rr, resp, order[i])
		st->rr[st->n_rr++] = rr;
	}
	return 0;
}

/* The client gets back the options it sent, or what rules without `revert` made of them. */
static int undo_request_options(struct query *q, const struct rewrite_state *st)
{
	struct dns_opt *echo = NULL;
	for (const struct rewrite_step *s = st->steps; s != NULL; s = s->next) {
		enum rewrite_act_kind kind = s->act->kind;
		if (kind != REWRITE_ACT_DROP_OPTION && kind != REWRITE_ACT_PUT_OPTION)
			continue;
		if (echo == NULL)
			echo = arena_memdup(&q->arena, &q->req.opt, sizeof(*echo));
		if (echo == NULL ||
		    rewrite_edns_undo(s->act, &q->arena, &echo->options, &echo->options_len) < 0)
			return ERR_SPACE;
	}
	q->echo = echo;
	return 0;
}

/* OPT counts as a record; without any the message is gone over once. */
static enum outcome finish_message(struct rewrite_reply *reply)
{
	enum outcome o = OUT_GO_ON;
	reply->rr = NULL;
	if (reply->q->resp.has_opt || reply->st->n_rr == 0)
		o = run_steps(reply, reply->st->steps);
	if (o == OUT_GO_ON && undo_request_options(reply->q, reply->st) < 0)
		return no_memory(reply);
	return o;
}

static enum verdict walk_records(struct rewrite_reply *reply, const struct rewrite_step *step)
{
	struct rewrite_state *st = reply->st;
	enum outcome o = OUT_GO_ON;
	for (; st->at < st->n_rr; st->at++) {
		open_record(reply, st->rr[st->at]);
		o = run_steps(reply, step);
		if (o != OUT_FAILED && close_record(reply) == OUT_FAILED)
			o = OUT_FAILED;
		if (o == OUT_WAIT)
			return V_WAIT;
		if (o == OUT_FAILED)
			return reply->failed;
		step = st->steps;
	}
	return finish_message(reply) == OUT_FAILED ? reply->failed : V_ANSWERED;
}

static bool has_cname_step(const struct rewrite_state *st)
{
	const struct rewrite_step *s = st->steps;
	while (s != NULL && s->act->kind != REWRITE_ACT_CNAME)
		s = s->next;
	return s != NULL;
}

enum verdict rewrite_reply(struct plugin_inst *self, struct query *q, struct rewrite_state *st)
{
	struct rewrite_reply r;
	r.self = self;
	r.q = q;
	r.st = st;
	r.rr = NULL;
	if (dns_resp_thaw(&q->resp, &q->arena) < 0 ||
	    (has_cname_step(st) && dns_resp_own(&q->resp, &q->arena) < 0) ||
	    list_records(q, st) < 0)
		return rewrite_out_of_memory(q);
	return walk_records(&r, st->steps);
}

/* CNAMEs up to the one looked for, which gets its new target, and then what the look-up found. */
static int replace_answer(struct rewrite_reply *reply, struct dns_resp *found)
{
	struct query *q = reply->q;
	struct dns_resp *resp = &q->resp;
	struct dns_rr *next, *rr = resp->first[DNS_ANSWER];
	char text[DNS_NAME_TEXT_MAX];
	dns_resp_clear(resp, DNS_ANSWER);
	for (bool end = false; rr != NULL && !end; rr = next) {
		next = rr->next;
		if (rr->type != DNS_TYPE_CNAME)
			continue;
		size_t n = rr->rdlen != 0 ? dns_name_to_text(rr->rdata, false, text) : 0;
		end = slice_eq(reply->st->cname_from, (struct slice){ text, n });
		if (end) {
			rr->rdata = reply->st->cname_to;
			rr->rdlen = (uint16_t)dns_name_len(rr->rdata);
		}
		dns_resp_link(resp, DNS_ANSWER, rr);
	}
	for (rr = found->first[DNS_ANSWER]; rr != NULL; rr = rr->next) {
		if (dns_resp_add(resp, &q->arena, DNS_ANSWER, rr) < 0)
			return ERR_SPACE;
	}
	resp->flags = (uint16_t)((resp->flags & ~DNS_FLAG_TC) | (found->flags & DNS_FLAG_TC));
	return 0;
}

enum verdict rewrite_reply_resume(struct plugin_inst *self, struct query *q,
				  struct rewrite_state *st)
{
	struct rewrite_reply r;
	struct query *sub = q->sub;
	r.self = self;
	r.q = q;
	r.st = st;
	r.rr = NULL;
	if (sub == NULL || sub->outcome == V_DROP) {
		query_logf(q, LOG_ERROR, NULL, "upstream lookup returned nil");
	} else if (dns_resp_thaw(&sub->resp, &q->arena) < 0 || replace_answer(&r, &sub->resp) < 0) {
		return rewrite_out_of_memory(q);
	}
	assert(st->step != NULL && st->step->act->kind == REWRITE_ACT_CNAME);
	return walk_records(&r, st->step->next);
}
