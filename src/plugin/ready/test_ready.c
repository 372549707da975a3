/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ready: who is asked, how long, and what the page says. The chain here is `ready` with two plugins
 * that are ready when the test says so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "corefile/corefile.h"
#include "server/config/hash.h"
#include "server/server.h"
#include "server/setup.h"
#include "testing/fake_http.h"
#include "testing/fake_server.h"

/* `slow N` and `alpha N` are ready when is_ready[N]. */
static bool is_ready[4];
static unsigned asked[4];
static uint16_t ask_at_teardown; /* port, 0: do not */
static uint16_t ask_at_prepare;	 /* likewise */
static char page_at_prepare[64]; /* status and body */

static int number_parse(struct plugin_inst *self, struct setup *s)
{
	*(unsigned *)self->conf = (unsigned)(s->dir[0]->arg[0].s[0] - '0');
	return 0;
}

static int number_prepare(struct plugin_inst *self, struct prepare *p)
{
	unsigned status = 0;
	(void)self;
	if (ask_at_prepare == 0 || p->dry)
		return 0;
	CLEANUP(freep) char *body = http_fake_get(ask_at_prepare, "/ready", &status);
	snprintf(page_at_prepare, sizeof(page_at_prepare), "%u %s", status,
		 body != NULL ? body : "");
	return 0;
}

static bool number_ready(struct plugin_inst *self)
{
	unsigned i = *(const unsigned *)self->conf;
	asked[i]++;
	return is_ready[i];
}

static void number_teardown(struct plugin_inst *self)
{
	unsigned status = 0;
	(void)self;
	if (ask_at_teardown != 0)
		free(http_fake_get(ask_at_teardown, "/ready", &status));
}

#define NUMBERED(text)                                                              \
	{                                                                           \
		.name = text, .conf_size = sizeof(unsigned), .parse = number_parse, \
		.prepare = number_prepare, .teardown = number_teardown,             \
		.ops = {.ready = number_ready }                                     \
	}

extern const struct plugin ready_plugin;
static const struct plugin slow_plugin = NUMBERED("slow");
static const struct plugin mute_plugin = { .name = "mute",
					   .conf_size = sizeof(unsigned),
					   .parse = number_parse,
					   .prepare = number_prepare };
static const struct plugin alpha_plugin = NUMBERED("alpha");
const struct plugin *const plugin_list[] = { &ready_plugin, &slow_plugin, &alpha_plugin,
					     &mute_plugin, NULL };

static uint16_t port;
static int port_fd;

static int take_port(void **state)
{
	(void)state;
	memset(is_ready, 0, sizeof(is_ready));
	memset(asked, 0, sizeof(asked));
	port_fd = http_fake_port(&port);
	return 0;
}

static int leave_port(void **state)
{
	(void)state;
	close(port_fd);
	return 0;
}

static const char *corefile(const char *text)
{
	return http_fake_text(text, port);
}

static void assert_page(unsigned status, const char *body)
{
	unsigned got = 0;
	CLEANUP(freep) char *text = http_fake_get(port, "/ready", &got);
	assert_non_null(text);
	assert_string_equal(text, body);
	assert_int_equal(got, status);
}

static struct fake *start(const char *text)
{
	struct fake *f = fake_new(corefile(text));
	assert_non_null(f);
	return f;
}

static void waits_for_the_blocks_that_list_it(void **state)
{
	(void)state;
	struct fake *f = start(". {\n ready PORT\n slow 0\n}\n"
			       "org {\n ready PORT\n alpha 1\n}\n"
			       "net {\n alpha 2\n}\n");
	assert_page(503, "alpha,slow");
	assert_string_equal(fake_log(f),
			    "[INFO] plugin/ready: Plugins not ready: \"alpha,slow\"\n");
	is_ready[0] = true;
	assert_page(503, "alpha");
	is_ready[1] = true;
	assert_page(200, "OK");
	assert_int_equal(asked[2], 0);
	/* Once ready is ready for good, and is not asked again. */
	is_ready[0] = false;
	assert_page(200, "OK");
	assert_int_equal(asked[0], 2);
	fake_free(f);
}

/* Plugins may wait in `prepare`, when the page is served already: nobody answers queries then. */
static void not_ready_before_the_first_generation(void **state)
{
	static const struct {
		const char *text, *page;
	} rows[] = {
		{ ". {\n ready PORT\n slow 0\n}\n", "503 slow" },
		{ ". {\n ready PORT\n slow 0\n alpha 1\n}\n", "503 alpha,slow" },
		{ ". {\n ready PORT\n mute 0\n}\n", "503 Starting up" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		is_ready[0] = is_ready[1] = true;
		ask_at_prepare = port;
		struct fake *f = start(rows[i].text);
		assert_string_equal(page_at_prepare, rows[i].page);
		assert_page(200, "OK");
		/* During a reload the generation in force still answers. */
		assert_true(fake_reload(f, corefile(". {\n ready PORT\n slow 2\n}\n")));
		assert_string_equal(page_at_prepare, "200 OK");
		ask_at_prepare = 0;
		assert_page(503, "slow");
		fake_free(f);
	}
}

static void nothing_to_wait_for(void **state)
{
	(void)state;
	struct fake *f = start(". {\n ready PORT\n}\n");
	assert_page(200, "OK");
	fake_free(f);
}

static void one_name_in_two_blocks_counts_when_both_are_ready(void **state)
{
	(void)state;
	struct fake *f = start(". {\n ready PORT\n slow 0\n}\norg {\n ready PORT\n slow 1\n}\n");
	assert_page(503, "slow");
	is_ready[1] = true;
	assert_page(503, "slow");
	is_ready[0] = true;
	assert_page(200, "OK");
	fake_free(f);
}

static void continuously_asks_again(void **state)
{
	(void)state;
	struct fake *f =
		start(". {\n ready PORT {\n monitor until-ready\n monitor continuously\n}\n"
		      " slow 0\n}\n");
	is_ready[0] = true;
	assert_page(200, "OK");
	is_ready[0] = false;
	assert_page(503, "slow");
	is_ready[0] = true;
	assert_page(200, "OK");
	fake_free(f);
}

static void reload_asks_the_new_ones(void **state)
{
	(void)state;
	struct fake *f = start(". {\n ready PORT\n slow 0\n}\n");
	is_ready[0] = true;
	assert_page(200, "OK");
	/* What was ready before must be so again, what is gone is not asked. */
	assert_true(fake_reload(f, corefile(". {\n ready PORT\n slow 1\n}\n")));
	assert_page(503, "slow");
	is_ready[1] = true;
	assert_page(200, "OK");
	assert_int_equal(asked[0], 1);
	/* A refused reload changes nothing. */
	assert_false(fake_reload(f, corefile(". {\n ready PORT\n slow 2\n}\n"
					     "org {\n ready 192.0.2.1:0\n}\n")));
	assert_page(200, "OK");
	assert_int_equal(asked[2], 0);
	fake_free(f);
}

/* Instances of a generation are torn down from the chain's end, so `slow` goes before the page. */
static void nobody_is_asked_after_teardown(void **state)
{
	unsigned status;
	(void)state;
	struct fake *f = start(". {\n ready PORT\n slow 0\n}\n");
	ask_at_teardown = port;
	assert_true(fake_reload(f, ". {\n alpha 1\n}\n"));
	ask_at_teardown = 0;
	assert_int_equal(asked[0], 0);
	assert_null(http_fake_get(port, "/ready", &status));
	fake_free(f);
}

/* The hash as the author of the Corefile would compute it. */
static void assert_config(const char *text)
{
	struct corefile *cf = NULL;
	unsigned status = 0;
	assert_int_equal(corefile_parse("Corefile", slice_of(text), NULL, &cf, NULL), 0);
	CLEANUP(freep) char *want = xasprintf("%s\n", config_hash_of(cf).s);
	CLEANUP(freep) char *got = http_fake_get(port, "/config", &status);
	assert_non_null(got);
	assert_string_equal(got, want);
	assert_int_equal(strlen(got), 129);
	assert_int_equal(status, 200);
	corefile_free(cf);
}

/* OP-T17: it is the hash of the running Corefile, ready or not. */
static void tells_which_configuration_runs(void **state)
{
	(void)state;
	CLEANUP(freep) char *a = xstrdup(corefile(". {\n ready PORT\n slow 0\n}\n"));
	CLEANUP(freep) char *b = xstrdup(corefile(". {\n ready PORT\n slow 1\n}\n"));
	CLEANUP(freep)
	char *bad = xstrdup(corefile(". {\n ready PORT\n slow 2\n}\n"
				     "org {\n ready 192.0.2.1:0\n}\n"));
	struct fake *f = fake_new(a);
	assert_non_null(f);
	assert_config(a);
	assert_true(fake_reload(f, b));
	assert_config(b);
	assert_false(fake_reload(f, bad));
	assert_config(b);
	assert_true(fake_reload(f, a));
	assert_config(a);
	fake_free(f);
}

static void bad_stanzas(void **state)
{
	static const struct {
		const char *text, *error;
	} rows[] = {
		{ ". {\n ready bla\n}\n", "Corefile:2:8: 'bla' is not an address such as :8181" },
		{ ". {\n ready :1 b\n}\n", "Corefile:2:11: ready: unexpected argument 'b'" },
		{ ". {\n ready {\n monitro continuously\n}\n}\n",
		  "Corefile:3:2: unknown option 'monitro', expected one of: monitor" },
		{ ". {\n ready {\n monitor 404\n}\n}\n",
		  "Corefile:3:10: monitor: expected until-ready or continuously, got '404'" },
		{ ". {\n ready {\n monitor\n}\n}\n",
		  "Corefile:3:2: monitor: expected an argument" },
		{ ". {\n ready\n ready\n}\n", "Corefile:3:2: 'ready' may be used only once in a "
					      "server block, first at line 2" },
		{ ". {\n ready 192.0.2.1:0\n}\n",
		  "Corefile:2:2: cannot listen on '192.0.2.1:0': Cannot assign requested address" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_null(fake_new(rows[i].text));
		assert_string_equal(fake_error(), rows[i].error);
	}
}

/* Last: a process shuts down once. */
static void says_that_it_is_going(void **state)
{
	(void)state;
	struct fake *f = start(". {\n ready PORT\n slow 0\n}\n");
	is_ready[0] = true;
	assert_page(200, "OK");
	server_begin_shutdown(fake_server(f));
	assert_page(503, "Shutting down");
	fake_free(f);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, take_port, leave_port)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(waits_for_the_blocks_that_list_it),
		TEST(not_ready_before_the_first_generation),
		TEST(nothing_to_wait_for),
		TEST(one_name_in_two_blocks_counts_when_both_are_ready),
		TEST(continuously_asks_again),
		TEST(reload_asks_the_new_ones),
		TEST(nobody_is_asked_after_teardown),
		TEST(tells_which_configuration_runs),
		TEST(bad_stanzas),
		TEST(says_that_it_is_going),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
