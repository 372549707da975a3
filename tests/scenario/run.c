/* Runs one scenario file on the real chain, with a fake network and clock (server/fake.h), and says
 * at which line what differed. */
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/duration.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "question.h"
#include "script.h"

struct run {
	const struct script *script;
	const struct script_step *step;
	struct fake *fake;
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

/* The body with @DIR@ filled in; the caller frees it. */
static char *filled(const struct run *r)
{
	struct strbuf out = STRBUF_INIT;
	const char *at = r->step->body, *found;
	while ((found = strstr(at, "@DIR@")) != NULL) {
		strbuf_add(&out, at, (size_t)(found - at));
		strbuf_adds(&out, r->dir);
		at = found + strlen("@DIR@");
	}
	strbuf_adds(&out, at);
	return strbuf_take(&out);
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
	return r->fake != NULL || wrong(r, fake_error(), NULL, NULL);
}

static bool step_reload(struct run *r)
{
	if (!need_server(r))
		return false;
	char *text = filled(r);
	bool ok = fake_reload(r->fake, text);
	free(text);
	return ok || wrong(r, fake_error(), NULL, NULL);
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
	if (question_parse(r->step->args, &q, why, sizeof(why)) < 0)
		return wrong(r, why, NULL, NULL);
	char *first = NULL;
	bool ok = true, differed = false;
	for (unsigned i = 0; i < q.repeat && ok; i++) {
		const char *got = fake_ask(r->fake, &q.ask);
		ok = expect_reply(r, got, q.unordered);
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
	if (question_parse(r->step->args, &q, why, sizeof(why)) < 0)
		return wrong(r, why, NULL, NULL);
	for (unsigned i = 0; i < q.repeat; i++)
		fake_send(r->fake, &q.ask);
	return true;
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
	fake_advance(r->fake, (uint64_t)ns);
	return true;
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
	{ "corefile", step_corefile }, { "reload", step_reload },   { "refused", step_refused },
	{ "file", step_file },	       { "ask", step_ask },	    { "send", step_send },
	{ "next", step_next },	       { "advance", step_advance }, { "log", step_log },
	{ "metric", step_metric },
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
	struct run r = { .script = &script, .dir = "/tmp/fairlead-scenario-XXXXXX" };
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
	nftw(r.dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	if (ok)
		printf("%s: %zu steps\n", script.path, script.n);
	script_done(&script);
	return ok ? 0 : 1;
}
