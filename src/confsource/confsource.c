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
#include "confsource/configmap_priv.h"

/* `-conf <(command)` is a pipe. Signals are not heeded meanwhile. */
enum { PIPE_WAIT_MS = 5000 };

struct confsource {
	char *path; /* NULL: the built-in default */
	bool is_stdin;
	bool have_stdin;
	struct configmap *map; /* NULL: it is none */
	struct strbuf kept;    /* standard input */
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

int confsource_open(const struct confsource_opts *o, struct confsource **ret, char *err,
		    size_t err_n)
{
	static const char prefix[] = "configmap:";
	struct configmap *map = NULL;
	if (o->name != NULL && strncmp(o->name, prefix, sizeof(prefix) - 1) == 0) {
		int r = configmap_new(
			&(struct configmap_conf){ .where = o->name + sizeof(prefix) - 1,
						  .kubeconfig = o->kubeconfig,
						  .state_dir = o->state_dir },
			&map, err, err_n);
		if (r < 0)
			return r;
	}
	*ret = confsource_new(map != NULL ? configmap_name(map) : o->name, o->default_port);
	(*ret)->map = map;
	return 0;
}

bool confsource_is_watched(const struct confsource *s)
{
	return s->map != NULL;
}

int confsource_fd(const struct confsource *s)
{
	return configmap_fd(s->map);
}

bool confsource_changed(struct confsource *s)
{
	return configmap_changed(s->map);
}

void confsource_accepted(struct confsource *s)
{
	configmap_accepted(s->map);
}

int confsource_last_good(struct confsource *s, struct strbuf *out, char *why, size_t why_n)
{
	return configmap_last_good(s->map, out, why, why_n);
}

void confsource_free(struct confsource *s)
{
	if (s == NULL)
		return;
	configmap_free(s->map);
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
	return s->is_stdin || s->map != NULL ? NULL : s->path;
}

int confsource_load(struct confsource *s, struct strbuf *out, char *why, size_t why_n)
{
	int r = 0;
	if (s->map != NULL)
		return configmap_load(s->map, out, why, why_n);
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
