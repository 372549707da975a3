/* SPDX-License-Identifier: GPL-3.0-or-later */
/* In-place change of a small file that others are reading (rewrite.h says how). */
#include "hook/rewrite.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "hook/resolv_text.h"

enum { LOCK_TRIES = 500, LOCK_PAUSE_NS = 2 * 1000 * 1000 };

int hook_rewrite_lock(int fd, struct err_text err)
{
	for (int i = 0; i < LOCK_TRIES; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return 0;
		if (errno != EWOULDBLOCK && errno != EINTR) {
			int code = errno;
			err_text_set(err, "cannot lock the file: %s", strerror(code));
			return -code;
		}
		nanosleep(&(struct timespec){ .tv_nsec = LOCK_PAUSE_NS }, NULL);
	}
	err_text_set(err, "another process keeps the file locked");
	return ERR_BUSY;
}

int hook_rewrite_read(int fd, struct strbuf *out, struct err_text err)
{
	char buf[HOOK_RESOLV_BYTES_MAX + 1];
	size_t n = 0;
	while (n < sizeof(buf)) {
		ssize_t got = pread(fd, buf + n, sizeof(buf) - n, (off_t)n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			int code = errno;
			err_text_set(err, "cannot read the file: %s", strerror(code));
			return -code;
		}
		if (got == 0)
			break;
		n += (size_t)got;
	}
	if (n > HOOK_RESOLV_BYTES_MAX) {
		err_text_set(err, "the file has more than %d bytes", HOOK_RESOLV_BYTES_MAX);
		return ERR_LIMIT;
	}
	strbuf_add(out, buf, n);
	return 0;
}

/* One write of all bytes; a short one is a failure. */
static int write_whole(int fd, const void *data, size_t n, size_t at)
{
	ssize_t done;
	do
		done = pwrite(fd, data, n, (off_t)at);
	while (done < 0 && errno == EINTR);
	if (done < 0)
		return -errno;
	return (size_t)done == n ? 0 : -ENOSPC;
}

static int put_back(int fd, struct slice before)
{
	int r = write_whole(fd, before.p, before.n, 0);
	if (ftruncate(fd, (off_t)before.n) < 0 && r == 0)
		r = -errno;
	return r;
}

/* Disk space behind the end, so that a longer text does not meet a full disk half-way. What the
 * file system does not know how to do is left to put_back. */
static int reserve_space(int fd, size_t before, size_t after)
{
	if (after <= before)
		return 0;
	int r;
	do
		r = fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)after);
	while (r < 0 && errno == EINTR);
	if (r == 0 || errno == EOPNOTSUPP || errno == ENOSYS)
		return 0;
	return -errno;
}

/* Adds empty lines up to the length of the new text. File systems such as ext4 change the length of a file after
 * its content: a reader in between would get the new text, cut at the old length. */
static int lengthen(int fd, size_t before, size_t after)
{
	char lines[HOOK_RESOLV_BYTES_MAX];
	if (after <= before)
		return 0;
	memset(lines, '\n', after - before);
	return write_whole(fd, lines, after - before, before);
}

int hook_rewrite_content(int fd, struct slice before, struct slice after, struct err_text err)
{
	char buf[HOOK_RESOLV_BYTES_MAX];
	assert(before.n <= sizeof(buf) && after.n <= sizeof(buf));
	size_t n = MAX(before.n, after.n);
	memcpy(buf, after.p, after.n);
	memset(buf + after.n, '\n', n - after.n);
	int r = reserve_space(fd, before.n, after.n);
	if (r < 0) {
		err_text_set(err, "no space for the new text: %s", strerror(-r));
		return r;
	}
	r = lengthen(fd, before.n, after.n);
	if (r == 0)
		r = write_whole(fd, buf, n, 0);
	/* Cut even if nothing is behind: a longer file of another writer would otherwise keep its
	 * end. */
	if (r == 0 && ftruncate(fd, (off_t)after.n) < 0)
		r = -errno;
	if (r == 0)
		return 0;
	int back = put_back(fd, before);
	if (back < 0)
		err_text_set(err,
			     "cannot write the file: %s; and the old text could not be "
			     "written back: %s",
			     strerror(-r), strerror(-back));
	else
		err_text_set(err, "cannot write the file: %s", strerror(-r));
	return r;
}
