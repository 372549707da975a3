/* SPDX-License-Identifier: GPL-3.0-or-later */
/* rewrite: changes requests on their way down the chain and the replies to them on their way up. */
#include "base/err.h"
#include "plugin/rewrite/compile.h"
#include "plugin/rewrite/edns.h"
#include "plugin/rewrite/index.h"
#include "plugin/rewrite/name.h"
#include "plugin/rewrite/parse.h"
#include "plugin/rewrite/reply.h"
#include "plugin/rewrite/rewrite_priv.h"

static int rewrite_parse(struct plugin_inst *self, struct setup *setup)
{
	return rewrite_parse_stanzas(setup, self->conf);
}

static int rewrite_prepare(struct plugin_inst *self, struct prepare *prepare)
{
	return rewrite_compile(self->conf, prepare->err);
}

static void rewrite_teardown(struct plugin_inst *self)
{
	rewrite_release(self->conf);
}

/* A rule failed: the question is again the one that was asked, for those who log it. */
static enum verdict fail_run(struct rewrite_run *run, const struct dns_request *asked)
{
	struct query *q = run->q;
	if (query_ask(q, asked->qname, asked->qtype, asked->qclass) < 0 ||
	    rewrite_edns_commit(run) < 0)
		return rewrite_out_of_memory(q);
	return run->failed;
}

static enum verdict keep_steps(struct plugin_inst *self, struct rewrite_run *run)
{
	struct rewrite_state *st = query_state(run->q, self);
	if (st == NULL)
		return rewrite_out_of_memory(run->q);
	st->steps = run->steps;
	st->active = true;
	return V_NEXT;
}

static enum verdict rewrite_serve(struct plugin_inst *self, struct query *q)
{
	const struct rewrite_rule *rule;
	const struct dns_request asked = q->req;
	struct rewrite_run run;
	bool stopped = false;
	run.q = q;
	run.conf = self->conf;
	run.steps = NULL;
	run.options = NULL;
	run.has_text = false;
	rewrite_index_start(&run);
	while (!stopped && (rule = rewrite_index_next(&run)) != NULL) {
		enum rewrite_result r = rule->apply(rule, &run);
		if (r == REWRITE_FAILED)
			return fail_run(&run, &asked);
		stopped = r == REWRITE_DONE && !rule->go_on;
	}
	if (rewrite_edns_commit(&run) < 0)
		return rewrite_out_of_memory(q);
	return stopped || run.steps != NULL ? keep_steps(self, &run) : V_NEXT;
}

/* What the plugins below left to the server becomes a reply here, so that rules can change it. */
static void reply_to_failure(struct query *q)
{
	uint16_t rcode = q->rcode;
	query_reply(q);
	q->resp.rcode = rcode;
	query_reply_opt(q);
	q->rcode = DNS_RCODE_NOERROR; /* as CoreDNS's `errors` then logs */
}

static enum verdict rewrite_respond(struct plugin_inst *self, struct query *q)
{
	struct rewrite_state *st = query_state_get(q, self);
	if (LIKELY(st == NULL || !st->active))
		return V_NEXT;
	if (q->outcome == V_FAIL)
		reply_to_failure(q);
	return st->steps != NULL ? rewrite_reply(self, q, st) : V_ANSWERED;
}

static enum verdict rewrite_resume(struct plugin_inst *self, struct query *q)
{
	return rewrite_reply_resume(self, q, query_state_get(q, self));
}

const struct plugin rewrite_plugin = {
	.name = "rewrite",
	.renames = true,
	.conf_size = sizeof(struct rewrite_conf),
	.state_size = sizeof(struct rewrite_state),
	.parse = rewrite_parse,
	.prepare = rewrite_prepare,
	.teardown = rewrite_teardown,
	.serve = rewrite_serve,
	.respond = rewrite_respond,
	.resume = rewrite_resume,
};
