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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(errors_have_a_place),
		cmocka_unit_test(unsupported_is_refused_at_load),
		cmocka_unit_test(same_as_go),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
