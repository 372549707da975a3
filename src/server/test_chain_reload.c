/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a reload does to queries that wait in the chain, and what a failed one leaves behind. */
#include "server/test_chain_rig.h"

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
		T(reload_leaves_waiting_queries_alone), T(waiting_query_asks_its_own_generation),
		T(failed_prepare_changes_nothing),	T(failed_worker_init_changes_nothing),
		T(failed_start_leaves_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
