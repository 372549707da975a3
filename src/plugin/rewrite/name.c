/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Applies rules to the question: its name, type or class is replaced, and actions for the reply are
 * collected. */
#include "plugin/rewrite/name.h"

#include <string.h>

#include "base/err.h"
#include "plugin/rewrite/index.h"
#include "plugin/rewrite/match.h"

enum verdict rewrite_out_of_memory(struct query *q)
{
	return query_fail(q, DNS_RCODE_SERVFAIL, "out of query memory");
}

enum rewrite_result rewrite_failed(struct rewrite_run *run, enum verdict verdict)
{
	run->failed = verdict;
	return REWRITE_FAILED;
}

static enum rewrite_result no_memory(struct rewrite_run *run)
{
	return rewrite_failed(run, rewrite_out_of_memory(run->q));
}

/* The name that is asked now, in lower case. */
static struct slice current_name(struct rewrite_run *run)
{
	if (!run->has_text) {
		run->text_n = dns_name_to_text(run->q->qname.wire, false, run->text);
		run->has_text = true;
	}
	return (struct slice){ run->text, run->text_n };
}

enum rewrite_result rewrite_push(struct rewrite_run *run, const struct rewrite_action *act)
{
	struct rewrite_step *s = arena_alloc(&run->q->arena, sizeof(*s));
	if (s == NULL)
		return no_memory(run);
	*s = (struct rewrite_step){ .next = run->steps, .act = act };
	run->steps = s;
	return REWRITE_DONE;
}

static enum rewrite_result push_actions(struct rewrite_run *run, const struct rewrite_rule *rule)
{
	enum rewrite_result res = REWRITE_DONE;
	for (size_t i = 0; i < rule->n_actions && res == REWRITE_DONE; i++)
		res = rewrite_push(run, &rule->action[i]);
	return res;
}

static enum rewrite_result ask_name(struct rewrite_run *run, const uint8_t *name, uint16_t qtype,
				    uint16_t qclass)
{
	if (query_ask(run->q, name, qtype, qclass) < 0)
		return no_memory(run);
	run->has_text = false;
	rewrite_index_renamed(run);
	return REWRITE_DONE;
}

/* `answer auto`: what is asked from now on becomes again what was asked before. */
static enum rewrite_result push_remap(struct rewrite_run *run, struct slice now,
				      const uint8_t *wire)
{
	struct arena *a = &run->q->arena;
	struct slice before = current_name(run);
	struct rewrite_action *act = arena_calloc(a, 2 * sizeof(*act));
	const char *from = arena_memdup(a, now.p, now.n);
	const char *to = arena_memdup(a, before.p, before.n);
	const uint8_t *from_wire = arena_memdup(a, wire, dns_name_len(wire));
	const uint8_t *to_wire = arena_memdup(a, run->q->qname.wire, run->q->qname.len);
	if (act == NULL || from == NULL || to == NULL || from_wire == NULL || to_wire == NULL)
		return no_memory(run);
	act[0] = (struct rewrite_action){ .kind = REWRITE_ACT_REMAP,
					  .from = { from, now.n },
					  .to = { to, before.n },
					  .from_wire = from_wire,
					  .to_wire = to_wire };
	act[1] = act[0];
	act[1].value = true;
	enum rewrite_result res = rewrite_push(run, &act[0]);
	return res == REWRITE_DONE ? rewrite_push(run, &act[1]) : res;
}

static enum rewrite_result invalid_name(struct rewrite_run *run, struct slice name)
{
	return rewrite_failed(run, query_failf(run->q, DNS_RCODE_SERVFAIL,
					       "invalid name after rewrite: %.*s",
					       (int)MIN(name.n, (size_t)REWRITE_TEXT_MAX), name.p));
}

/* The name now is `text`. */
static enum rewrite_result rename_to(const struct rewrite_rule *rule, struct rewrite_run *run,
				     const struct rewrite_text *text)
{
	uint8_t wire[DNS_NAME_MAX];
	struct query *q = run->q;
	struct slice name = rewrite_text_slice(text);
	if (text->too_long || dns_name_from_text(name, wire) < 0)
		return invalid_name(run, name);
	enum rewrite_result res = REWRITE_DONE;
	if (rule->automatic)
		res = push_remap(run, name, wire);
	if (res == REWRITE_DONE)
		res = ask_name(run, wire, q->req.qtype, q->req.qclass);
	return res == REWRITE_DONE ? push_actions(run, rule) : res;
}

enum rewrite_result rewrite_apply_name(const struct rewrite_rule *rule, struct rewrite_run *run)
{
	struct rewrite_text text;
	struct query *q = run->q;
	if (!rewrite_matcher_may(&rule->match, &q->qname))
		return REWRITE_IGNORED;
	if (rule->match.how == REWRITE_EXACT) {
		if (rule->to_wire == NULL)
			return invalid_name(run, rule->to);
		enum rewrite_result res = ask_name(run, rule->to_wire, q->req.qtype, q->req.qclass);
		return res == REWRITE_DONE ? push_actions(run, rule) : res;
	}
	if (!rewrite_replace(&rule->match, rule->to, q, current_name(run), &text))
		return REWRITE_IGNORED;
	return rename_to(rule, run, &text);
}

/* False when a label has no value. */
static bool fill_parts(const struct rewrite_rule *rule, struct query *q, struct rewrite_text *text)
{
	rewrite_text_set(text, (struct slice){ NULL, 0 });
	for (size_t i = 0; i < rule->n_parts; i++) {
		const struct rewrite_part *p = &rule->part[i];
		struct slice s = p->literal;
		if (p->group >= 0)
			s = regex_group(query_regex(q), (unsigned)p->group);
		if (p->label.p != NULL) {
			s = query_meta_get(q, p->label);
			if (s.n == 0)
				return false;
		}
		size_t at = text->n;
		rewrite_text_add(text, s);
		for (; at < text->n; at++)
			text->s[at] = ascii_lower(text->s[at]);
	}
	return true;
}

enum rewrite_result rewrite_apply_metadata(const struct rewrite_rule *rule, struct rewrite_run *run)
{
	struct rewrite_text text;
	if (!rewrite_matcher_may(&rule->match, &run->q->qname))
		return REWRITE_IGNORED;
	if (!rewrite_matcher_hits(&rule->match, run->q, current_name(run)) ||
	    !fill_parts(rule, run->q, &text))
		return REWRITE_IGNORED;
	return rename_to(rule, run, &text);
}

enum rewrite_result rewrite_apply_match(const struct rewrite_rule *rule, struct rewrite_run *run)
{
	if (!rewrite_matcher_may(&rule->match, &run->q->qname))
		return REWRITE_IGNORED;
	if (rule->match.how != REWRITE_EXACT &&
	    !rewrite_matcher_hits(&rule->match, run->q, current_name(run)))
		return REWRITE_IGNORED;
	return push_actions(run, rule);
}

enum rewrite_result rewrite_apply_always(const struct rewrite_rule *rule, struct rewrite_run *run)
{
	return push_actions(run, rule);
}

enum rewrite_result rewrite_apply_never(const struct rewrite_rule *rule, struct rewrite_run *run)
{
	(void)rule;
	(void)run;
	return REWRITE_IGNORED;
}

enum rewrite_result rewrite_apply_type(const struct rewrite_rule *rule, struct rewrite_run *run)
{
	const struct dns_request *req = &run->q->req;
	if (req->qtype != rule->code_from)
		return REWRITE_IGNORED;
	return ask_name(run, req->qname, rule->code_to, req->qclass);
}

enum rewrite_result rewrite_apply_class(const struct rewrite_rule *rule, struct rewrite_run *run)
{
	const struct dns_request *req = &run->q->req;
	if (req->qclass != rule->code_from)
		return REWRITE_IGNORED;
	return ask_name(run, req->qname, req->qtype, rule->code_to);
}
