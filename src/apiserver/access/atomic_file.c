/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads and writes small secret files. A write goes to a temporary file, which is synced and then
 * renamed, so that a crash leaves the old or the new content. */
#include "apiserver/access/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "base/readfile.h"

static int fail_with(const char *verb, const char *path, int code, struct err_text err)
{
	err_text_set(err, "cannot %s '%s': %s", verb, path, err_str(code));
	return code;
}

int apiserver_atomic_file_read(const char *dir, const char *name, struct strbuf *out,
			       struct err_text err)
{
	CLEANUP(freep) char *path = xasprintf("%s/%s", dir, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 && errno == ENOENT)
		return ERR_NOTFOUND;
	int r = fd < 0 ? -errno : readfile_fd(fd, APISERVER_ATOMIC_FILE_MAX_BYTES, out);
	if (fd >= 0)
		close(fd);
	return r < 0 ? fail_with("read", path, r, err) : 0;
}

static int write_all(int fd, struct slice text)
{
	while (text.n > 0) {
		ssize_t n = write(fd, text.p, text.n);
		if (n < 0 && errno != EINTR)
			return -errno;
		text = slice_from(text, n > 0 ? (size_t)n : 0);
	}
	return fsync(fd) < 0 ? -errno : 0;
}

static int sync_dir(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = fd < 0 || fsync(fd) < 0 ? -errno : 0;
	if (fd >= 0)
		close(fd);
	return r;
}

int apiserver_atomic_file_write(const char *dir, const char *name, struct slice text,
				struct err_text err)
{
	CLEANUP(freep) char *path = xasprintf("%s/%s", dir, name);
	CLEANUP(freep) char *temp = xasprintf("%s/.%s.new", dir, name);
	/* A file left by a crash may have any mode. */
	unlink(temp);
	int fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
	int r = fd < 0 ? -errno : write_all(fd, text);
	if (fd >= 0 && close(fd) < 0 && r == 0)
		r = -errno;
	if (r == 0 && rename(temp, path) < 0)
		r = -errno;
	if (r == 0)
		r = sync_dir(dir);
	if (r < 0)
		unlink(temp);
	return r < 0 ? fail_with("write", path, r, err) : 0;
}
