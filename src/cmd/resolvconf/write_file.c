/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes a pod's resolv.conf in place. */
#include "cmd/resolvconf/write_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "hook/resolv_text.h"
#include "hook/rewrite.h"

enum { FILE_MODE = 0644 };

bool write_file_is_same(const char *left, const char *right)
{
	struct stat one, two;
	return stat(left, &one) == 0 && stat(right, &two) == 0 && one.st_dev == two.st_dev &&
	       one.st_ino == two.st_ino;
}

static void close_fd(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

/* *ret_is_new: it was made here. */
static int open_file(const char *path, bool *ret_is_new, struct err_text err)
{
	const int flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	struct stat st;
	int fd = open(path, flags);
	*ret_is_new = fd < 0 && errno == ENOENT;
	if (*ret_is_new)
		fd = open(path, flags | O_CREAT | O_EXCL, FILE_MODE);
	if (fd < 0) {
		int code = errno;
		err_text_set(err, "%s", code == ELOOP ? "it is a symbolic link" : strerror(code));
		return -code;
	}
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	err_text_set(err, "it is no regular file");
	return ERR_DENIED;
}

int write_file_put(const char *path, struct slice text, struct err_text err)
{
	CLEANUP(strbuf_done) struct strbuf before = STRBUF_INIT;
	if (text.n > HOOK_RESOLV_BYTES_MAX) {
		err_text_set(err, "the new text has %zu bytes, more than the %d of one write",
			     text.n, HOOK_RESOLV_BYTES_MAX);
		return ERR_LIMIT;
	}
	bool is_new;
	CLEANUP(close_fd) int fd = open_file(path, &is_new, err);
	if (fd < 0)
		return fd;
	int r = hook_rewrite_lock(fd, err);
	if (r == 0)
		r = hook_rewrite_read(fd, &before, err);
	if (r < 0 || slice_eq(strbuf_slice(&before), text))
		return r;
	r = hook_rewrite_content(fd, strbuf_slice(&before), text, err);
	if (r < 0 && is_new)
		unlink(path); /* an empty one would be worse than none */
	return r < 0 ? r : 1;
}
