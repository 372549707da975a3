/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files, globs and the environment for the Corefile parser. */
#include "server/config/load.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/err_text.h"
#include "base/log.h"
#include "corefile/corefile.h"
#include "server/config/watch.h"

static int source_glob(void *ctx, const char *pattern, struct arena *arena, const char *const **ret,
		       size_t *ret_n)
{
	glob_t g = { 0 };
	char absolute[PATH_MAX];
	config_watch_pattern(ctx, pattern);
	*ret_n = 0;
	*ret = NULL;
	if (glob(pattern, 0, NULL, &g) != 0) {
		globfree(&g);
		return 0;
	}
	const char **names = arena_alloc(arena, (g.gl_pathc + 1) * sizeof(*names));
	for (size_t i = 0; i < g.gl_pathc; i++) {
		const char *p =
			realpath(g.gl_pathv[i], absolute) != NULL ? absolute : g.gl_pathv[i];
		names[i] = arena_strdup(arena, p);
	}
	*ret = names;
	*ret_n = g.gl_pathc;
	globfree(&g);
	return 0;
}

static int source_read(void *ctx, const char *path, struct arena *arena, struct slice *ret)
{
	struct stat st;
	config_watch_file(ctx, path);
	/* A pipe without a writer must not hold us up. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	int r = fstat(fd, &st) == 0 ? 0 : -errno;
	if (r == 0 && !S_ISREG(st.st_mode))
		r = S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	if (r == 0 && st.st_size > COREFILE_MAX_BYTES)
		r = ERR_LIMIT;
	char *buf = r == 0 ? arena_alloc(arena, (size_t)st.st_size + 1) : NULL;
	size_t n = 0;
	while (r == 0 && n < (size_t)st.st_size) {
		ssize_t got = read(fd, buf + n, (size_t)st.st_size - n);
		if (got < 0)
			r = -errno;
		if (got <= 0)
			break;
		n += (size_t)got;
	}
	close(fd);
	*ret = (struct slice){ buf, n };
	return r;
}

static const char *source_env(void *ctx, const char *name)
{
	(void)ctx;
	return getenv(name);
}

static void source_warn(void *ctx, struct srcpos pos, const char *text)
{
	(void)ctx;
	log_warn(NULL, "%s:%u:%u: %s", pos.file, pos.line, pos.col, text);
}

static int parse_text(const struct config_source *src, struct slice text, struct corefile **ret,
		      struct srcerr *err)
{
	const struct corefile_source files = { .ctx = src->watch,
					       .glob = source_glob,
					       .read = source_read,
					       .env = source_env,
					       .warn = source_warn };
	return corefile_parse(src->name, text, &files, ret, err);
}

static int load_and_parse(const struct config_source *src, struct corefile **ret,
			  struct srcerr *err)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	char why[256];
	if (src->path != NULL)
		config_watch_file(src->watch, src->path);
	int r = src->load(src->ctx, &text, ERR_TEXT(why));
	if (r < 0) {
		srcerr_set(err, (struct srcpos){ 0 }, "%s", why);
		return r;
	}
	return parse_text(src, strbuf_slice(&text), ret, err);
}

int config_load(const struct config_source *src, struct corefile **ret, struct srcerr *err)
{
	config_watch_begin(src->watch);
	int r = load_and_parse(src, ret, err);
	config_watch_end(src->watch);
	return r;
}

int config_load_for_start(const struct config_source *src, struct corefile **ret,
			  struct srcerr *err)
{
	struct corefile *loaded = NULL;
	int r = config_load(src, &loaded, err);
	if (r < 0)
		return r;
	if (loaded->n_block != 0 || src->fallback == NULL) {
		*ret = loaded;
		return 0;
	}
	r = parse_text(src, slice_of(src->fallback), ret, err);
	if (r == 0)
		corefile_add_unserved(*ret, loaded);
	corefile_free(loaded);
	return r;
}
