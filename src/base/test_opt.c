/* SPDX-License-Identifier: GPL-3.0-or-later */
/* opt: every type, its errors with their places, defaults, repetition, positional arguments. */
#include "base/opt.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"

struct conf {
	const char *addr;
	struct opt_list zones;
	bool flag, sw;
	uint64_t count;
	int64_t number, free_number, wait_ns, long_ns;
	const char *text;
	int policy;
	struct opt_list except;
	int fn_calls;
};

static int count_args(struct opt_ctx *ctx, const struct opt_line *line)
{
	struct conf *c = ctx->conf;
	c->fn_calls += (int)line->n_arg;
	if (strcmp(line->arg[0].s, "bad") == 0)
		return srcerr_set(ctx->err, line->arg[0].pos, "bad word");
	return 0;
}

#define AT(member) offsetof(struct conf, member)

static const char *const policies[] = { "random", "round_robin", "sequential", NULL };
static const struct opt rows[] = {
	{ .name = "<address>",
	  .type = OPT_STRING,
	  .offset = AT(addr),
	  .def = ":8080",
	  .help = "where" },
	{ .name = "<zones>", .type = OPT_LIST, .offset = AT(zones), .def = "a b" },
	{ .name = "flag", .type = OPT_FLAG, .offset = AT(flag), .help = "a flag" },
	{ .name = "switch", .type = OPT_BOOL, .offset = AT(sw), .def = "on" },
	{ .name = "count", .type = OPT_UINT, .offset = AT(count), .min = 2, .max = 10, .def = "3" },
	{ .name = "number", .type = OPT_INT, .offset = AT(number), .min = -5, .max = 5 },
	{ .name = "free", .type = OPT_INT, .offset = AT(free_number) },
	{ .name = "lameduck",
	  .type = OPT_DURATION,
	  .offset = AT(wait_ns),
	  .def = "5s",
	  .help = "time to wait" },
	{ .name = "long",
	  .type = OPT_DURATION,
	  .offset = AT(long_ns),
	  .min = 1000000000,
	  .max = 60000000000 },
	{ .name = "text", .type = OPT_STRING, .offset = AT(text), .repeatable = true },
	{ .name = "policy",
	  .type = OPT_ENUM,
	  .offset = AT(policy),
	  .words = policies,
	  .def = "sequential" },
	{ .name = "except", .type = OPT_LIST, .offset = AT(except), .def = " x  y " },
	{ .name = "fn", .type = OPT_FN, .min = 1, .max = 2, .fn = count_args, .args = "A [B]" },
};

struct fixture {
	struct arena arena;
	struct conf conf;
	struct srcerr err;
	struct opt_ctx ctx;
	uint64_t seen;
};

static void start(struct fixture *f)
{
	memset(f, 0, sizeof(*f));
	arena_init(&f->arena);
	f->ctx = (struct opt_ctx){ .arena = &f->arena, .conf = &f->conf, .err = &f->err };
	opt_defaults(rows, ARRAY_LEN(rows), &f->ctx);
}

/* Cuts `text` at blanks; columns count from 1. */
static int run(struct fixture *f, const char *text, bool positional)
{
	static struct word words[16];
	size_t n = 0;
	struct slice rest = slice_of(text);
	while (rest.n > 0) {
		struct slice w = slice_cut(&rest, ' ');
		words[n++] = (struct word){ arena_strndup(&f->arena, w.p, w.n),
					    { "f", 1, (uint32_t)(w.p - text) + 1 } };
	}
	struct opt_line line = { words[0], words + 1, n - 1 };
	if (positional)
		return opt_parse_args(rows, ARRAY_LEN(rows), &line, &f->ctx);
	return opt_parse_line(rows, ARRAY_LEN(rows), &line, &f->seen, &f->ctx);
}

static void defaults(void **state)
{
	(void)state;
	struct fixture f;
	start(&f);
	assert_string_equal(f.conf.addr, ":8080");
	assert_int_equal(f.conf.zones.n, 2);
	assert_string_equal(f.conf.zones.v[1]->s, "b");
	assert_true(f.conf.sw);
	assert_false(f.conf.flag);
	assert_int_equal(f.conf.count, 3);
	assert_int_equal(f.conf.wait_ns, 5000000000);
	assert_int_equal(f.conf.policy, 2);
	assert_int_equal(f.conf.except.n, 2);
	assert_null(f.conf.text);
	arena_done(&f.arena);
}

static void values(void **state)
{
	(void)state;
	static const char *const lines[] = {
		"flag",	    "switch no",     "count 10", "number -5", "free 9223372036854775807",
		"long 1m",  "policy random", "text a",	 "text b",    "except p q",
		"except r", "fn a b",
	};
	struct fixture f;
	start(&f);
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		assert_int_equal(run(&f, lines[i], false), 0);
	assert_true(f.conf.flag);
	assert_false(f.conf.sw);
	assert_int_equal(f.conf.count, 10);
	assert_int_equal(f.conf.number, -5);
	assert_int_equal(f.conf.free_number, INT64_MAX);
	assert_int_equal(f.conf.long_ns, 60000000000);
	assert_int_equal(f.conf.policy, 0);
	assert_string_equal(f.conf.text, "b");
	assert_int_equal(f.conf.except.n, 3);
	assert_string_equal(f.conf.except.v[2]->s, "r");
	assert_int_equal(f.conf.except.v[2]->pos.col, 8);
	assert_int_equal(f.conf.fn_calls, 2);
	arena_done(&f.arena);
}

static void errors(void **state)
{
	(void)state;
	static const struct {
		const char *line, *text;
	} bad[] = {
		{ "lameduck x", "f:1:10: lameduck: expected a duration such as 5s, got 'x'" },
		{ "lameduck 5", "f:1:10: lameduck: expected a duration such as 5s, got '5'" },
		{ "lameduck -5s",
		  "f:1:10: lameduck: expected a duration of at least 0s, got '-5s'" },
		{ "long 2m", "f:1:6: long: expected a duration from 1s to 1m0s, got '2m'" },
		{ "lameduck", "f:1:1: lameduck: expected an argument" },
		{ "lameduck 1s 2s", "f:1:13: lameduck: expected at most 1 argument, got 2" },
		{ "flag x", "f:1:6: flag: expected no argument, got 'x'" },
		{ "switch maybe", "f:1:8: switch: expected on or off, got 'maybe'" },
		{ "count 1", "f:1:7: count: expected a number from 2 to 10, got '1'" },
		{ "count 11", "f:1:7: count: expected a number from 2 to 10, got '11'" },
		{ "count -3", "f:1:7: count: expected a number from 2 to 10, got '-3'" },
		{ "number 6", "f:1:8: number: expected a number from -5 to 5, got '6'" },
		{ "number --1", "f:1:8: number: expected a number from -5 to 5, got '--1'" },
		{ "free -1", "f:1:6: free: expected a number, got '-1'" },
		{ "free 9223372036854775808",
		  "f:1:6: free: expected a number, got '9223372036854775808'" },
		{ "policy none",
		  "f:1:8: policy: expected random, round_robin or sequential, got 'none'" },
		{ "except", "f:1:1: except: expected more arguments" },
		{ "fn", "f:1:1: fn: expected more arguments" },
		{ "fn a b c", "f:1:8: fn: expected at most 2 arguments, got 3" },
		{ "fn bad", "f:1:4: bad word" },
		{ "<address> x",
		  "f:1:1: unknown option '<address>', expected one of: flag, switch, "
		  "count, number, free, lameduck, long, text, policy, except, fn" },
	};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct fixture f;
		char buf[600];
		start(&f);
		assert_true(run(&f, bad[i].line, false) < 0);
		assert_string_equal(srcerr_str(&f.err, buf, sizeof(buf)), bad[i].text);
		arena_done(&f.arena);
	}
}

static void a_second_line_is_refused(void **state)
{
	(void)state;
	struct fixture f;
	start(&f);
	assert_int_equal(run(&f, "count 4", false), 0);
	assert_int_equal(run(&f, "count 5", false), ERR_PARSE);
	assert_string_equal(f.err.text, "count: given twice");
	assert_int_equal(f.conf.count, 4);
	arena_done(&f.arena);
}

static void positional(void **state)
{
	(void)state;
	struct fixture f;
	start(&f);
	assert_int_equal(run(&f, "health", true), 0);
	assert_string_equal(f.conf.addr, ":8080");
	assert_int_equal(run(&f, "health :1", true), 0);
	assert_string_equal(f.conf.addr, ":1");
	assert_int_equal(f.conf.zones.n, 2);
	assert_int_equal(run(&f, "health :1 x y z", true), 0);
	assert_int_equal(f.conf.zones.n, 3);
	assert_string_equal(f.conf.zones.v[0]->s, "x");
	struct opt_line line = { { "health", { "f", 1, 1 } },
				 (const struct word[]){ { "a", { "f", 1, 8 } },
							{ "b", { "f", 1, 10 } } },
				 2 };
	assert_int_equal(opt_parse_args(rows, 1, &line, &f.ctx), ERR_PARSE);
	assert_string_equal(f.err.text, "health: unexpected argument 'b'");
	assert_int_equal(f.err.pos.col, 10);
	arena_done(&f.arena);
}

/* A fixed arena that is used up is an error, not a crash. */
static void out_of_memory(void **state)
{
	(void)state;
	struct fixture f;
	start(&f);
	struct arena empty;
	char none[1];
	arena_init_fixed(&empty, none, 0);
	f.ctx.arena = &empty;
	assert_int_equal(run(&f, "text a", false), ERR_SPACE);
	assert_int_equal(run(&f, "except a", false), ERR_SPACE);
	arena_done(&f.arena);
}

static void help(void **state)
{
	(void)state;
	static const struct opt few[] = {
		{ .name = "<address>", .type = OPT_STRING, .def = ":8080", .help = "where" },
		{ .name = "flag", .type = OPT_FLAG, .help = "a flag" },
		{ .name = "lameduck", .type = OPT_DURATION, .help = "time" },
		{ .name = "fn", .type = OPT_FN, .args = "A [B]", .help = "own" },
	};
	struct strbuf b = STRBUF_INIT;
	opt_help(few, ARRAY_LEN(few), &b);
	assert_string_equal(b.s, "  <address>          where (default :8080)\n"
				 "  flag               a flag\n"
				 "  lameduck DURATION  time\n"
				 "  fn A [B]           own\n");
	strbuf_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults),   cmocka_unit_test(values),
		cmocka_unit_test(errors),     cmocka_unit_test(a_second_line_is_refused),
		cmocka_unit_test(positional), cmocka_unit_test(out_of_memory),
		cmocka_unit_test(help),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
