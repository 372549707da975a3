/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The walk of a query down and up its chain: order, verdicts, waits and memory. */
#include "server/test_chain_rig.h"

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

/* ---- hooks and streams ---- */

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
		T(hook_runs_at_the_end_of_the_batch),
		T(stream_needs_tcp),
		T(arena_grows_into_blocks_and_ends),
		T(one_piece_beyond_a_block_is_refused),
		T(full_slots_are_servfail),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
