/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The walk of a query down and up its chain: order, verdicts, waits, sub-queries, memory, and what
 * a reload does to queries that wait. Three plugins (a, b, c) write down every call; what they do
 * is set by each test. */
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

static unsigned number(const struct plugin_inst *self)
{
	return (unsigned)(self->plugin->name[0] - 'a');
}

static void note(const struct plugin_inst *self, const char *what)
{
	size_t n = strlen(trace);
	assert_true(n + 64 < sizeof(trace));
	snprintf(trace + n, sizeof(trace) - n, "%s%s.%s", n != 0 ? " " : "", self->plugin->name,
		 what);
}

static void note_life(const struct plugin_inst *self, const char *what)
{
	if (script.life)
		note(self, what);
}

static const char *traced(void)
{
	static char copy[sizeof(trace)];
	memcpy(copy, trace, sizeof(trace));
	trace[0] = '\0';
	return copy;
}

/* ---- the plugins ---- */

static enum verdict answer(struct plugin_inst *self, struct query *q)
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

static enum verdict next(struct plugin_inst *self, struct query *q)
{
	(void)self;
	(void)q;
	return V_NEXT;
}

static enum verdict call(step_fn fn, step_fn plain, struct plugin_inst *self, struct query *q)
{
	return fn != NULL ? fn(self, q) : plain(self, q);
}

static int t_parse(struct plugin_inst *self, struct setup *s)
{
	(void)s;
	note_life(self, "parse");
	return 0;
}

static int t_prepare(struct plugin_inst *self, struct prepare *p)
{
	note_life(self, p->dry ? "prepare(dry)" : "prepare");
	return script.prepare != NULL ? script.prepare(self) : 0;
}

static void t_commit(struct plugin_inst *self)
{
	note_life(self, "commit");
}

static void t_abort(struct plugin_inst *self)
{
	note_life(self, "abort");
}

static void t_teardown(struct plugin_inst *self)
{
	note_life(self, "teardown");
}

static int t_worker_init(struct plugin_inst *self, struct worker *w)
{
	(void)w;
	note_life(self, "init");
	return script.worker_init != NULL ? script.worker_init(self) : 0;
}

static void t_worker_done(struct plugin_inst *self, struct worker *w)
{
	(void)w;
	note_life(self, "uninit");
}

static enum verdict t_serve(struct plugin_inst *self, struct query *q)
{
	unsigned i = number(self);
	note(self, q->is_sub ? "serve(sub)" : "serve");
	return call(script.serve[i], i == 2 ? answer : next, self, q);
}

static enum verdict t_respond(struct plugin_inst *self, struct query *q)
{
	note(self, q->is_sub ? "respond(sub)" : "respond");
	return call(script.respond[number(self)], next, self, q);
}

static enum verdict t_resume(struct plugin_inst *self, struct query *q)
{
	note(self, q->is_sub ? "resume(sub)" : "resume");
	return call(script.resume[number(self)], next, self, q);
}

static void t_done(struct plugin_inst *self, struct query *q)
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
static int route_filter(void *ctx, struct query *q)
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
static int only_parse(struct plugin_inst *self, struct setup *s)
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

static struct fake *start(const char *corefile)
{
	trace[0] = '\0';
	n_held = 0;
	struct fake *f = fake_new(corefile);
	if (f == NULL)
		print_error("%s\n", fake_error());
	return f;
}

static int reset_script(void **state)
{
	(void)state;
	script = (struct script){ 0 };
	return 0;
}

static const char *ask(struct fake *f)
{
	return fake_ask(f, &(struct fake_ask){ 0 });
}

/* Slots taken, without those that are out for receiving. */
static unsigned slots_in_use(struct fake *f)
{
	const struct worker *w = &fake_server(f)->worker[0];
	unsigned n = w->n_used;
	for (unsigned i = 0; i < WORKER_BATCH; i++)
		n -= w->rx_q[i] != NULL;
	return n;
}

/* ---- order and verdicts ---- */

static void goes_down_then_up_then_done(void **state)
{
	(void)state;
	struct fake *f = start(". {\n c\n a\n b\n}\n"); /* the file's order does not matter */
	assert_string_equal(ask(f), A_ANSWER);
	assert_string_equal(traced(), "a.serve b.serve c.serve b.respond a.respond "
				      "c.done b.done a.done");
	assert_int_equal(fake_inflight(f), 0);
	fake_free(f);
}

static enum verdict refuse(struct plugin_inst *self, struct query *q)
{
	(void)self;
	return query_fail(q, DNS_RCODE_REFUSED, NULL);
}

static void those_not_entered_stay_out(void **state)
{
	(void)state;
	script.serve[1] = refuse;
	struct fake *f = start(ABC);
	assert_string_equal(ask(f), FAILED("REFUSED"));
	assert_string_equal(traced(), "a.serve b.serve a.respond b.done a.done");
	fake_free(f);
}

static const char *last_err;

static enum verdict keep_err(struct plugin_inst *self, struct query *q)
{
	(void)self;
	last_err = q->err;
	assert_int_equal(q->outcome, V_FAIL);
	return V_NEXT;
}

static void end_of_chain_is_servfail(void **state)
{
	(void)state;
	script.serve[2] = next;
	script.respond[0] = keep_err;
	struct fake *f = start(ABC);
	assert_string_equal(ask(f), FAILED("SERVFAIL"));
	assert_string_equal(traced(), "a.serve b.serve c.serve c.respond b.respond a.respond "
				      "c.done b.done a.done");
	assert_string_equal(last_err, "plugin/c: no next plugin found");
	fake_free(f);
}

static void respond_turns_failure_into_answer(void **state)
{
	(void)state;
	script.serve[2] = refuse;
	script.respond[1] = answer;
	struct fake *f = start(ABC);
	assert_string_equal(ask(f), A_ANSWER);
	assert_string_equal(traced(), "a.serve b.serve c.serve b.respond a.respond "
				      "c.done b.done a.done");
	fake_free(f);
}

static void respond_turns_answer_into_failure(void **state)
{
	(void)state;
	script.respond[1] = refuse;
	struct fake *f = start(ABC);
	assert_string_equal(ask(f), FAILED("REFUSED"));
	fake_free(f);
}

static enum verdict drop(struct plugin_inst *self, struct query *q)
{
	(void)self;
	(void)q;
	return V_DROP;
}

static void drop_says_nothing_but_is_done(void **state)
{
	(void)state;
	script.serve[1] = drop;
	struct fake *f = start(ABC);
	assert_null(ask(f));
	assert_string_equal(traced(), "a.serve b.serve b.done a.done");
	script.serve[1] = NULL;
	script.respond[0] = drop;
	assert_null(ask(f));
	assert_string_equal(traced(), "a.serve b.serve c.serve b.respond a.respond "
				      "c.done b.done a.done");
	assert_int_equal(fake_inflight(f), 0);
	fake_free(f);
}

/* ---- waiting ---- */

static enum verdict hold(struct plugin_inst *self, struct query *q)
{
	(void)self;
	held[n_held++] = q;
	return V_WAIT;
}

static enum verdict wait_10ms(struct plugin_inst *self, struct query *q)
{
	(void)self;
	query_resume_at(q, query_now(q) + 10 * NS_PER_MS);
	return V_WAIT;
}

static void waits_for_a_timer(void **state)
{
	(void)state;
	script.serve[1] = wait_10ms;
	struct fake *f = start(ABC);
	assert_null(ask(f));
	assert_string_equal(traced(), "a.serve b.serve");
	assert_int_equal(fake_inflight(f), 1);
	fake_advance(f, 9 * NS_PER_MS);
	assert_null(fake_next(f));
	fake_advance(f, NS_PER_MS);
	assert_string_equal(fake_next(f), A_ANSWER);
	assert_string_equal(traced(), "b.resume c.serve b.respond a.respond c.done b.done a.done");
	fake_free(f);
}

static enum verdict resume_then_wait(struct plugin_inst *self, struct query *q)
{
	(void)self;
	query_resume(q);
	return V_WAIT;
}

static void early_resume_is_kept(void **state)
{
	(void)state;
	script.serve[1] = resume_then_wait;
	struct fake *f = start(ABC);
	assert_string_equal(ask(f), A_ANSWER);
	assert_string_equal(traced(), "a.serve b.serve b.resume c.serve b.respond a.respond "
				      "c.done b.done a.done");
	fake_free(f);
}

static void waits_on_the_way_up(void **state)
{
	(void)state;
	script.respond[1] = wait_10ms;
	script.resume[1] = refuse;
	struct fake *f = start(ABC);
	assert_null(ask(f));
	fake_advance(f, 10 * NS_PER_MS);
	assert_string_equal(fake_next(f), FAILED("REFUSED"));
	assert_string_equal(traced(), "a.serve b.serve c.serve b.respond b.resume a.respond "
				      "c.done b.done a.done");
	fake_free(f);
}

static enum verdict hold_for_10ms(struct plugin_inst *self, struct query *q)
{
	query_resume_at(q, query_now(q) + 10 * NS_PER_MS); /* time-out of what it waits for */
	return hold(self, q);
}

/* b waits with a time-out and is resumed in time; c waits longer: b's timer must not wake c. */
static void resumed_in_time_forgets_the_timeout(void **state)
{
	(void)state;
	script.serve[1] = hold_for_10ms;
	script.serve[2] = hold;
	script.resume[2] = answer;
	struct fake *f = start(ABC);
	assert_null(ask(f));
	query_resume(held[0]);
	fake_advance(f, 0);
	assert_string_equal(traced(), "a.serve b.serve b.resume c.serve");
	fake_advance(f, 20 * NS_PER_MS);
	assert_string_equal(traced(), "");
	query_resume(held[1]);
	fake_advance(f, 0);
	assert_string_equal(fake_next(f), A_ANSWER);
	fake_free(f);
}

static enum verdict resume_then_answer(struct plugin_inst *self, struct query *q)
{
	query_resume(q);
	query_resume_at(q, query_now(q) + NS_PER_MS);
	return answer(self, q);
}

/* A resume that nobody waited for is not kept for the next one who waits. */
static void unused_resume_is_forgotten(void **state)
{
	(void)state;
	script.serve[2] = resume_then_answer;
	script.respond[0] = hold;
	struct fake *f = start(ABC);
	assert_null(ask(f));
	fake_advance(f, 10 * NS_PER_MS);
	assert_null(fake_next(f));
	query_resume(held[0]);
	fake_advance(f, 0);
	assert_string_equal(fake_next(f), A_ANSWER);
	fake_free(f);
}

static enum verdict wait_three_times(struct plugin_inst *self, struct query *q)
{
	unsigned *n = query_state(q, self);
	return ++*n < 4 ? wait_10ms(self, q) : V_NEXT;
}

static void state_lives_over_waits(void **state)
{
	(void)state;
	script.serve[1] = script.resume[1] = wait_three_times;
	struct fake *f = start(ABC);
	assert_null(ask(f));
	for (int i = 0; i < 2; i++) {
		fake_advance(f, 10 * NS_PER_MS);
		assert_null(fake_next(f));
	}
	fake_advance(f, 10 * NS_PER_MS);
	assert_string_equal(fake_next(f), A_ANSWER);
	/* The next query in the same slot starts from zero. */
	assert_null(ask(f));
	fake_advance(f, 10 * NS_PER_MS);
	assert_null(fake_next(f));
	fake_advance(f, 10 * NS_PER_MS);
	fake_advance(f, 10 * NS_PER_MS);
	assert_string_equal(fake_next(f), A_ANSWER);
	fake_free(f);
}

static enum verdict check_zero_state(struct plugin_inst *self, struct query *q)
{
	uint8_t *p = query_state(q, self);
	for (size_t i = 0; i < self->plugin->state_size; i++)
		assert_int_equal(p[i], 0);
	memset(p, 0x55, self->plugin->state_size);
	return self->plugin == &c_plugin ? answer(self, q) : V_NEXT;
}

/* A filter may use states before the block is chosen: those of a refused block are not the chosen
 * one's, and a plugin outside of the chain has its own. */
static void states_while_routing_are_apart(void **state)
{
	(void)state;
	script.serve[0] = script.serve[1] = script.serve[2] = check_zero_state;
	struct fake *f = start("example.org {\n never\n a\n}\n"
			       "example.org {\n a\n b\n c\n}\n");
	assert_string_equal(ask(f), A_ANSWER);
	fake_free(f);
}

/* ---- sub-queries ---- */

static const uint8_t sub_name[] = "\3sub\7example\3org";
static enum sub_kind sub_kind;
static int sub_result;
static unsigned sub_records;

static enum verdict ask_sub(struct plugin_inst *self, struct query *q)
{
	if (q->is_sub) {
		assert_int_equal(query_is_refresh(q, self), sub_kind == SUB_DETACHED);
		return self->plugin == &c_plugin ? answer(self, q) : V_NEXT;
	}
	sub_result = query_sub(q, self, sub_kind, sub_name, DNS_TYPE_A);
	return sub_result < 0 || sub_kind == SUB_DETACHED ? V_NEXT : V_WAIT;
}

static enum verdict look_at_sub(struct plugin_inst *self, struct query *q)
{
	(void)self;
	assert_non_null(q->sub);
	assert_int_equal(q->sub->outcome, V_ANSWERED);
	assert_int_equal(q->sub->resp.count[DNS_ANSWER], 1);
	assert_memory_equal(q->sub->resp.first[DNS_ANSWER]->owner, sub_name, sizeof(sub_name));
	assert_int_equal(q->sub->req.qtype, DNS_TYPE_A);
	sub_records++;
	return V_NEXT;
}

static void sub_below_runs_the_rest_of_the_chain(void **state)
{
	(void)state;
	sub_kind = SUB_BELOW;
	script.serve[1] = ask_sub;
	script.resume[1] = look_at_sub;
	script.respond[0] = look_at_sub; /* the sub-query lives as long as its parent */
	sub_records = 0;
	struct fake *f = start(ABC);
	assert_string_equal(ask(f), A_ANSWER);
	assert_int_equal(sub_records, 2);
	assert_string_equal(traced(),
			    "a.serve b.serve c.serve(sub) c.done(sub) b.resume c.serve b.respond "
			    "a.respond c.done b.done a.done");
	assert_int_equal(fake_inflight(f), 0);
	assert_int_equal(slots_in_use(f), 0);
	fake_free(f);
}

static void sub_server_runs_the_whole_chain(void **state)
{
	(void)state;
	sub_kind = SUB_SERVER;
	script.serve[1] = ask_sub;
	script.resume[1] = look_at_sub;
	struct fake *f = start(ABC);
	assert_string_equal(ask(f), A_ANSWER);
	assert_string_equal(traced(),
			    "a.serve b.serve "
			    "a.serve(sub) b.serve(sub) c.serve(sub) b.respond(sub) a.respond(sub) "
			    "c.done(sub) b.done(sub) a.done(sub) "
			    "b.resume c.serve b.respond a.respond c.done b.done a.done");
	fake_free(f);
}

static enum verdict sub_outcome_is_rcode(struct plugin_inst *self, struct query *q)
{
	(void)self;
	assert_non_null(q->sub);
	return query_fail(q, query_rcode(q->sub), NULL);
}

static void sub_server_goes_to_other_blocks_of_its_listener(void **state)
{
	(void)state;
	sub_kind = SUB_SERVER;
	script.serve[1] = ask_sub;
	script.resume[1] = look_at_sub;
	struct fake *f = start("example.org {\n b\n c\n}\n"
			       "sub.example.org {\n a\n c\n}\n"
			       "other.test:54 {\n c\n}\n");
	assert_string_equal(ask(f), A_ANSWER);
	assert_string_equal(traced(), "b.serve a.serve(sub) c.serve(sub) a.respond(sub) "
				      "c.done(sub) a.done(sub) b.resume c.serve b.respond "
				      "c.done b.done");
	fake_free(f);

	/* A zone of another listener is not seen. */
	script.resume[1] = sub_outcome_is_rcode;
	f = start("other.test {\n b\n c\n}\n"
		  "sub.example.org:54 {\n c\n}\n");
	assert_string_equal(fake_ask(f, &(struct fake_ask){ .name = "other.test" }),
			    "REFUSED qr rd\nquestion other.test. IN A\n");
	fake_free(f);
}

static void sub_server_refused_on_a_listener_with_metrics(void **state)
{
	(void)state;
	sub_kind = SUB_SERVER;
	script.serve[1] = ask_sub;
	script.resume[1] = sub_outcome_is_rcode;
	struct fake *f = start("other.test {\n prometheus\n b\n c\n}\n");
	assert_string_equal(fake_ask(f, &(struct fake_ask){ .name = "other.test" }),
			    "REFUSED qr rd\nquestion other.test. IN A\n");
	assert_int_equal(fake_inflight(f), 0);
	fake_free(f);
}

static enum verdict detached_c(struct plugin_inst *self, struct query *q)
{
	return q->is_sub ? hold(self, q) : answer(self, q);
}

static void detached_outlives_its_parent(void **state)
{
	(void)state;
	sub_kind = SUB_DETACHED;
	script.serve[1] = ask_sub;
	script.serve[2] = detached_c;
	struct fake *f = start(ABC);
	assert_string_equal(ask(f), A_ANSWER);
	assert_int_equal(n_held, 1);
	assert_int_equal(fake_inflight(f), 1);
	traced();
	assert_string_equal(ask(f), A_ANSWER); /* its parent's slot is in use again */
	assert_int_equal(n_held, 2);
	traced();
	script.resume[2] = answer;
	query_resume(held[0]);
	query_resume(held[1]);
	fake_advance(f, 0);
	assert_string_equal(traced(), "c.resume(sub) b.respond(sub) c.done(sub) b.done(sub) "
				      "c.resume(sub) b.respond(sub) c.done(sub) b.done(sub)");
	assert_int_equal(fake_inflight(f), 0);
	fake_free(f);
}

static struct worker_hook hook;
static unsigned n_hook;

static void on_hook(struct worker_hook *h)
{
	assert_ptr_equal(h, &hook);
	assert_int_equal(n_held, 3); /* all of the batch are there */
	n_hook++;
	while (n_held > 0)
		query_resume(held[--n_held]);
}

static enum verdict hold_for_hook(struct plugin_inst *self, struct query *q)
{
	if (n_held < 2)
		return hold(self, q);
	worker_hook_arm(q->worker, &hook);
	worker_hook_arm(q->worker, &hook); /* once is enough */
	return hold(self, q);
}

/* A hook runs once for each arming, and not when it was disarmed. */
static void hook_runs_at_the_end_of_the_batch(void **state)
{
	(void)state;
	hook = (struct worker_hook){ .fn = on_hook };
	n_hook = 0;
	script.serve[1] = hold_for_hook;
	struct fake *f = start(ABC);
	assert_null(ask(f));
	assert_null(ask(f));
	assert_string_equal(ask(f), A_ANSWER);
	assert_int_equal(n_hook, 1);
	struct worker *w = fake_server(f)->worker;
	worker_hook_arm(w, &hook);
	worker_hook_disarm(w, &hook);
	worker_hook_disarm(w, &hook);
	fake_advance(f, 0);
	assert_int_equal(n_hook, 1);
	fake_free(f);
}

static enum verdict ask_other(struct plugin_inst *self, struct query *q)
{
	(void)self;
	assert_int_equal(query_ask(q, sub_name, DNS_TYPE_MX, DNS_CLASS_IN), 0);
	return V_NEXT;
}

static enum verdict check_asked(struct plugin_inst *self, struct query *q)
{
	assert_int_equal(q->req.qtype, DNS_TYPE_MX);
	assert_memory_equal(q->req.qname, sub_name, sizeof(sub_name));
	assert_memory_equal(q->qname.wire, sub_name, sizeof(sub_name));
	return answer(self, q);
}

static void another_question_below_the_same_in_the_reply(void **state)
{
	(void)state;
	script.serve[1] = ask_other;
	script.serve[2] = check_asked;
	struct fake *f = start(ABC);
	assert_string_equal(ask(f), "NOERROR qr rd\nquestion example.org. IN A\n"
				    "answer sub.example.org. 60 IN A 192.0.2.1\n");
	fake_free(f);
}

static enum verdict ask_two(struct plugin_inst *self, struct query *q)
{
	if (q->is_sub)
		return V_NEXT;
	assert_int_equal(query_sub(q, self, SUB_BELOW, sub_name, DNS_TYPE_A), 0);
	assert_int_equal(query_sub(q, self, SUB_BELOW, sub_name, DNS_TYPE_AAAA), 0);
	return V_WAIT;
}

static enum verdict both_there(struct plugin_inst *self, struct query *q)
{
	(void)self;
	return q->sub != NULL && q->sub->sub_next != NULL ? V_NEXT : V_WAIT;
}

static void two_sub_queries_at_once(void **state)
{
	(void)state;
	script.serve[1] = ask_two;
	script.resume[1] = both_there;
	struct fake *f = start(ABC);
	assert_string_equal(ask(f), A_ANSWER);
	assert_int_equal(fake_inflight(f), 0);
	assert_int_equal(slots_in_use(f), 0);
	fake_free(f);
}

/* The parent does not wait until the second one is done: it must find no dead parent. */
static void parent_gives_up_on_a_sub_query(void **state)
{
	(void)state;
	script.serve[1] = ask_two;
	script.resume[1] = refuse;
	script.serve[2] = detached_c;
	script.resume[2] = answer;
	struct fake *f = start(ABC);
	assert_null(ask(f));
	assert_int_equal(n_held, 2);
	query_resume(held[0]);
	fake_advance(f, 0);
	assert_string_equal(fake_next(f), FAILED("REFUSED"));
	assert_int_equal(fake_inflight(f), 1);
	script.serve[1] = NULL;
	script.serve[2] = NULL;
	for (int i = 0; i < 3; i++) /* uses the parent's slot again */
		assert_string_equal(ask(f), A_ANSWER);
	query_resume(held[1]);
	fake_advance(f, 0);
	assert_null(fake_next(f));
	assert_int_equal(fake_inflight(f), 0);
	assert_int_equal(slots_in_use(f), 0);
	fake_free(f);
}

static enum verdict ask_sub_with_timeout(struct plugin_inst *self, struct query *q)
{
	if (q->is_sub)
		return V_NEXT;
	assert_int_equal(query_sub(q, self, SUB_BELOW, sub_name, DNS_TYPE_A), 0);
	return wait_10ms(self, q);
}

static enum verdict drop_when_late(struct plugin_inst *self, struct query *q)
{
	assert_null(q->sub);
	return drop(self, q);
}

static void sub_query_times_out(void **state)
{
	(void)state;
	script.serve[1] = ask_sub_with_timeout;
	script.resume[1] = drop_when_late;
	script.serve[2] = hold;
	script.resume[2] = answer;
	struct fake *f = start(ABC);
	assert_null(ask(f));
	fake_advance(f, 10 * NS_PER_MS);
	assert_int_equal(fake_inflight(f), 1);
	query_resume(held[0]);
	fake_advance(f, 0);
	assert_int_equal(fake_inflight(f), 0);
	assert_null(fake_next(f));
	fake_free(f);
}

static unsigned deepest;

static enum verdict ask_deeper(struct plugin_inst *self, struct query *q)
{
	deepest = MAX(deepest, (unsigned)q->depth);
	int r = query_sub(q, self, SUB_SERVER, sub_name, DNS_TYPE_A);
	if (r == 0)
		return V_WAIT;
	assert_int_equal(r, ERR_LIMIT);
	return query_fail(q, DNS_RCODE_REFUSED, NULL);
}

static void depth_is_limited(void **state)
{
	(void)state;
	script.serve[1] = ask_deeper;
	script.resume[1] = sub_outcome_is_rcode;
	deepest = 0;
	struct fake *f = start(ABC);
	assert_string_equal(ask(f), FAILED("REFUSED"));
	assert_int_equal(deepest, QUERY_SUB_DEPTH_MAX);
	assert_int_equal(fake_inflight(f), 0);
	fake_free(f);
}

static enum verdict check_sub_request(struct plugin_inst *self, struct query *q)
{
	if (!q->is_sub)
		return answer(self, q);
	struct dns_option o;
	size_t pos = 0;
	assert_true(q->req.opt.present);
	assert_true(q->req.opt.dnssec_ok);
	assert_int_equal(q->req.opt.udp_size, 1111);
	assert_int_equal(q->req.id, 0x1234);
	assert_int_equal(q->req.flags, DNS_FLAG_RD | DNS_FLAG_CD);
	assert_true(dns_option_next(&q->req.opt, &pos, &o));
	assert_int_equal(o.code, 65001);
	assert_int_equal(o.len, 3);
	assert_memory_equal(o.data, "xyz", 3);
	assert_false(dns_option_next(&q->req.opt, &pos, &o));
	assert_int_equal(dns_get16(q->req.msg + 10), 1); /* the OPT and nothing else */
	return answer(self, q);
}

static enum verdict change_opt(struct plugin_inst *self, struct query *q)
{
	static const uint8_t options[] = { 65001 >> 8, 65001 & 255, 0, 3, 'x', 'y', 'z' };
	(void)self;
	if (!q->is_sub) {
		q->req.opt.udp_size = 1111;
		q->req.opt.options = options;
		q->req.opt.options_len = sizeof(options);
	}
	return V_NEXT;
}

/* The OPT as plugins above have left it, not as it came. */
static void sub_query_has_the_parents_opt(void **state)
{
	(void)state;
	sub_kind = SUB_BELOW;
	script.serve[0] = change_opt;
	script.serve[1] = ask_sub;
	script.serve[2] = check_sub_request;
	struct fake *f = start(ABC);
	static const uint8_t cookie[] = { 0, 10, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8 };
	assert_non_null(fake_ask(f, &(struct fake_ask){ .udp_size = 1232,
							.dnssec_ok = true,
							.flags = DNS_FLAG_RD | DNS_FLAG_CD,
							.options = cookie,
							.options_n = sizeof(cookie) }));
	assert_int_equal(sub_result, 0);
	fake_free(f);
}

static int one_message(struct plugin_inst *self, struct query *q)
{
	answer(self, q);
	return 0;
}

static enum verdict stream(struct plugin_inst *self, struct query *q)
{
	(void)self;
	q->stream_next = one_message;
	return V_STREAM;
}

/* There is nothing to stream to: it fails like any other query, and a waiting parent hears of it.
 */
static void stream_needs_tcp(void **state)
{
	(void)state;
	script.serve[2] = stream;
	struct fake *f = start(ABC);
	assert_string_equal(ask(f), FAILED("SERVFAIL"));
	assert_string_equal(traced(), "a.serve b.serve c.serve b.respond a.respond "
				      "c.done b.done a.done");
	sub_kind = SUB_BELOW;
	script.serve[1] = ask_sub;
	script.resume[1] = sub_outcome_is_rcode;
	assert_string_equal(ask(f), FAILED("SERVFAIL"));
	assert_int_equal(fake_inflight(f), 0);
	fake_free(f);
}

/* ---- memory ---- */

enum { PIECE = 4000 };
static unsigned pieces;

static enum verdict eat(struct plugin_inst *self, struct query *q)
{
	uint8_t *first = NULL;
	pieces = 0;
	for (uint8_t *p; (p = arena_alloc(&q->arena, PIECE)) != NULL; pieces++) {
		memset(p, (int)pieces, PIECE);
		if (first == NULL)
			first = p;
	}
	assert_int_equal(first[PIECE - 1], 0); /* what was handed out before stays */
	return answer(self, q);
}

static void arena_grows_into_blocks_and_ends(void **state)
{
	(void)state;
	script.serve[2] = eat;
	struct fake *f = start(ABC);
	for (int i = 0; i < 3; i++) { /* all is given back after each query */
		/* The arena of the last block still has room for the record, or it has not. */
		assert_non_null(ask(f));
		assert_in_range(pieces, 64 * 65536 / PIECE - 64, 64 * 67000 / PIECE);
	}
	assert_int_equal(fake_server(f)->worker[0].large.n_allocated, SLAB_LARGE_KEPT);
	fake_free(f);
}

static enum verdict too_much(struct plugin_inst *self, struct query *q)
{
	(void)self;
	assert_null(arena_alloc(&q->arena, 128 * 1024));
	return query_fail(q, DNS_RCODE_SERVFAIL, "out of query memory");
}

static void one_piece_beyond_a_block_is_refused(void **state)
{
	(void)state;
	script.serve[2] = too_much;
	struct fake *f = start(ABC);
	assert_string_equal(ask(f), FAILED("SERVFAIL"));
	assert_int_equal(fake_server(f)->worker[0].large.n_allocated, 0);
	fake_free(f);
}

/* One client alone could not have so many waiting. */
static const char *ask_as_client(struct fake *f, unsigned i)
{
	char client[32];
	snprintf(client, sizeof(client), "192.0.2.%u:%u", i % 250, 1024 + i);
	return fake_ask(f, &(struct fake_ask){ .client = client });
}

static void full_slots_are_servfail(void **state)
{
	enum { MAX_WAITING = 100 };
	(void)state;
	script.serve[1] = wait_10ms;
	struct fake *f = start(ABC);
	fake_server(f)->opts.max_waiting = MAX_WAITING;
	waiting_init(&fake_server(f)->worker[0]);
	unsigned waiting = 0;
	while (waiting <= 2 * MAX_WAITING && ask_as_client(f, waiting) == NULL)
		waiting++;
	assert_in_range(waiting, MAX_WAITING, MAX_WAITING + WORKER_BATCH);
	assert_int_equal(fake_inflight(f), waiting);
	assert_string_equal(ask(f), FAILED("SERVFAIL"));
	fake_advance(f, 10 * NS_PER_MS);
	for (unsigned i = 0; i < waiting; i++)
		assert_string_equal(fake_next(f), A_ANSWER);
	assert_null(fake_next(f));
	assert_null(ask(f)); /* there is room again */
	fake_advance(f, 10 * NS_PER_MS);
	assert_int_equal(fake_inflight(f), 0);
	fake_free(f);
}

static enum verdict sub_until_full(struct plugin_inst *self, struct query *q)
{
	if (q->is_sub)
		return V_NEXT;
	int r, n = 0;
	while ((r = query_sub(q, self, SUB_DETACHED, sub_name, DNS_TYPE_A)) == 0)
		n++;
	assert_int_equal(r, ERR_LIMIT);
	assert_in_range(n, 1, 1000);
	return V_NEXT;
}

static void sub_queries_are_limited_by_slots(void **state)
{
	(void)state;
	script.serve[1] = sub_until_full;
	struct fake *f = start(ABC);
	fake_server(f)->opts.max_waiting = 64;
	waiting_init(&fake_server(f)->worker[0]);
	assert_string_equal(ask(f), A_ANSWER);
	assert_int_equal(fake_inflight(f), 0);
	fake_free(f);
}

/* ---- reload ---- */

static void reload_leaves_waiting_queries_alone(void **state)
{
	(void)state;
	script.life = true;
	script.serve[1] = hold;
	struct fake *f = start(ABC);
	assert_string_equal(traced(), "a.parse b.parse c.parse a.prepare b.prepare c.prepare "
				      "a.init b.init c.init a.commit b.commit c.commit");
	assert_null(ask(f));
	assert_null(ask(f));
	traced();
	assert_true(fake_reload(f, ". {\n a\n}\n"));
	assert_string_equal(traced(), "a.parse a.prepare a.init a.commit");
	assert_string_equal(ask(f), FAILED("SERVFAIL")); /* the new one serves */
	traced();
	query_resume(held[0]);
	fake_advance(f, 0);
	assert_string_equal(fake_next(f), A_ANSWER);
	assert_string_equal(traced(), "b.resume c.serve b.respond a.respond c.done b.done a.done");
	query_resume(held[1]);
	fake_advance(f, 0);
	assert_string_equal(fake_next(f), A_ANSWER);
	assert_string_equal(traced(), "b.resume c.serve b.respond a.respond c.done b.done a.done "
				      "c.uninit b.uninit a.uninit c.teardown b.teardown "
				      "a.teardown");
	fake_free(f);
	assert_string_equal(traced(), "a.uninit a.teardown");
}

static enum verdict ask_sub_on_resume(struct plugin_inst *self, struct query *q)
{
	if (q->sub != NULL)
		return sub_outcome_is_rcode(self, q);
	assert_int_equal(query_sub(q, self, SUB_SERVER, sub_name, DNS_TYPE_A), 0);
	return V_WAIT;
}

/* Its listener is gone and so is the route of the new generation: it stays with its own. */
static void waiting_query_asks_its_own_generation(void **state)
{
	(void)state;
	script.serve[1] = hold;
	script.resume[1] = ask_sub_on_resume;
	script.serve[2] = refuse;
	struct fake *f = start("example.org {\n prometheus\n b\n}\nsub.example.org {\n c\n}\n");
	assert_null(ask(f));
	assert_true(fake_reload(f, ".:54 {\n a\n}\n"));
	assert_true(fake_reload(f, ".:55 {\n a\n}\n"));
	query_resume(held[0]);
	fake_advance(f, 0);
	assert_string_equal(fake_next(f), FAILED("REFUSED"));
	assert_null(fake_server(f)->retired);
	assert_null(listener_find(fake_server(f), "dns://:53"));
	assert_null(listener_find(fake_server(f), "dns://:54"));
	fake_free(f);
}

static int fail_b(struct plugin_inst *self)
{
	return self->plugin == &b_plugin ? ERR_LIMIT : 0;
}

static void failed_prepare_changes_nothing(void **state)
{
	(void)state;
	struct fake *f = start(". {\n c\n}\n");
	script.life = true;
	script.prepare = fail_b;
	assert_false(fake_reload(f, ABC));
	assert_string_equal(fake_error(), "Corefile:3:2: b: limit exceeded");
	assert_string_equal(traced(), "a.parse b.parse c.parse a.prepare b.prepare "
				      "a.abort a.teardown");
	assert_string_equal(ask(f), A_ANSWER);
	assert_string_equal(traced(), "c.serve c.done");
	fake_free(f);
	assert_string_equal(traced(), "c.uninit c.teardown");
}

static void failed_worker_init_changes_nothing(void **state)
{
	(void)state;
	struct fake *f = start(". {\n c\n}\n");
	script.life = true;
	script.worker_init = fail_b;
	assert_false(fake_reload(f, ".:54 {\n a\n b\n c\n}\n"));
	assert_string_equal(fake_error(), "a worker cannot start: limit exceeded");
	assert_string_equal(traced(),
			    "a.parse b.parse c.parse a.prepare b.prepare c.prepare a.init b.init "
			    "a.uninit c.abort c.teardown b.abort b.teardown a.abort a.teardown");
	assert_null(listener_find(fake_server(f), "dns://:54"));
	assert_string_equal(ask(f), A_ANSWER);
	fake_free(f);
}

static void failed_start_leaves_nothing(void **state)
{
	(void)state;
	script.life = true;
	script.worker_init = fail_b;
	trace[0] = '\0';
	assert_null(fake_new(ABC));
	assert_string_equal(traced(),
			    "a.parse b.parse c.parse a.prepare b.prepare c.prepare a.init b.init "
			    "a.uninit c.abort c.teardown b.abort b.teardown a.abort a.teardown");
	script.worker_init = NULL;
	script.prepare = fail_b;
	assert_null(fake_new(ABC));
	assert_string_equal(traced(), "a.parse b.parse c.parse a.prepare b.prepare "
				      "a.abort a.teardown");
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup(fn, reset_script)
	const struct CMUnitTest tests[] = {
		T(goes_down_then_up_then_done),
		T(those_not_entered_stay_out),
		T(end_of_chain_is_servfail),
		T(respond_turns_failure_into_answer),
		T(respond_turns_answer_into_failure),
		T(drop_says_nothing_but_is_done),
		T(waits_for_a_timer),
		T(early_resume_is_kept),
		T(waits_on_the_way_up),
		T(resumed_in_time_forgets_the_timeout),
		T(unused_resume_is_forgotten),
		T(state_lives_over_waits),
		T(states_while_routing_are_apart),
		T(sub_below_runs_the_rest_of_the_chain),
		T(sub_server_runs_the_whole_chain),
		T(sub_server_goes_to_other_blocks_of_its_listener),
		T(sub_server_refused_on_a_listener_with_metrics),
		T(detached_outlives_its_parent),
		T(hook_runs_at_the_end_of_the_batch),
		T(another_question_below_the_same_in_the_reply),
		T(two_sub_queries_at_once),
		T(parent_gives_up_on_a_sub_query),
		T(sub_query_times_out),
		T(depth_is_limited),
		T(sub_query_has_the_parents_opt),
		T(stream_needs_tcp),
		T(arena_grows_into_blocks_and_ends),
		T(one_piece_beyond_a_block_is_refused),
		T(full_slots_are_servfail),
		T(sub_queries_are_limited_by_slots),
		T(reload_leaves_waiting_queries_alone),
		T(waiting_query_asks_its_own_generation),
		T(failed_prepare_changes_nothing),
		T(failed_worker_init_changes_nothing),
		T(failed_start_leaves_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
