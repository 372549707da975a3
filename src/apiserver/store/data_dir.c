/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The data directory: created if it is missing, used by one store at a time. The lock belongs to an
 * open file, so the kernel releases it however the process ends; the pid in the file is only for
 * error messages.
 *
 * Its file `store.revision` is an upper bound of all revisions ever assigned. The writer raises it in
 * large steps, so it costs nothing. It answers two questions if the database is lost or damaged: did
 * one exist, and where must revisions continue after a restore. */
#include "apiserver/store/data_dir_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "base/slice.h"

int store_dir_sync(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	int r = fsync(fd) < 0 ? -errno : 0;
	close(fd);
	return r;
}

/* Creates one directory and syncs its parent, so that it survives a crash. */
static int make_one_dir(const char *path)
{
	if (mkdir(path, 0700) < 0)
		return errno == EEXIST ? 0 : -errno;
	CLEANUP(freep) char *copy = xstrdup(path);
	return store_dir_sync(dirname(copy));
}

/* Creates the directory and its parents. */
static int make_dir(const char *dir)
{
	CLEANUP(freep) char *path = xstrdup(dir);
	for (char *p = path + 1; *p != '\0'; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		int r = make_one_dir(path);
		if (r < 0)
			return r;
		*p = '/';
	}
	return make_one_dir(path);
}

static int report_holder(int fd, const char *dir, struct err_text err)
{
	char pid[24];
	ssize_t n = pread(fd, pid, sizeof(pid) - 1, 0);
	pid[n > 0 ? n : 0] = '\0';
	pid[strcspn(pid, "\n")] = '\0';
	err_text_set(err, "data directory '%s' is in use by process %s", dir,
		     pid[0] != '\0' ? pid : "(unknown)");
	return ERR_BUSY;
}

static int write_pid(int fd)
{
	char pid[24];
	int n = snprintf(pid, sizeof(pid), "%d\n", (int)getpid());
	if (ftruncate(fd, 0) < 0 || pwrite(fd, pid, (size_t)n, 0) < 0)
		return -errno;
	return 0;
}

static int lock_dir(const char *dir, int *ret, struct err_text err)
{
	CLEANUP(freep) char *path = xasprintf("%s/store.lock", dir);
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	struct flock f = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int r = 0;
	if (fcntl(fd, F_OFD_SETLK, &f) < 0)
		r = errno == EAGAIN || errno == EACCES ? report_holder(fd, dir, err) : -errno;
	if (r == 0) {
		r = write_pid(fd);
		/* Without the pid the lock works too, and a store must open on a full disk. */
		if (r == -ENOSPC || r == -EDQUOT || r == -EFBIG)
			r = 0;
	}
	if (r < 0) {
		close(fd);
		return r;
	}
	*ret = fd;
	return 0;
}

int store_dir_lock(const char *dir, int *ret, struct err_text err)
{
	int r = make_dir(dir);
	if (r == 0)
		r = lock_dir(dir, ret, err);
	if (r < 0 && r != ERR_BUSY)
		err_text_set(err, "cannot use data directory '%s': %s", dir, err_str(r));
	return r;
}

/* ---- the bound of revisions ---- */

int store_bound_read(const char *dir, uint64_t *ret)
{
	CLEANUP(freep) char *path = xasprintf("%s/store.revision", dir);
	char text[32];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? ERR_NOTFOUND : -errno;
	ssize_t n = read(fd, text, sizeof(text));
	close(fd);
	if (n <= 0 || (size_t)n == sizeof(text))
		return ERR_PARSE;
	return slice_u64(slice_trim((struct slice){ text, (size_t)n }), ret);
}

static int write_synced(const char *path, const char *text, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	int r = 0;
	if (write(fd, text, len) != (ssize_t)len || fsync(fd) < 0)
		r = errno != 0 ? -errno : -EIO;
	close(fd);
	return r;
}

static int write_bound(const char *dir, uint64_t bound)
{
	CLEANUP(freep) char *path = xasprintf("%s/store.revision", dir);
	CLEANUP(freep) char *new = xasprintf("%s.new", path);
	char text[32];
	int n = snprintf(text, sizeof(text), "%" PRIu64 "\n", bound);
	int r = write_synced(new, text, (size_t)n);
	if (r == 0 && rename(new, path) < 0)
		r = -errno;
	if (r == 0)
		r = store_dir_sync(dir);
	return r == -ENOSPC || r == -EDQUOT || r == -EFBIG ? ERR_SPACE : r;
}

int store_bound_reserve(const char *dir, uint64_t above, uint64_t *ret)
{
	uint64_t bound = above + STORE_BOUND_STEP;
	int r = write_bound(dir, bound);
	if (r == 0)
		*ret = bound;
	return r;
}
