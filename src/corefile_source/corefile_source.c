/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the Corefile comes from: a file, standard input, a ConfigMap, or the built-in default. */
#include "corefile_source/corefile_source.h"

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
#include "corefile_source/configmap_priv.h"

/* `-conf <(command)` is a pipe. Signals are not heeded meanwhile. */
enum { PIPE_WAIT_MS = 5000 };

struct corefile_source {
	char *path; /* NULL: the built-in default */
	bool is_stdin;
	bool have_stdin;
	struct configmap *map; /* NULL: it is none */
	struct strbuf kept;    /* standard input */
	struct strbuf fallback;
};

struct corefile_source *corefile_source_new(const char *name, unsigned default_port)
{
	struct corefile_source *s = xcalloc(1, sizeof(*s));
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

int corefile_source_open(const struct corefile_source_opts *opts, struct corefile_source **ret,
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
	*ret = corefile_source_new(map != NULL ? configmap_name(map) : opts->name,
				   opts->default_port);
	(*ret)->map = map;
	return 0;
}

bool corefile_source_is_watched(const struct corefile_source *source)
{
	return source->map != NULL;
}

int corefile_source_fd(const struct corefile_source *source)
{
	return configmap_fd(source->map);
}

bool corefile_source_changed(struct corefile_source *source)
{
	return configmap_changed(source->map);
}

void corefile_source_accepted(struct corefile_source *source)
{
	configmap_accepted(source->map);
}

int corefile_source_last_good(struct corefile_source *source, struct strbuf *out,
			      struct err_text why)
{
	return configmap_last_good(source->map, out, why);
}

void corefile_source_free(struct corefile_source *source)
{
	if (source == NULL)
		return;
	configmap_free(source->map);
	strbuf_done(&source->kept);
	strbuf_done(&source->fallback);
	free(source->path);
	free(source);
}

const char *corefile_source_default(const struct corefile_source *source)
{
	return source->fallback.s;
}

const char *corefile_source_name(const struct corefile_source *source)
{
	return source->path != NULL ? source->path : "Corefile";
}

const char *corefile_source_path(const struct corefile_source *source)
{
	return source->is_stdin || source->map != NULL ? NULL : source->path;
}

int corefile_source_load(struct corefile_source *source, struct strbuf *out, struct err_text why)
{
	int r = 0;
	if (source->map != NULL)
		return configmap_load(source->map, out, why);
	strbuf_reset(out);
	if (source->is_stdin && !source->have_stdin) {
		r = readfile_fd(STDIN_FILENO, COREFILE_SOURCE_MAX_BYTES, &source->kept);
		source->have_stdin = r == 0;
	}
	if (source->is_stdin)
		strbuf_add_slice(out, strbuf_slice(&source->kept));
	else if (source->path != NULL)
		r = readfile_path(source->path, COREFILE_SOURCE_MAX_BYTES, PIPE_WAIT_MS, out);
	if (r < 0)
		err_text_set(why, "cannot read '%s': %s", corefile_source_name(source), err_str(r));
	return r;
}
