/* Reading the Corefile's text. */
#include "confsource/confsource.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/readfile.h"

/* `-conf <(command)` is a pipe. Signals are not heeded meanwhile. */
enum { PIPE_WAIT_MS = 5000 };

struct confsource {
	char *path; /* NULL: the built-in default */
	bool is_stdin;
	bool have_stdin;
	struct strbuf kept; /* standard input */
	struct strbuf fallback;
};

struct confsource *confsource_new(const char *name, unsigned default_port)
{
	struct confsource *s = xcalloc(1, sizeof(*s));
	strbuf_init(&s->kept);
	if (name != NULL && strcmp(name, "stdin") == 0) {
		s->is_stdin = true;
		s->path = xstrdup("stdin");
	} else if (name != NULL || access("Corefile", F_OK) == 0) {
		s->path = xstrdup(name != NULL ? name : "Corefile");
	}
	strbuf_init(&s->fallback);
	strbuf_addf(&s->fallback, ".:%u {\nwhoami\nlog\n}\n", default_port);
	return s;
}

void confsource_free(struct confsource *s)
{
	if (s == NULL)
		return;
	strbuf_done(&s->kept);
	strbuf_done(&s->fallback);
	free(s->path);
	free(s);
}

const char *confsource_default(const struct confsource *s)
{
	return s->fallback.s;
}

const char *confsource_name(const struct confsource *s)
{
	return s->path != NULL ? s->path : "Corefile";
}

const char *confsource_path(const struct confsource *s)
{
	return s->is_stdin ? NULL : s->path;
}

int confsource_load(struct confsource *s, struct strbuf *out, char *why, size_t why_n)
{
	int r = 0;
	strbuf_reset(out);
	if (s->is_stdin && !s->have_stdin) {
		r = readfile_fd(STDIN_FILENO, CONFSOURCE_MAX_BYTES, &s->kept);
		s->have_stdin = r == 0;
	}
	if (s->is_stdin)
		strbuf_add_slice(out, strbuf_slice(&s->kept));
	else if (s->path != NULL)
		r = readfile_path(s->path, CONFSOURCE_MAX_BYTES, PIPE_WAIT_MS, out);
	if (r < 0)
		snprintf(why, why_n, "cannot read '%s': %s", confsource_name(s), err_str(r));
	return r;
}
