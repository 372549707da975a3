/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Answering: the first rule whose zone, class and type fit decides by its patterns and conditions;
 * its records are made one by one, with a wait where a CNAME's target is looked up. */
#include "plugin/template/serve.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/metrics/metrics.h"
#include "plugin/shared/exprenv.h"
#include "plugin/template/count.h"
#include "plugin/template/data.h"
#include "plugin/template/record.h"
#include "server/subquery.h"

enum outcome { HIT, MISS, FAIL };

int template_need_name(struct template_run *run)
{
	if (run->name.p == NULL)
		run->name = query_name_text(run->q);
	if (run->name.n != 0)
		return 0;
	run->name = (struct slice){ NULL, 0 };
	return ERR_SPACE;
}

static bool covers_query(const struct dns_zoneset *zs, const struct query *q)
{
	return zs != NULL && dns_zoneset_longest(zs, &q->qname, 0, NULL) != NULL;
}

static enum outcome outcome_of_mismatch(const struct template_run *run)
{
	const struct template_rule *rule = run->rule;
	return rule->fall.on && (rule->fall.all || covers_query(rule->fall_set, run->q)) ? MISS
											 : FAIL;
}

/* Groups outlive the scratch, which expressions and other queries use too. */
static int keep_groups(struct template_run *run, const struct template_matcher *matcher)
{
	struct slice *g = arena_alloc(&run->q->arena, matcher->n_groups * sizeof(*g));
	if (g == NULL)
		return ERR_SPACE;
	run->group = g;
	if (matcher->re == NULL) {
		g[0] = run->name;
		return 0;
	}
	const struct regex_scratch *s = query_regex(run->q);
	for (unsigned i = 0; i < matcher->n_groups; i++) {
		g[i] = regex_group(s, i);
		if (g[i].p == NULL)
			g[i] = SLICE("");
	}
	return 0;
}

/* A rule with neither patterns nor a use of the name never asks for its text. */
static bool is_plain(const struct template_rule *rule)
{
	return rule->n_matcher == 1 && rule->matcher[0].re == NULL && rule->n_cond == 0;
}

static enum outcome match_name(struct template_run *run)
{
	const struct template_rule *rule = run->rule;
	if (template_need_name(run) < 0)
		return FAIL;
	for (run->matcher = 0; run->matcher < rule->n_matcher; run->matcher++) {
		const struct template_matcher *m = &rule->matcher[run->matcher];
		if (m->re == NULL || regex_match(m->re, query_regex(run->q), run->name))
			return keep_groups(run, m) == 0 ? HIT : FAIL;
	}
	return outcome_of_mismatch(run);
}

static struct slice env_group(const void *ctx, struct slice key)
{
	return template_group(ctx, key);
}

/* All variables come before all conditions, wherever they stand. */
static enum outcome check_conds(struct template_run *run)
{
	const struct template_rule *rule = run->rule;
	struct exprenv env = { .q = run->q, .group = env_group, .group_ctx = run };
	struct expr_value *var = arena_alloc(&run->q->arena, rule->n_var * sizeof(*var));
	if (var == NULL)
		return FAIL;
	run->var = var;
	for (size_t i = 0, n = 0; i < rule->n_cond; i++) {
		if (rule->cond[i].name != NULL &&
		    exprenv_eval(rule->cond[i].expr, &env, var, &var[n++]) < 0)
			return FAIL;
	}
	for (size_t i = 0; i < rule->n_cond; i++) {
		struct expr_value v;
		if (rule->cond[i].name != NULL)
			continue;
		if (exprenv_eval(rule->cond[i].expr, &env, var, &v) < 0)
			return FAIL;
		if (!exprenv_is_true(&v))
			return outcome_of_mismatch(run);
	}
	return HIT;
}

static bool matches_number(uint16_t of_rule, uint16_t of_query, uint16_t any)
{
	return of_rule == of_query || of_rule == any || of_query == any;
}

/* Can a rule be for this type? Asked first: it spares most queries the look for their zone. */
static bool may_fit(const struct template_conf *conf, uint16_t type)
{
	return conf->any_type || type == DNS_TYPE_ANY ||
	       (type < TEMPLATE_LOW_TYPES && (conf->types[type / 64] >> type % 64 & 1) != 0);
}

static enum outcome try_rule(struct template_run *run)
{
	const struct template_rule *rule = run->rule;
	const struct query *q = run->q;
	if (!matches_number(rule->type, q->req.qtype, DNS_TYPE_ANY) ||
	    !matches_number(rule->cls, q->req.qclass, DNS_CLASS_ANY) ||
	    covers_query(rule->except_set, q))
		return MISS;
	if (is_plain(rule))
		return HIT;
	enum outcome o = match_name(run);
	return o == HIT && rule->n_cond != 0 ? check_conds(run) : o;
}

/* Records that are not ready at load may use the name and its group 0. */
static int need_groups(struct template_run *run, const struct template_record *rec)
{
	if (run->group != NULL || rec->form == FORM_WIRE)
		return 0;
	int r = template_need_name(run);
	return r < 0 ? r : keep_groups(run, &run->rule->matcher[0]);
}

static bool is_chased(const struct query *q, const struct template_record *rec,
		      const struct dns_rr *rr)
{
	return rec->section == DNS_ANSWER && rr->type == DNS_TYPE_CNAME &&
	       (q->req.qtype == DNS_TYPE_A || q->req.qtype == DNS_TYPE_AAAA);
}

/* Starts the look-up of a CNAME's target; false: goes on without. */
static bool start_chase(struct template_run *run, const struct dns_rr *rr)
{
	struct query *q = run->q;
	struct template_run *kept = query_state(q, run->self);
	if (kept == NULL || query_sub(q, run->self, SUB_SERVER, rr->rdata, q->req.qtype) < 0)
		return false;
	*kept = *run;
	return true;
}

static enum verdict finish_answer(struct template_run *run)
{
	struct query *q = run->q;
	const struct template_rule *rule = run->rule;
	if (rule->has_ede && dns_resp_ede(&q->resp, &q->arena, rule->ede, rule->ede_text) < 0)
		return query_fail(q, DNS_RCODE_SERVFAIL, "out of query memory");
	/* The upper bits of an extended code travel in OPT; CoreDNS then sends nothing. */
	if (rule->rcode > 0xf && !rule->has_ede && !q->req.opt.present)
		return query_fail(q, DNS_RCODE_SERVFAIL, NULL);
	template_count_answer(run);
	return V_ANSWERED;
}

/* OP-40: words that people look for in the log; at the end, so that patterns of `consolidate` that
 * were written for the cause still fit. */
static enum verdict fail_template(struct query *q, const char *why)
{
	const char *text = arena_printf(&q->arena, "%s (template error)", why);
	return query_fail(q, DNS_RCODE_SERVFAIL, text != NULL ? text : "template error");
}

/* Makes the records from run->at on. */
static enum verdict make_records(struct template_run *run)
{
	struct query *q = run->q;
	const struct template_rule *rule = run->rule;
	while (run->at < rule->n_record) {
		const struct template_record *rec = &rule->record[run->at++];
		const char *why = "out of query memory";
		struct dns_rr *rr;
		if (need_groups(run, rec) < 0 || template_record_make(run, rec, &rr, &why) < 0)
			return fail_template(q, why);
		dns_resp_link(&q->resp, rec->section, rr);
		if (UNLIKELY(is_chased(q, rec, rr)) && start_chase(run, rr))
			return V_WAIT;
	}
	return finish_answer(run);
}

static enum verdict answer_query(struct template_run *run)
{
	struct query *q = run->q;
	template_count_match(run);
	if (run->rule->rcode == DNS_RCODE_SERVFAIL) {
		template_count_answer(run);
		return query_fail(q, DNS_RCODE_SERVFAIL, NULL);
	}
	query_reply(q);
	q->resp.flags |= DNS_FLAG_AA;
	q->resp.rcode = run->rule->rcode;
	return make_records(run);
}

enum verdict template_serve(struct plugin_inst *self, struct query *q)
{
	const struct template_conf *c = self->conf;
	struct dns_zoneset_iter it;
	const struct dns_zone_entry *e;
	if (!may_fit(c, q->req.qtype))
		return V_NEXT;
	dns_zoneset_iter(&it, c->zones, &q->qname);
	if (it.n == 0)
		return V_NEXT;
	struct template_run run = { .self = self, .q = q };
	while ((e = dns_zoneset_next(&it)) != NULL) {
		run.zone = e->value;
		run.rule = run.zone->rule;
		run.matcher = 0;
		run.group = NULL;
		enum outcome o = try_rule(&run);
		if (o == HIT)
			return answer_query(&run);
		if (o == FAIL)
			return query_fail(q, DNS_RCODE_SERVFAIL, NULL);
	}
	return V_NEXT;
}

/* The target's record may be shared data, which does not outlast the next wait. */
static int append_copy(struct query *q, const struct dns_rr *rr)
{
	struct dns_rr copy = *rr;
	copy.owner = arena_memdup(&q->arena, rr->owner, rr->owner_len);
	copy.rdata = arena_memdup(&q->arena, rr->rdata, rr->rdlen);
	if (copy.owner == NULL || copy.rdata == NULL)
		return ERR_SPACE;
	return dns_resp_add(&q->resp, &q->arena, DNS_ANSWER, &copy);
}

/* The target's answer is added; that there is none is no failure of ours. */
static int append_answer(struct query *q, struct query *sub)
{
	if (sub == NULL || !sub->written || dns_resp_thaw(&sub->resp, &sub->arena) < 0)
		return 0;
	q->resp.flags =
		(uint16_t)((q->resp.flags & ~DNS_FLAG_TC) | (sub->resp.flags & DNS_FLAG_TC));
	DNS_RR_FOREACH(rr, &sub->resp, DNS_ANSWER)
	{
		if (append_copy(q, rr) < 0)
			return ERR_SPACE;
	}
	return 0;
}

enum verdict template_resume(struct plugin_inst *self, struct query *q)
{
	struct template_run *run = query_state(q, self);
	if (append_answer(q, q->sub) < 0)
		return query_fail(q, DNS_RCODE_SERVFAIL, "out of query memory");
	return make_records(run);
}

void template_worker_done(struct plugin_inst *self, struct worker *worker)
{
	free(self->worker_data[worker_slot(worker)]);
	self->worker_data[worker_slot(worker)] = NULL;
}
