/* The spare: a file that does nothing but take up room, `store.spare`. A full disk refuses all that
 * is written, and removing objects is writing, too, as is forgetting history; so that both still
 * work, the spare's room is given to them, and to them alone, until the disk has as much again. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apiserver/store_priv.h"
#include "base/err.h"
#include "base/mem.h"

static bool is_there(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && st.st_size == STORE_SPARE_BYTES;
}

/* Blocks are taken for it, not only a length. */
static bool make(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	bool ok = posix_fallocate(fd, 0, STORE_SPARE_BYTES) == 0;
	close(fd);
	if (!ok)
		unlink(path);
	return ok;
}

/* A limit of file sizes below it is no full disk. */
static bool is_allowed(void)
{
	struct rlimit limit;
	return getrlimit(RLIMIT_FSIZE, &limit) < 0 || limit.rlim_cur >= STORE_SPARE_BYTES;
}

bool store_spare_make(struct apiserver_store *s)
{
	CLEANUP(freep) char *path = xasprintf("%s/store.spare", s->dir);
	bool ok = is_there(path) || !is_allowed() || make(path);
	atomic_store(&s->tight, !ok);
	return ok;
}

void store_spare_give(struct apiserver_store *s)
{
	CLEANUP(freep) char *path = xasprintf("%s/store.spare", s->dir);
	if (atomic_exchange(&s->tight, true))
		return;
	unlink(path);
	char text[512];
	snprintf(text, sizeof(text),
		 "the disk of '%s' is full: only deletions are taken until there is space", s->dir);
	if (s->conf.trouble != NULL)
		s->conf.trouble(s->conf.ctx, text);
}
