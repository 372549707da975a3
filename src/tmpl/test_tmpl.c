/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tmpl against real Go: test_tmpl.tsv holds what text/template of Go 1.26 does with each template
 * over the same data; and what Go has no answer for: places, limits, parts, threads. */
#include "tmpl/tmpl.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "tmpl/test_data.h"

enum { OUT_BYTES = 8192, ARENA_BYTES = 64 * 1024, MIN_ROWS = 500 };

struct result {
	int parse, exec; /* codes */
	struct srcerr perr;
	char err[512];
	char out[OUT_BYTES];
	size_t n;
	struct strbuf text; /* canonical */
};

static void run_with(struct slice text, size_t out_bytes, size_t arena_bytes, struct result *ret)
{
	static char memory[ARENA_BYTES];
	struct tmpl *t = NULL;
	struct arena a;
	arena_init_fixed(&a, memory, arena_bytes);
	strbuf_reset(&ret->text);
	ret->n = 0;
	ret->exec = 0;
	ret->err[0] = '\0';
	ret->parse = tmpl_parse(text, (struct srcpos){ "t", 1, 1 }, &data_env, &t, &ret->perr);
	if (ret->parse < 0)
		return;
	tmpl_text(t, &ret->text);
	struct tmpl_run run = data_run(&a, ret->err, sizeof(ret->err));
	ret->exec = tmpl_exec(t, &run, ret->out, out_bytes, &ret->n);
	tmpl_free(t);
}

static void run(const char *text, struct result *ret)
{
	run_with(slice_of(text), OUT_BYTES, ARENA_BYTES, ret);
}

/* The table writes a line end as "¬n", a tab as "¬t", other controls as "¬x07". */
static struct slice unescape(char *s)
{
	char *in = s, *out = s;
	while (*in != '\0') {
		if (strncmp(in, "¬", 2) != 0) {
			*out++ = *in++;
			continue;
		}
		in += 2;
		if (*in == 'x') {
			char hex[3] = { in[1], in[2], '\0' };
			*out++ = (char)strtol(hex, NULL, 16);
			in += 3;
		} else {
			*out++ = *in++ == 'n' ? '\n' : '\t';
		}
	}
	*out = '\0';
	return (struct slice){ s, (size_t)(out - s) };
}

/* A reason that ends in "*" is cut where Go goes on in words of its own. */
static bool matches(const char *got, struct slice want)
{
	if (want.n > 0 && want.p[want.n - 1] == '*')
		return strncmp(got, want.p, want.n - 1) == 0;
	return strcmp(got, want.p) == 0;
}

/* What follows "at <...>: " in an error of an execution. */
static const char *reason(const char *err)
{
	const char *p = strstr(err, ">: ");
	return p != NULL ? p + 3 : err;
}

static bool complain(const char *text, const char *want, const char *got)
{
	fprintf(stderr, "%s\n  want: %s\n  got:  %s\n", text, want, got);
	return false;
}

static bool check_row(struct slice text, const char *kind, struct slice want,
		      struct slice canonical)
{
	static struct result r = { .text = STRBUF_INIT };
	run_with(text, OUT_BYTES, ARENA_BYTES, &r);
	bool at_load = strcmp(kind, "parse") == 0 || strcmp(kind, "load") == 0;
	if (at_load != (r.parse < 0))
		return complain(text.p, kind, r.parse < 0 ? r.perr.text : "parses");
	if (at_load)
		return matches(r.perr.text, want) || complain(text.p, want.p, r.perr.text);
	if (!slice_eq(strbuf_slice(&r.text), canonical))
		return complain(text.p, canonical.p, r.text.s);
	if ((strcmp(kind, "exec") == 0) != (r.exec < 0))
		return complain(text.p, kind, r.exec < 0 ? r.err : "executes");
	if (r.exec < 0)
		return matches(reason(r.err), want) || complain(text.p, want.p, reason(r.err));
	r.out[MIN(r.n, (size_t)OUT_BYTES - 1)] = '\0';
	return slice_eq((struct slice){ r.out, r.n }, want) || complain(text.p, want.p, r.out);
}

static void same_as_go(void **state)
{
	char *line = NULL;
	size_t cap = 0, rows = 0, bad = 0;
	ssize_t n;
	(void)state;
	FILE *f = fopen(SOURCE_DIR "/test_tmpl.tsv", "re");
	assert_non_null(f);
	while ((n = getline(&line, &cap, f)) > 0) {
		line[n - 1] = '\0';
		struct slice rest = { line, (size_t)n - 1 };
		if (rest.n == 0 || slice_starts(rest, SLICE("# ")))
			continue;
		char *col[4];
		for (int i = 0; i < 4; i++) {
			struct slice s = slice_cut(&rest, '\t');
			col[i] = xstrndup(s.n != 0 ? s.p : "", s.n);
		}
		struct slice text = unescape(col[0]), want = unescape(col[2]);
		struct slice canonical = strcmp(col[3], "=") == 0 ? text : unescape(col[3]);
		rows++;
		bad += !check_row(text, col[1], want, canonical);
		for (int i = 0; i < 4; i++)
			free(col[i]);
	}
	free(line);
	fclose(f);
	assert_int_equal(bad, 0);
	assert_true(rows >= MIN_ROWS);
}

/* A place counts from where the text starts in its file. */
static void errors_have_a_place(void **state)
{
	static const struct {
		const char *text;
		uint32_t line, col;
	} rows[] = {
		{ "{{.Nope}}", 7, 22 },		{ "é {{ $x }}", 7, 25 },
		{ "a\nbc{{.Nope}}", 8, 5 },	{ "{{if true}}x", 7, 32 },
		{ "a {{ foo }}", 7, 25 },	{ "a\n\n{{template \"x\"}}", 9, 1 },
		{ "{{.Name | .Zone}}", 7, 30 }, { "{{len 1 2}}", 7, 22 },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct tmpl *t;
		struct srcerr err;
		struct srcpos base = { "Corefile", 7, 20 };
		assert_int_equal(tmpl_parse(slice_of(rows[i].text), base, &data_env, &t, &err),
				 ERR_PARSE);
		assert_string_equal(err.pos.file, "Corefile");
		assert_int_equal(err.pos.line, rows[i].line);
		assert_int_equal(err.pos.col, rows[i].col);
	}
}

static void unsupported_is_refused_at_load(void **state)
{
	static struct result r = { .text = STRBUF_INIT };
	static const char *const rows[][2] = {
		{ "{{call .Name}}", "function \"call\" is not supported" },
		{ "{{1+2i}}", "complex constant \"1+2i\" is not supported" },
		{ "{{2i}}", "complex constant \"2i\" is not supported" },
		{ "{{.}}", "printing a *template.templateData is not supported" },
		{ "{{or . .Name}}", "printing a value that may be an object is not supported" },
		{ "{{define \"d\"}}{{.}}{{end}}{{template \"d\" .}}{{template \"d\" .Name}}",
		  "printing a value that may be an object is not supported" },
		{ "{{$x := 1}}{{range 2}}{{$x}}{{$x = .}}{{$x = $}}{{end}}",
		  "printing a value that may be an object is not supported" },
		{ "{{.Message}}", "printing a *dns.Msg is not supported" },
		{ "{{printf \"%v\" .Message}}", "printing a *dns.Msg is not supported" },
		{ "{{and true ($x := 1)}}",
		  "a declaration in an argument that and/or may skip is not supported" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		run(rows[i][0], &r);
		assert_int_equal(r.parse, ERR_PARSE);
		assert_string_equal(r.perr.text, rows[i][1]);
	}
}

/* A text of `n` times the same. */
static void repeat(struct strbuf *b, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		strbuf_adds(b, s);
}

struct limit {
	const char *open, *middle, *close; /* `n` of the first and last */
	size_t most;
	const char *why; /* with one more */
};

static void limits_of_the_text(void **state)
{
	static struct result r = { .text = STRBUF_INIT };
	static const struct limit rows[] = {
		{ "{{if 1}}", "x", "{{end}}", TMPL_MAX_NESTING, "nested deeper than 128 levels" },
		{ "(", "1", ")", TMPL_MAX_NESTING, "nested deeper than 128 levels" },
		{ "{{$x := 1}}", "", "", TMPL_MAX_VARS - 1, "more than 128 variables" },
		{ " 1", "", "", TMPL_MAX_ARGS - 1, "more than 32 arguments" },
		{ "{{1}}", "", "", TMPL_MAX_NODES / 3, "template too large: more than 8192 parts" },
		{ "x", "", "", TMPL_MAX_BYTES, "template longer than 65536 bytes" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows) * 2; i++) {
		const struct limit *l = &rows[i / 2];
		struct strbuf b = STRBUF_INIT;
		const char *before = l->open[0] == '(' ? "{{" : l->open[0] == ' ' ? "{{print" : "";
		strbuf_adds(&b, before);
		repeat(&b, l->open, l->most + i % 2);
		strbuf_adds(&b, l->middle);
		repeat(&b, l->close, l->most + i % 2);
		strbuf_adds(&b, before[0] != '\0' ? "}}" : "");
		run_with(strbuf_slice(&b), OUT_BYTES, ARENA_BYTES, &r);
		strbuf_done(&b);
		assert_int_equal(r.parse, i % 2 == 0 ? 0 : ERR_PARSE);
		if (r.parse < 0)
			assert_string_equal(r.perr.text, l->why);
	}
}

static void limits_of_an_execution(void **state)
{
	static struct result r = { .text = STRBUF_INIT };
	static const struct {
		const char *text;
		int code;
		const char *why;
	} rows[] = {
		{ "{{range 10000}}{{end}}", 0, "" },
		{ "{{range 10001}}{{end}}", ERR_LIMIT, "more than 10000 iterations" },
		{ "{{range 101}}{{range 100}}{{end}}{{end}}", ERR_LIMIT,
		  "more than 10000 iterations" },
		{ "{{range .Var.u}}{{end}}", ERR_LIMIT, "more than 10000 iterations" },
		{ "{{range 9999}}{{$a := print}}{{$b := 1}}{{$c := 1}}{{$d := 1}}{{$e := "
		  "1}}{{end}}",
		  ERR_LIMIT, "more than 100000 steps" },
		{ "{{template \"t\" 1}}", ERR_LIMIT, "exceeded maximum template depth (32)" },
		{ "{{range 8}}{{printf \"%1000d\" 1}}{{end}}", 0, "" },
		{ "{{range 9}}{{printf \"%1000d\" 1}}{{end}}", ERR_SPACE, "not enough space" },
		{ "{{len (printf \"%8193d\" 1)}}", ERR_SPACE, "not enough space" },
		{ "{{printf \"%.9000f\" 1.5}}", ERR_SPACE, "not enough space" },
		{ "{{printf \"%.999999f\" 1.5}}", ERR_SPACE, "not enough space" },
		{ "{{printf \"%.9000d\" 1}}", ERR_SPACE, "not enough space" },
		{ "{{range 99}}{{len (printf \"%1000d\" 1)}}{{end}}", ERR_SPACE,
		  "not enough space" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		run(rows[i].text, &r);
		assert_int_equal(r.parse, 0);
		assert_int_equal(r.exec, rows[i].code);
		assert_true(rows[i].code == 0 || strstr(r.err, rows[i].why) != NULL);
	}
}

/* Nesting is bounded over templates too: 31 of them, 100 levels each. */
static void limit_of_execution_depth(void **state)
{
	static struct result r = { .text = STRBUF_INIT };
	struct strbuf b = STRBUF_INIT;
	(void)state;
	repeat(&b, "{{if 1}}", 100);
	strbuf_adds(&b, "{{template \"t\" .}}");
	repeat(&b, "{{end}}", 100);
	run_with(strbuf_slice(&b), OUT_BYTES, ARENA_BYTES, &r);
	strbuf_done(&b);
	assert_int_equal(r.exec, ERR_LIMIT);
	assert_non_null(strstr(r.err, "nested deeper than 256 levels"));
}

/* Whatever the sizes, an execution succeeds as it should or says that space is short. */
static void small_memory(void **state)
{
	static struct result r = { .text = STRBUF_INIT };
	static const char text[] = "{{range $k, $v := .Group}}{{$k | printf \"%s=%s \" $v}}{{end}}"
				   "{{print 1 2 3 4 5 6}}{{.Group}}{{html .Var.s .Match}}";
	bool worked = false;
	(void)state;
	for (size_t n = 0; n < 4096; n += 7) {
		run_with(slice_of(text), OUT_BYTES, n, &r);
		assert_true(r.exec == ERR_SPACE || (r.exec == 0 && r.n > 0));
		assert_true(r.exec == 0 || !worked); /* more memory never fails */
		worked |= r.exec == 0;
	}
	assert_true(worked);
	size_t whole = r.n;
	for (size_t n = 0; n < whole; n++) {
		run_with(slice_of(text), n, ARENA_BYTES, &r);
		assert_int_equal(r.exec, ERR_SPACE);
	}
}

/* A template of fields and text needs no memory but the output. */
static void fields_need_no_memory(void **state)
{
	static struct result r = { .text = STRBUF_INIT };
	(void)state;
	run_with(SLICE("{{.Name}} 60 IN A {{.Group.a}}{{with .Question}}{{.Qtype}}{{end}}"), 64, 0,
		 &r);
	assert_int_equal(r.exec, 0);
	assert_memory_equal(r.out, "ip-10-0-0-1.example. 60 IN A 101", 32);
	assert_int_equal(r.n, 32);
}

static void parts(void **state)
{
	static const struct tmpl_part want[] = {
		{ TMPL_PART_FIELD, { ".Name", 5 } },	{ TMPL_PART_TEXT, { " 60 ", 4 } },
		{ TMPL_PART_FIELD, { ".Group.a", 8 } }, { TMPL_PART_OTHER, { NULL, 0 } },
		{ TMPL_PART_OTHER, { NULL, 0 } },	{ TMPL_PART_OTHER, { NULL, 0 } },
		{ TMPL_PART_TEXT, { "x", 1 } },
	};
	struct tmpl *t;
	(void)state;
	assert_int_equal(tmpl_parse(SLICE("{{ .Name }} 60 {{.Group.a}}{{len .Name}}{{$x := .Name}}"
					  "{{if .Name}}{{end}}{{/* c */}}{{define \"d\"}}{{end}}x"),
				    (struct srcpos){ "t", 1, 1 }, &data_env, &t, NULL),
			 0);
	assert_int_equal(tmpl_n_parts(t), ARRAY_LEN(want));
	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		struct tmpl_part p = tmpl_part(t, i);
		assert_int_equal(p.kind, want[i].kind);
		assert_true(slice_eq(p.text, want[i].text));
	}
	tmpl_free(t);
	tmpl_free(NULL);
}

static void the_reason_names_the_place(void **state)
{
	static struct result r = { .text = STRBUF_INIT };
	(void)state;
	run("a\n {{define \"d\"}}{{index . 9}}{{end}}{{template \"d\" .Match}}", &r);
	assert_int_equal(r.exec, ERR_TYPE);
	assert_string_equal(r.err, "template: t:2:17: executing \"d\" at <index . 9>: "
				   "error calling index: index out of range: 9");
}

static int fn_shout(struct tmpl_call *c, const struct tmpl_value *args, size_t n,
		    struct tmpl_value *ret)
{
	assert_int_equal(n, 1);
	if (c->ctx == NULL)
		return tmpl_fail(c, "no voice for %.*s", (int)args[0].s.n, args[0].s.p);
	*ret = tmpl_string(slice_of(c->ctx));
	return 0;
}

static void functions_of_the_caller(void **state)
{
	static const struct tmpl_func shout = { .name = "print", /* hides the built-in one */
						.min_args = 1,
						.max_args = 1,
						.args = { TMPL_STRING },
						.ret = { .kind = TMPL_STRING },
						.fn = fn_shout };
	static const struct tmpl_func *const funcs[] = { &shout };
	static const struct tmpl_env env = { .root = { .kind = TMPL_ANY },
					     .funcs = funcs,
					     .n_funcs = 1 };
	char out[32], err[256], ctx[] = "HEY";
	struct arena a;
	struct tmpl *t;
	size_t n;
	(void)state;
	arena_init_fixed(&a, out, 0);
	assert_int_equal(tmpl_parse(SLICE("{{print .a}}"), (struct srcpos){ 0 }, &env, &t, NULL),
			 0);
	struct tmpl_run r = { .root = tmpl_map(&tmpl_entries_type, &data_map),
			      .arena = &a,
			      .err = err,
			      .err_cap = sizeof(err) };
	assert_int_equal(tmpl_exec(t, &r, out, sizeof(out), &n), ERR_TYPE);
	assert_string_equal(err, "template: :1:2: executing \"\" at <print .a>: "
				 "error calling print: no voice for x");
	r.ctx = ctx;
	assert_int_equal(tmpl_exec(t, &r, out, sizeof(out), &n), 0);
	assert_int_equal(n, 3);
	assert_memory_equal(out, "HEY", 3);
	r.root = tmpl_map(&tmpl_entries_type, NULL); /* no .a, so not a string */
	assert_int_equal(tmpl_exec(t, &r, out, sizeof(out), &n), ERR_TYPE);
	assert_non_null(strstr(err, "invalid value; expected string"));
	tmpl_free(t);
}

enum { THREADS = 4, ROUNDS = 500 };

static void *execute_often(void *arg)
{
	const struct tmpl *t = arg;
	char out[512], memory[8192];
	for (int i = 0; i < ROUNDS; i++) {
		struct arena a;
		size_t n = 0;
		arena_init_fixed(&a, memory, sizeof(memory));
		struct tmpl_run r = data_run(&a, NULL, 0);
		if (tmpl_exec(t, &r, out, sizeof(out), &n) < 0 || n != 18 ||
		    memcmp(out, "0=10 1=0 2=0 3=1 5", 18) != 0)
			return NULL;
	}
	return arg;
}

static void many_threads_one_template(void **state)
{
	pthread_t threads[THREADS];
	struct tmpl *t;
	(void)state;
	assert_int_equal(
		tmpl_parse(SLICE("{{range $i, $e := slice .Match 1}}{{printf \"%d=%s \" $i $e}}"
				 "{{end}}{{len .Match}}"),
			   (struct srcpos){ 0 }, &data_env, &t, NULL),
		0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, execute_often, t), 0);
	for (int i = 0; i < THREADS; i++) {
		void *good = NULL;
		assert_int_equal(pthread_join(threads[i], &good), 0);
		assert_non_null(good);
	}
	tmpl_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(errors_have_a_place),
		cmocka_unit_test(limits_of_the_text),
		cmocka_unit_test(limits_of_an_execution),
		cmocka_unit_test(limit_of_execution_depth),
		cmocka_unit_test(small_memory),
		cmocka_unit_test(fields_need_no_memory),
		cmocka_unit_test(parts),
		cmocka_unit_test(the_reason_names_the_place),
		cmocka_unit_test(functions_of_the_caller),
		cmocka_unit_test(many_threads_one_template),
		cmocka_unit_test(unsupported_is_refused_at_load),
		cmocka_unit_test(same_as_go),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
