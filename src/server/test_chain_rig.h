/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rig of tests of the chain: three plugins (a, b, c) write down every call; what they do is set
 * by each test. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "server/conn/listener.h"
#include "server/conn/listener_test.h"
#include "server/handler.h"
#include "server/query.h"
#include "server/server_state.h"
#include "server/setup.h"
#include "server/slab.h"
#include "server/subquery.h"
#include "server/waiting.h"
#include "server/worker.h"
#include "server/worker_hook.h"
#include "testing/fake_server.h"

typedef enum verdict (*step_fn)(struct plugin_inst *self, struct query *q);

/* What each plugin does; NULL: the plain thing (a and b pass on, c answers). */
static struct script {
	step_fn serve[3], respond[3], resume[3];
	int (*prepare)(struct plugin_inst *self);
	int (*worker_init)(struct plugin_inst *self);
	int (*stream_next)(struct plugin_inst *self, struct query *q);
	bool life; /* write down set-up and tear-down too */
} script;

static char trace[8192];
static struct query *held[64]; /* queries that a test resumes itself */
static unsigned n_held;

static inline unsigned number(const struct plugin_inst *self)
{
	return (unsigned)(self->plugin->name[0] - 'a');
}

static inline void note(const struct plugin_inst *self, const char *what)
{
	size_t n = strlen(trace);
	assert_true(n + 64 < sizeof(trace));
	snprintf(trace + n, sizeof(trace) - n, "%s%s.%s", n != 0 ? " " : "", self->plugin->name,
		 what);
}

static inline void note_life(const struct plugin_inst *self, const char *what)
{
	if (script.life)
		note(self, what);
}

static inline const char *traced(void)
{
	static char copy[sizeof(trace)];
	memcpy(copy, trace, sizeof(trace));
	trace[0] = '\0';
	return copy;
}

/* ---- the plugins ---- */

static inline enum verdict answer(struct plugin_inst *self, struct query *q)
{
	static const uint8_t ip[] = { 192, 0, 2, 1 };
	struct dns_rr rr = { .owner = q->qname.wire,
			     .type = DNS_TYPE_A,
			     .cls = DNS_CLASS_IN,
			     .ttl = 60,
			     .rdata = ip,
			     .rdlen = sizeof(ip) };
	(void)self;
	query_reply(q);
	if (dns_resp_add(&q->resp, &q->arena, DNS_ANSWER, &rr) < 0)
		return query_fail(q, DNS_RCODE_SERVFAIL, "out of query memory");
	return V_ANSWERED;
}

static inline enum verdict next(struct plugin_inst *self, struct query *q)
{
	(void)self;
	(void)q;
	return V_NEXT;
}

static inline enum verdict call(step_fn fn, step_fn plain, struct plugin_inst *self,
				struct query *q)
{
	return fn != NULL ? fn(self, q) : plain(self, q);
}

static inline int t_parse(struct plugin_inst *self, struct setup *s)
{
	(void)s;
	note_life(self, "parse");
	return 0;
}

static inline int t_prepare(struct plugin_inst *self, struct prepare *p)
{
	note_life(self, p->dry ? "prepare(dry)" : "prepare");
	return script.prepare != NULL ? script.prepare(self) : 0;
}

static inline void t_commit(struct plugin_inst *self)
{
	note_life(self, "commit");
}

static inline void t_abort(struct plugin_inst *self)
{
	note_life(self, "abort");
}

static inline void t_teardown(struct plugin_inst *self)
{
	note_life(self, "teardown");
}

static inline int t_worker_init(struct plugin_inst *self, struct worker *w)
{
	(void)w;
	note_life(self, "init");
	return script.worker_init != NULL ? script.worker_init(self) : 0;
}

static inline void t_worker_done(struct plugin_inst *self, struct worker *w)
{
	(void)w;
	note_life(self, "uninit");
}

static inline enum verdict t_serve(struct plugin_inst *self, struct query *q)
{
	unsigned i = number(self);
	note(self, q->is_sub ? "serve(sub)" : "serve");
	return call(script.serve[i], i == 2 ? answer : next, self, q);
}

static inline enum verdict t_respond(struct plugin_inst *self, struct query *q)
{
	note(self, q->is_sub ? "respond(sub)" : "respond");
	return call(script.respond[number(self)], next, self, q);
}

static inline enum verdict t_resume(struct plugin_inst *self, struct query *q)
{
	note(self, q->is_sub ? "resume(sub)" : "resume");
	return call(script.resume[number(self)], next, self, q);
}

static inline void t_done(struct plugin_inst *self, struct query *q)
{
	note(self, q->is_sub ? "done(sub)" : "done");
}

#define TEST_PLUGIN(n)                                                                \
	{                                                                             \
		.name = n, .conf_size = 8, .state_size = 48, .parse = t_parse,        \
		.prepare = t_prepare, .commit = t_commit, .abort = t_abort,           \
		.teardown = t_teardown, .worker_init = t_worker_init,                 \
		.worker_done = t_worker_done, .serve = t_serve, .respond = t_respond, \
		.resume = t_resume, .done = t_done,                                   \
	}
static const struct plugin a_plugin = TEST_PLUGIN("a");
static const struct plugin b_plugin = TEST_PLUGIN("b");
static const struct plugin c_plugin = TEST_PLUGIN("c");

/* For `collect` of a block: its states are used while the query is being routed. */
static inline int route_filter(void *ctx, struct query *q)
{
	struct plugin_inst *self = ctx;
	uint8_t *p = query_state(q, self);
	assert_non_null(p);
	for (size_t i = 0; i < self->plugin->state_size; i++)
		assert_int_equal(p[i], 0);
	memset(p, 0xee, self->plugin->state_size);
	return 0;
}

/* Not a member of the chain: no serve, respond or done. */
static inline int only_parse(struct plugin_inst *self, struct setup *s)
{
	s->conf->view = "never";
	s->conf->filter = route_filter;
	s->conf->filter_ctx = self;
	return 0;
}
static const struct plugin never_plugin = { .name = "never",
					    .parse = only_parse,
					    .state_size = 400 };

static const struct plugin prometheus_like = { .name = "prometheus" };

const struct plugin *const plugin_list[] = { &prometheus_like, &never_plugin, &a_plugin,
					     &b_plugin,	       &c_plugin,     NULL };

#define ABC ". {\n a\n b\n c\n}\n"
#define A_ANSWER                       \
	"NOERROR qr rd\n"              \
	"question example.org. IN A\n" \
	"answer example.org. 60 IN A 192.0.2.1\n"
#define FAILED(rcode) rcode " qr rd\nquestion example.org. IN A\n"

static inline struct fake *start(const char *corefile)
{
	trace[0] = '\0';
	n_held = 0;
	struct fake *f = fake_new(corefile);
	if (f == NULL)
		print_error("%s\n", fake_error());
	return f;
}

static inline int reset_script(void **state)
{
	(void)state;
	script = (struct script){ 0 };
	return 0;
}

static inline const char *ask(struct fake *f)
{
	return fake_ask(f, &(struct fake_ask){ 0 });
}

/* ---- steps for scripts ---- */

static inline enum verdict refuse(struct plugin_inst *self, struct query *q)
{
	(void)self;
	return query_fail(q, DNS_RCODE_REFUSED, NULL);
}

static inline enum verdict drop(struct plugin_inst *self, struct query *q)
{
	(void)self;
	(void)q;
	return V_DROP;
}

static inline enum verdict hold(struct plugin_inst *self, struct query *q)
{
	(void)self;
	held[n_held++] = q;
	return V_WAIT;
}

static inline enum verdict wait_10ms(struct plugin_inst *self, struct query *q)
{
	(void)self;
	query_resume_at(q, query_now(q) + 10 * NS_PER_MS);
	return V_WAIT;
}

static const uint8_t sub_name[] = "\3sub\7example\3org";
static enum sub_kind sub_kind;
static int sub_result;

static inline enum verdict ask_sub(struct plugin_inst *self, struct query *q)
{
	if (q->is_sub) {
		assert_int_equal(query_is_refresh(q, self), sub_kind == SUB_DETACHED);
		return self->plugin == &c_plugin ? answer(self, q) : V_NEXT;
	}
	sub_result = query_sub(q, self, sub_kind, sub_name, DNS_TYPE_A);
	return sub_result < 0 || sub_kind == SUB_DETACHED ? V_NEXT : V_WAIT;
}

static inline enum verdict sub_outcome_is_rcode(struct plugin_inst *self, struct query *q)
{
	(void)self;
	assert_non_null(q->sub);
	return query_fail(q, query_rcode(q->sub), NULL);
}
