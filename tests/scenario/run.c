/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs one scenario file on the real chain, with a fake network and clock (testing/fake_server.h),
 * and says at which line what differed. */
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text/duration.h"
#include "base/vec.h"
#include "base/err_text.h"
#include "question.h"
#include "script.h"
#include "upstream.h"

enum { QUIET_TURNS = 8 };

struct run {
	const struct script *script;
	const struct script_step *step;
	struct fake *fake;
	struct upstreams *upstreams;
	uint64_t now_ns; /* since the start, as far as `advance` went */
	char dir[64];
};

/* Tells and gives false, so that a step can end with it. */
static bool wrong(const struct run *r, const char *what, const char *expected, const char *got)
{
	fprintf(stderr, "%s:%u: %s %s: %s\n", r->script->path, r->step->line, r->step->verb,
		r->step->args, what);
	if (expected != NULL)
		fprintf(stderr, "-- expected --\n%s-- got --\n%s--\n", expected, got);
	return false;
}

/* What stands for `DIR` or `UP:name`, or NULL. */
static const char *placeholder(const struct run *r, struct slice word)
{
	if (slice_is(word, "DIR"))
		return r->dir;
	if (slice_starts(word, SLICE("UP:")))
		return upstreams_address(r->upstreams, slice_from(word, 3));
	return NULL;
}

/* The body with @DIR@ and @UP:name@ filled in; the caller frees it. */
static char *filled(const struct run *r)
{
	struct strbuf out = STRBUF_INIT;
	struct slice rest = slice_of(r->step->body);
	while (rest.n > 0) {
		struct slice before = slice_cut(&rest, '@');
		struct slice word = { rest.p,
				      rest.n > 0 ? (size_t)MAX(slice_find(rest, '@'), 0) : 0 };
		const char *value = placeholder(r, word);
		strbuf_add_slice(&out, before);
		if (value != NULL) {
			strbuf_adds(&out, value);
			rest = slice_from(rest, word.n + 1);
		} else if (rest.p != NULL) {
			strbuf_addc(&out, '@');
		}
	}
	return strbuf_take(&out);
}

/* ---- upstreams ---- */

/* Lets the server and its upstreams talk until nobody has more to say. False (told) when a script
 * could not be followed. */
static bool talk(const struct run *r)
{
	/* An upstream that is not there says so through the kernel: a turn for each attempt. */
	for (unsigned idle = 0; idle < QUIET_TURNS; idle++) {
		fake_advance(r->fake, 0);
		if (upstreams_serve(r->upstreams, r->now_ns))
			idle = 0;
	}
	const char *problem = upstreams_problem(r->upstreams);
	return problem == NULL || wrong(r, problem, NULL, NULL);
}

static bool step_upstream(struct run *r)
{
	char why[512];
	char *script = filled(r);
	bool ok = r->step->args[0] != '\0' &&
		  upstreams_set(r->upstreams, r->step->args, script, ERR_TEXT(why));
	free(script);
	return ok || wrong(r, r->step->args[0] != '\0' ? why : "expected a name", NULL, NULL);
}

static bool step_stop(struct run *r)
{
	return upstreams_stop(r->upstreams, r->step->args) ||
	       wrong(r, "no such upstream", NULL, NULL);
}

/* `asked NAME` or `asked NAME checks`: exactly these queries came since the last look. */
static bool step_asked(struct run *r)
{
	CLEANUP(strbuf_done) struct strbuf got = STRBUF_INIT;
	struct slice rest = slice_of(r->step->args);
	struct slice name = slice_cut(&rest, ' ');
	char *text = xstrndup(name.p, name.n);
	bool ok = upstreams_asked(r->upstreams, text, slice_is(rest, "checks"), &got);
	free(text);
	if (!ok)
		return wrong(r, "no such upstream", NULL, NULL);
	return strcmp(got.s, r->step->body) == 0 || wrong(r, "other queries", r->step->body, got.s);
}

/* ---- comparing ---- */

static int compare_lines(const void *a, const void *b)
{
	return slice_cmp(*(const struct slice *)a, *(const struct slice *)b);
}

static char *sorted(const char *text)
{
	VEC(struct slice) lines = { 0 };
	struct strbuf out = STRBUF_INIT;
	struct slice rest = slice_of(text);
	while (rest.n > 0)
		vec_push(&lines, slice_cut(&rest, '\n'));
	if (lines.n > 0)
		qsort(lines.v, lines.n, sizeof(lines.v[0]), compare_lines);
	for (size_t i = 0; i < lines.n; i++) {
		strbuf_add_slice(&out, lines.v[i]);
		strbuf_addc(&out, '\n');
	}
	vec_done(&lines);
	return strbuf_take(&out);
}

static bool same(const char *a, const char *b, bool unordered)
{
	if (!unordered)
		return strcmp(a, b) == 0;
	char *x = sorted(a), *y = sorted(b);
	bool equal = strcmp(x, y) == 0;
	free(x);
	free(y);
	return equal;
}

/* `silence` in a body stands for no reply. */
static bool expect_reply(const struct run *r, const char *got, bool unordered)
{
	if (got == NULL)
		got = "silence\n";
	if (same(r->step->body, got, unordered))
		return true;
	return wrong(r, "another reply", r->step->body, got);
}

/* ---- steps ---- */

static bool need_server(const struct run *r)
{
	return r->fake != NULL || wrong(r, "there is no server yet", NULL, NULL);
}

static bool step_corefile(struct run *r)
{
	if (r->fake != NULL)
		return wrong(r, "there is a server already; use `reload`", NULL, NULL);
	char *text = filled(r);
	r->fake = fake_new(text);
	free(text);
	return r->fake != NULL ? talk(r) : wrong(r, fake_error(), NULL, NULL);
}

static bool step_reload(struct run *r)
{
	if (!need_server(r))
		return false;
	char *text = filled(r);
	bool ok = fake_reload(r->fake, text);
	free(text);
	return ok ? talk(r) : wrong(r, fake_error(), NULL, NULL);
}

/* At start or as a reload, whichever it is. */
static bool step_refused(struct run *r)
{
	char *text = filled(r);
	struct fake *f = r->fake == NULL ? fake_new(text) : NULL;
	bool taken = r->fake == NULL ? f != NULL : fake_reload(r->fake, text);
	free(text);
	fake_free(f);
	if (taken)
		return wrong(r, "it was taken", NULL, NULL);
	if (strcmp(fake_error(), r->step->args) == 0)
		return true;
	return wrong(r, fake_error(), NULL, NULL);
}

static bool step_file(struct run *r)
{
	char path[512];
	if (strchr(r->step->args, '/') != NULL || r->step->args[0] == '\0')
		return wrong(r, "expected a name without folders", NULL, NULL);
	snprintf(path, sizeof(path), "%s/%s", r->dir, r->step->args);
	FILE *f = fopen(path, "we");
	if (f == NULL)
		return wrong(r, strerror(errno), NULL, NULL);
	char *text = filled(r);
	bool ok = fputs(text, f) >= 0;
	free(text);
	ok = fclose(f) == 0 && ok;
	return ok || wrong(r, "cannot write it", NULL, NULL);
}

static bool step_ask(struct run *r)
{
	struct question q;
	char why[128];
	if (!need_server(r))
		return false;
	if (question_parse(r->step->args, &q, ERR_TEXT(why)) < 0)
		return wrong(r, why, NULL, NULL);
	char *first = NULL;
	bool ok = true, differed = false;
	for (unsigned i = 0; i < q.repeat && ok; i++) {
		fake_send(r->fake, &q.ask);
		ok = talk(r);
		const char *got = fake_next(r->fake);
		ok = ok && expect_reply(r, got, q.unordered);
		if (first == NULL)
			first = xstrdup(got != NULL ? got : "");
		differed = differed || strcmp(first, got != NULL ? got : "") != 0;
	}
	free(first);
	if (ok && q.varied && !differed)
		return wrong(r, "the order was always the same", NULL, NULL);
	return ok;
}

static bool step_send(struct run *r)
{
	struct question q;
	char why[128];
	if (!need_server(r))
		return false;
	if (question_parse(r->step->args, &q, ERR_TEXT(why)) < 0)
		return wrong(r, why, NULL, NULL);
	for (unsigned i = 0; i < q.repeat; i++)
		fake_send(r->fake, &q.ask);
	return talk(r);
}

static bool step_next(struct run *r)
{
	return need_server(r) &&
	       expect_reply(r, fake_next(r->fake), strcmp(r->step->args, "unordered") == 0);
}

static bool step_advance(struct run *r)
{
	int64_t ns;
	if (!need_server(r))
		return false;
	if (duration_parse(slice_of(r->step->args), &ns) < 0 || ns < 0)
		return wrong(r, "expected a duration such as 1.5s", NULL, NULL);
	uint64_t end_ns = r->now_ns + (uint64_t)ns;
	bool ok = true;
	do {
		uint64_t next_ns = MIN(upstreams_due(r->upstreams), end_ns);
		fake_advance(r->fake, next_ns - r->now_ns);
		r->now_ns = next_ns;
		ok = talk(r);
	} while (ok && r->now_ns < end_ns);
	return ok;
}

/* Each line must be part of what was logged since the last look; after `!`, must not. */
static bool step_log(struct run *r)
{
	if (!need_server(r))
		return false;
	const char *got = fake_log(r->fake);
	struct slice rest = slice_of(r->step->body);
	while (rest.n > 0) {
		struct slice line = slice_cut(&rest, '\n');
		bool wanted = !slice_starts(line, SLICE("!"));
		char *text = xstrndup(line.p + !wanted, line.n - !wanted);
		bool found = strstr(got, text) != NULL;
		if (found != wanted) {
			wrong(r, wanted ? "a line is missing" : "a line should not be there",
			      r->step->body, got);
			free(text);
			return false;
		}
		free(text);
	}
	return true;
}

static bool step_metric(struct run *r)
{
	if (!need_server(r))
		return false;
	struct slice rest = slice_of(r->step->body);
	while (rest.n > 0) {
		struct slice line = slice_cut(&rest, '\n');
		char *text = xstrndup(line.p, line.n), *space = strrchr(text, ' ');
		if (space == NULL) {
			free(text);
			return wrong(r, "expected `NAME{LABELS} VALUE`, value -1 for absent", NULL,
				     NULL);
		}
		*space = '\0';
		double got = fake_metric(r->fake, text);
		char shown[64];
		snprintf(shown, sizeof(shown), "%g\n", got);
		bool ok = got == strtod(space + 1, NULL) || wrong(r, text, r->step->body, shown);
		free(text);
		if (!ok)
			return false;
	}
	return true;
}

static const struct {
	const char *verb;
	bool (*run)(struct run *r);
} verbs[] = {
	{ "corefile", step_corefile }, { "reload", step_reload },     { "refused", step_refused },
	{ "file", step_file },	       { "ask", step_ask },	      { "send", step_send },
	{ "next", step_next },	       { "advance", step_advance },   { "log", step_log },
	{ "metric", step_metric },     { "upstream", step_upstream }, { "stop", step_stop },
	{ "asked", step_asked },
};

static bool run_step(struct run *r)
{
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
		if (strcmp(verbs[i].verb, r->step->verb) == 0)
			return verbs[i].run(r);
	}
	return wrong(r, "no such step", NULL, NULL);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	return remove(path);
}

int main(int argc, char **argv)
{
	struct script script;
	if (argc != 2) {
		fprintf(stderr, "usage: %s FILE.scn\n", argv[0]);
		return 64;
	}
	if (script_read(argv[1], &script) < 0)
		return 1;
	struct run r = { .script = &script,
			 .upstreams = upstreams_new(),
			 .dir = "/tmp/fairlead-scenario-XXXXXX" };
	if (mkdtemp(r.dir) == NULL) {
		perror("cannot make a folder");
		return 1;
	}
	bool ok = true;
	for (size_t i = 0; i < script.n && ok; i++) {
		r.step = &script.step[i];
		ok = run_step(&r);
	}
	fake_free(r.fake);
	upstreams_free(r.upstreams);
	nftw(r.dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	if (ok)
		printf("%s: %zu steps\n", script.path, script.n);
	script_done(&script);
	return ok ? 0 : 1;
}
