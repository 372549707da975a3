/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sub-queries: below the asking plugin, through the whole server, detached; their ends and limits. */
#include "server/test_chain_rig.h"

/* Slots taken, without those that are out for receiving. */
static unsigned slots_in_use(struct fake *f)
{
	const struct worker *w = &fake_server(f)->worker[0];
	unsigned n = w->n_used;
	for (unsigned i = 0; i < WORKER_BATCH; i++)
		n -= w->rx_q[i] != NULL;
	return n;
}

static unsigned sub_records;

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

/* ---- limits ---- */

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

int main(void)
{
#define T(fn) cmocka_unit_test_setup(fn, reset_script)
	const struct CMUnitTest tests[] = {
		T(sub_below_runs_the_rest_of_the_chain),
		T(sub_server_runs_the_whole_chain),
		T(sub_server_goes_to_other_blocks_of_its_listener),
		T(sub_server_refused_on_a_listener_with_metrics),
		T(detached_outlives_its_parent),
		T(another_question_below_the_same_in_the_reply),
		T(two_sub_queries_at_once),
		T(parent_gives_up_on_a_sub_query),
		T(sub_query_times_out),
		T(depth_is_limited),
		T(sub_query_has_the_parents_opt),
		T(sub_queries_are_limited_by_slots),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
