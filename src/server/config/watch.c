/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Watches on folders by inotify. The kernel returns one number per folder, however often it is
 * watched, so a place is that number and a file name in it. */
#include "server/config/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/strbuf.h"
#include "base/vec.h"

enum {
	LINKS_MAX = 40,	   /* on the way to one file, as in the kernel */
	PLACES_MAX = 4096, /* beyond, changes are found by looking */
};

struct place {
	int wd;
	char *dir;
	char *name; /* NULL: any */
};
typedef VEC(struct place) places;

struct config_watch {
	int fd;
	places now, before;
};

struct config_watch *config_watch_new(void)
{
	int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (fd < 0)
		return NULL;
	struct config_watch *watch = xcalloc(1, sizeof(*watch));
	watch->fd = fd;
	return watch;
}

static void free_places(places *list)
{
	for (size_t i = 0; i < list->n; i++) {
		free(list->v[i].dir);
		free(list->v[i].name);
	}
	vec_done(list);
	*list = (places){ 0 };
}

void config_watch_free(struct config_watch *watch)
{
	if (watch == NULL)
		return;
	close(watch->fd);
	free_places(&watch->now);
	free_places(&watch->before);
	free(watch);
}

int config_watch_fd(const struct config_watch *watch)
{
	return watch != NULL ? watch->fd : -1;
}

void config_watch_begin(struct config_watch *watch)
{
	if (watch == NULL)
		return;
	free_places(&watch->before);
	watch->before = watch->now;
	watch->now = (places){ 0 };
}

static bool has_folder(const places *list, int wd)
{
	for (size_t i = 0; i < list->n; i++) {
		if (list->v[i].wd == wd)
			return true;
	}
	return false;
}

void config_watch_end(struct config_watch *watch)
{
	if (watch == NULL)
		return;
	for (size_t i = 0; i < watch->before.n; i++) {
		/* One that the kernel took away itself is refused, which is as good. */
		if (!has_folder(&watch->now, watch->before.v[i].wd))
			inotify_rm_watch(watch->fd, watch->before.v[i].wd);
	}
	free_places(&watch->before);
}

/* A name in a folder; NULL: any. A file's end of writing counts, not each write: what is half
 * written is no configuration. */
static void add_watch(struct config_watch *watch, const char *dir, const char *name)
{
	enum {
		EVENTS = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE,
	};
	if (watch->now.n >= PLACES_MAX)
		return;
	int wd = inotify_add_watch(watch->fd, dir, EVENTS | IN_ONLYDIR);
	if (wd < 0)
		return;
	vec_push(&watch->now, (struct place){ .wd = wd,
					      .dir = xstrdup(dir),
					      .name = name != NULL ? xstrdup(name) : NULL });
}

/* Where the last step of path[0..n) begins; *dir is the folder in front of it. */
static size_t last_step(const char *path, size_t len, struct strbuf *dir)
{
	size_t at = len;
	while (at > 0 && path[at - 1] != '/')
		at--;
	strbuf_reset(dir);
	if (at == 0)
		strbuf_adds(dir, ".");
	else
		strbuf_add(dir, path, at > 1 ? at - 1 : 1);
	return at;
}

/* Puts the target of a link in place of path[0..n); false when it is none. */
static bool replace_link(struct strbuf *path, size_t count, const char *dir)
{
	char target[PATH_MAX];
	CLEANUP(strbuf_done) struct strbuf link = STRBUF_INIT;
	strbuf_add(&link, path->s, count);
	ssize_t len = readlink(link.s, target, sizeof(target));
	if (len <= 0 || (size_t)len >= sizeof(target))
		return false;
	CLEANUP(strbuf_done) struct strbuf to = STRBUF_INIT;
	if (target[0] != '/')
		strbuf_addf(&to, "%s/", dir);
	strbuf_add(&to, target, (size_t)len);
	strbuf_add(&to, path->s + count, path->n - count);
	strbuf_reset(path);
	strbuf_add_slice(path, strbuf_slice(&to));
	return true;
}

/* The next link on the path is watched and followed; false when there is none. */
static bool follow_first(struct config_watch *watch, struct strbuf *path)
{
	CLEANUP(strbuf_done) struct strbuf dir = STRBUF_INIT;
	CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;
	for (size_t n = 1; n <= path->n; n++) {
		if ((n < path->n && path->s[n] != '/') || path->s[n - 1] == '/')
			continue;
		size_t at = last_step(path->s, n, &dir);
		strbuf_reset(&name);
		strbuf_add(&name, path->s + at, n - at);
		if (replace_link(path, n, dir.s)) {
			add_watch(watch, dir.s, name.s);
			return true;
		}
	}
	return false;
}

void config_watch_file(struct config_watch *watch, const char *path)
{
	CLEANUP(strbuf_done) struct strbuf p = STRBUF_INIT;
	CLEANUP(strbuf_done) struct strbuf dir = STRBUF_INIT;
	if (watch == NULL)
		return;
	strbuf_adds(&p, path);
	for (int i = 0; i < LINKS_MAX && follow_first(watch, &p); i++) {
	}
	size_t at = last_step(p.s, p.n, &dir);
	add_watch(watch, dir.s, p.s + at);
}

void config_watch_pattern(struct config_watch *watch, const char *pattern)
{
	CLEANUP(strbuf_done) struct strbuf dir = STRBUF_INIT;
	if (watch == NULL)
		return;
	size_t n = strcspn(pattern, "*?[");
	if (pattern[n] == '\0') {
		config_watch_file(watch, pattern);
		return;
	}
	last_step(pattern, n, &dir);
	config_watch_file(watch, dir.s);
	add_watch(watch, dir.s, NULL);
}

/* A file that was made just now is written next; a link, or a second name of a file, is whole. */
static bool will_be_written(const struct place *place, const char *name)
{
	CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
	struct stat st;
	strbuf_addf(&path, "%s/%s", place->dir, name);
	return lstat(path.s, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1;
}

static bool is_relevant(const struct config_watch *watch, const struct inotify_event *event)
{
	if ((event->mask & IN_Q_OVERFLOW) != 0)
		return true;
	if (event->len == 0)
		return false;
	for (size_t i = 0; i < watch->now.n; i++) {
		const struct place *p = &watch->now.v[i];
		if (p->wd == event->wd && (p->name == NULL || strcmp(p->name, event->name) == 0))
			return (event->mask & IN_CREATE) == 0 || !will_be_written(p, event->name);
	}
	return false;
}

bool config_watch_changed(struct config_watch *watch)
{
	_Alignas(struct inotify_event) char buf[4096];
	bool yes = false;
	ssize_t n;
	while (watch != NULL && (n = read(watch->fd, buf, sizeof(buf))) > 0) {
		for (ssize_t at = 0; at < n;) {
			const struct inotify_event *e = (const void *)(buf + at);
			yes |= is_relevant(watch, e);
			at += (ssize_t)(sizeof(*e) + e->len);
		}
	}
	return yes;
}
