/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a Corefile to a generation: instances, their order and texts, what blocks tell the server,
 * and the dry run of a check. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "corefile/corefile.h"
#include "server/block.h"
#include "server/generation.h"
#include "server/handler.h"
#include "server/query.h"
#include "server/server_state.h"
#include "server/setup.h"
#include "testing/fake_server.h"

static char trace[1024];
static bool fail_prepare;

static void note(const struct plugin_inst *self, const char *what)
{
	snprintf(trace + strlen(trace), sizeof(trace) - strlen(trace), "%s.%s(%zu) ",
		 self->plugin->name, what, self->block->index);
}

static const char *traced(void)
{
	static char copy[sizeof(trace)];
	memcpy(copy, trace, sizeof(copy));
	trace[0] = '\0';
	return copy;
}

static int t_parse(struct plugin_inst *self, struct setup *s)
{
	note(self, "parse");
	for (size_t i = 0; i < s->n_dir; i++) {
		for (size_t k = 0; k < s->dir[i]->n_body; k++) {
			const struct corefile_dir *d = &s->dir[i]->body[k];
			int64_t n = d->n_arg > 0 ? strtol(d->arg[0].s, NULL, 10) : 0;
			struct block_conf *c = s->conf;
			if (strcmp(d->name.s, "reload") == 0)
				c->reload_ns = n;
			else if (strcmp(d->name.s, "lameduck") == 0)
				c->lameduck_ns = n;
			else if (strcmp(d->name.s, "read") == 0)
				c->timeouts.read_ns = n;
			else if (strcmp(d->name.s, "idle") == 0)
				c->timeouts.idle_ns = n;
			else if (strcmp(d->name.s, "debug") == 0)
				c->debug = true;
			else if (strcmp(d->name.s, "fail") == 0)
				return setup_error(s, d->name.pos, "as told");
		}
	}
	return 0;
}

static int t_prepare(struct plugin_inst *self, struct prepare *p)
{
	note(self, p->dry ? "dry" : "prepare");
	return fail_prepare ? srcerr_set(p->err, self->pos, "not today") : 0;
}

static void t_abort(struct plugin_inst *self)
{
	note(self, "abort");
}

static void t_commit(struct plugin_inst *self)
{
	note(self, "commit");
}

static void t_teardown(struct plugin_inst *self)
{
	note(self, "teardown");
}

/* A task of each instance that uses all others until the first of them is torn down. */
static _Atomic unsigned n_torn_down, n_runs, n_late_runs;

static void use_others(void *ctx)
{
	struct timespec moment = { .tv_nsec = 100000 };
	(void)ctx;
	atomic_fetch_add(&n_runs, 1);
	nanosleep(&moment, NULL);
	atomic_fetch_add(&n_late_runs, atomic_load(&n_torn_down) != 0);
}

static void busy_commit(struct plugin_inst *self)
{
	task_every(&self->tasks, 0, use_others, NULL);
}

static void busy_stop(struct plugin_inst *self)
{
	assert_null(self->tasks.first);
	note(self, "stop");
}

static void busy_teardown(struct plugin_inst *self)
{
	atomic_fetch_add(&n_torn_down, 1);
	note(self, "teardown");
}

static enum verdict t_serve(struct plugin_inst *self, struct query *q)
{
	(void)self;
	(void)q;
	return V_NEXT;
}

#define TEST_PLUGIN(n)                                                               \
	{                                                                            \
		.name = n, .parse = t_parse, .prepare = t_prepare, .abort = t_abort, \
		.commit = t_commit, .teardown = t_teardown, .conf_size = 16          \
	}
static const struct plugin first_plugin = TEST_PLUGIN("first");
static const struct plugin second_plugin = { .name = "second", .parse = t_parse, .serve = t_serve };
static const struct plugin third_plugin = { .name = "third", .serve = t_serve };
static const struct plugin busy_plugin = {
	.name = "busy", .commit = busy_commit, .stop = busy_stop, .teardown = busy_teardown
};
const struct plugin *const plugin_list[] = { &first_plugin, &second_plugin, &third_plugin,
					     &busy_plugin, NULL };

static struct corefile *parse(const char *text)
{
	static const struct corefile_source none;
	struct corefile *cf = NULL;
	struct srcerr err = { 0 };
	assert_int_equal(corefile_parse("Corefile", slice_of(text), &none, &cf, &err), 0);
	return cf;
}

static void plugins_outside_blocks_inside(void **state)
{
	(void)state;
	trace[0] = '\0';
	fail_prepare = false;
	struct fake *f = fake_new("a.test {\n second\n first\n}\nb.test {\n third\n first\n}\n");
	assert_string_equal(traced(),
			    "first.parse(0) first.parse(1) second.parse(0) first.prepare(0) "
			    "first.prepare(1) first.commit(0) first.commit(1) ");
	const struct generation *g = fake_server(f)->gen;
	assert_int_equal(g->n_inst, 4);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(g->inst[i]->id, i);
	assert_int_equal(g->block[0].n_inst, 2);
	assert_int_equal(g->block[0].n_chain, 1); /* `first` handles no queries */
	assert_int_equal(g->block[0].inst[0]->chain_at, UINT32_MAX);
	assert_int_equal(g->block[0].inst[1]->chain_at, 0);
	fake_free(f);
	assert_string_equal(traced(), "first.teardown(1) first.teardown(0) ");
}

static void background_work_ends_before_any_teardown(void **state)
{
	(void)state;
	for (int i = 0; i < 20; i++) {
		struct fake *f = fake_new("a.test {\n busy\n}\nb.test {\n busy\n}\n");
		unsigned before = atomic_load(&n_runs);
		while (atomic_load(&n_runs) < before + 2)
			sched_yield();
		traced();
		fake_free(f);
		assert_string_equal(traced(), "busy.stop(1) busy.stop(0) busy.teardown(1) "
					      "busy.teardown(0) ");
		assert_int_equal(atomic_exchange(&n_torn_down, 0), 2);
		assert_int_equal(atomic_load(&n_late_runs), 0);
	}
}

static void equal_stanzas_have_equal_texts(void **state)
{
	(void)state;
	struct fake *f = fake_new("a {\n first x \"y z\" {\n  debug\n }\n first\n}\n"
				  "b {\n first   x   \"y z\"   {\n\n  debug # hm\n }\n\n first\n}\n"
				  "c {\n first x y z {\n  debug\n }\n first\n}\n"
				  "d {\n first {\n }\n}\ne {\n first\n}\n");
	const struct generation *g = fake_server(f)->gen;
	const char *text[5];
	for (size_t i = 0; i < 5; i++)
		text[i] = g->block[i].inst[0]->stanza;
	assert_string_equal(text[0], text[1]);
	assert_string_not_equal(text[0], text[2]);
	assert_int_equal(g->block[0].inst[0]->pos.line, 2);
	assert_int_equal(g->block[0].n_inst, 1); /* both stanzas are one instance */
	fake_free(f);
}

static void blocks_are_collected(void **state)
{
	int64_t interval, jitter;
	CLEANUP(strbuf_done) struct strbuf shown = STRBUF_INIT;
	(void)state;
	struct fake *f = fake_new("a:53 {\n first {\n lameduck 7\n reload 1\n read 3\n }\n}\n"
				  "b:53 c:54 {\n first {\n lameduck 5\n reload 2\n idle 4\n }\n}\n"
				  "d:54 {\n first {\n debug\n }\n}\n");
	struct server *s = fake_server(f);
	server_reload_interval(s, &interval, &jitter);
	assert_int_equal(interval, 2); /* the last one */
	assert_int_equal(server_lameduck_ns(s), 7);
	assert_true(s->gen->debug);
	assert_int_equal(s->gen->n_route, 2);
	assert_int_equal(s->gen->route[0]->timeouts.read_ns, 3); /* of one listener, all blocks */
	assert_int_equal(s->gen->route[0]->timeouts.idle_ns, 4);
	assert_int_equal(s->gen->route[1]->timeouts.read_ns, 0);
	assert_int_equal(s->gen->route[1]->timeouts.idle_ns, 4);
	server_print_zones(s, &shown);
	assert_string_equal(shown.s, "a.:53\nb.:53\nc.:54\nd.:54\n");
	fake_free(f);
}

static void check_is_dry(void **state)
{
	struct server_opts o = { 0 };
	struct srcerr err = { 0 };
	(void)state;
	trace[0] = '\0';
	fail_prepare = false;
	assert_int_equal(server_check(&o, parse("a {\n first\n}\nb {\n first\n}\n"), &err), 0);
	assert_string_equal(traced(),
			    "first.parse(0) first.parse(1) first.dry(0) first.dry(1) "
			    "first.abort(1) first.teardown(1) first.abort(0) first.teardown(0) ");
	fail_prepare = true;
	assert_true(server_check(&o, parse("a {\n first\n}\n"), &err) < 0);
	assert_string_equal(err.text, "not today");
	assert_string_equal(traced(), "first.parse(0) first.dry(0) ");
	assert_true(server_check(&o, parse("a {\n first {\n  fail\n }\n}\n"), &err) < 0);
	assert_string_equal(err.text, "as told");
	assert_int_equal(err.pos.line, 3);
	assert_string_equal(traced(), "first.parse(0) ");
	fail_prepare = false;
}

static void explain(const char *name, struct strbuf *out)
{
	strbuf_addf(out, "no '%s' here", name);
}

static void unknown_plugins_are_explained(void **state)
{
	struct server_opts o = { .explain = explain };
	struct srcerr err = { 0 };
	(void)state;
	assert_true(server_check(&o, parse("a {\n first\n  nosuch x\n}\n"), &err) < 0);
	assert_string_equal(err.text, "no 'nosuch' here");
	assert_int_equal(err.pos.line, 3);
	assert_int_equal(err.pos.col, 3);
	/* In a block without a zone, too, of which nothing else is read. */
	assert_true(server_check(&o, parse("{ a\n first\n}\nb {\n first\n}\n"), &err) < 0);
	assert_string_equal(err.text, "no 'a' here");
	assert_int_equal(err.pos.line, 1);
	assert_int_equal(server_check(&o, parse("{\n first {\n  fail\n }\n}\n"), &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plugins_outside_blocks_inside),
		cmocka_unit_test(background_work_ends_before_any_teardown),
		cmocka_unit_test(equal_stanzas_have_equal_texts),
		cmocka_unit_test(blocks_are_collected),
		cmocka_unit_test(check_is_dry),
		cmocka_unit_test(unknown_plugins_are_explained),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
