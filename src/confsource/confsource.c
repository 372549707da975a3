/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the Corefile comes from: a file, standard input, a ConfigMap, or the built-in default. */
#include "confsource/confsource.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/err_text.h"
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

int confsource_open(const struct confsource_opts *opts, struct confsource **ret,
		    struct err_text err)
{
	static const char prefix[] = "configmap:";
	struct configmap *map = NULL;
	if (opts->name != NULL && strncmp(opts->name, prefix, sizeof(prefix) - 1) == 0) {
		int r = configmap_new(
			&(struct configmap_conf){ .where = opts->name + sizeof(prefix) - 1,
						  .kubeconfig = opts->kubeconfig,
						  .state_dir = opts->state_dir },
			&map, err);
		if (r < 0)
			return r;
	}
	*ret = confsource_new(map != NULL ? configmap_name(map) : opts->name, opts->default_port);
	(*ret)->map = map;
	return 0;
}

bool confsource_is_watched(const struct confsource *confsource)
{
	return confsource->map != NULL;
}

int confsource_fd(const struct confsource *confsource)
{
	return configmap_fd(confsource->map);
}

bool confsource_changed(struct confsource *confsource)
{
	return configmap_changed(confsource->map);
}

void confsource_accepted(struct confsource *confsource)
{
	configmap_accepted(confsource->map);
}

int confsource_last_good(struct confsource *confsource, struct strbuf *out, struct err_text why)
{
	return configmap_last_good(confsource->map, out, why);
}

void confsource_free(struct confsource *confsource)
{
	if (confsource == NULL)
		return;
	configmap_free(confsource->map);
	strbuf_done(&confsource->kept);
	strbuf_done(&confsource->fallback);
	free(confsource->path);
	free(confsource);
}

const char *confsource_default(const struct confsource *confsource)
{
	return confsource->fallback.s;
}

const char *confsource_name(const struct confsource *confsource)
{
	return confsource->path != NULL ? confsource->path : "Corefile";
}

const char *confsource_path(const struct confsource *confsource)
{
	return confsource->is_stdin || confsource->map != NULL ? NULL : confsource->path;
}

int confsource_load(struct confsource *confsource, struct strbuf *out, struct err_text why)
{
	int r = 0;
	if (confsource->map != NULL)
		return configmap_load(confsource->map, out, why);
	strbuf_reset(out);
	if (confsource->is_stdin && !confsource->have_stdin) {
		r = readfile_fd(STDIN_FILENO, CONFSOURCE_MAX_BYTES, &confsource->kept);
		confsource->have_stdin = r == 0;
	}
	if (confsource->is_stdin)
		strbuf_add_slice(out, strbuf_slice(&confsource->kept));
	else if (confsource->path != NULL)
		r = readfile_path(confsource->path, CONFSOURCE_MAX_BYTES, PIPE_WAIT_MS, out);
	if (r < 0)
		err_text_set(why, "cannot read '%s': %s", confsource_name(confsource), err_str(r));
	return r;
}
