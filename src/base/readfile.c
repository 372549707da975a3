/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads a descriptor to its end, or a whole file, up to a limit. */
#include "base/readfile.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"

static int wait_until(int fd, uint64_t due_ns)
{
	uint64_t now = clock_mono_ns();
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int n = poll(&p, 1, due_ns > now ? (int)((due_ns - now) / NS_PER_MS) : 0);
	return n > 0 ? 0 : n == 0 ? -ETIMEDOUT : -errno;
}

/* due_ns 0: reading may block. */
static int read_all(int fd, size_t max, uint64_t due_ns, struct strbuf *out)
{
	char buf[8192];
	size_t before = out->n;
	for (;;) {
		int r = due_ns != 0 ? wait_until(fd, due_ns) : 0;
		if (r == -EINTR)
			continue;
		if (r < 0)
			return r;
		ssize_t n = read(fd, buf, sizeof(buf));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return 0;
		if (out->n - before + (size_t)n > max)
			return ERR_LIMIT;
		strbuf_add(out, buf, (size_t)n);
	}
}

int readfile_fd(int fd, size_t max, struct strbuf *out)
{
	return read_all(fd, max, 0, out);
}

int readfile_path(const char *path, size_t max, unsigned wait_ms, struct strbuf *out)
{
	uint64_t due = clock_mono_ns() + wait_ms * NS_PER_MS;
	/* O_NONBLOCK: to open a pipe that nobody writes to would wait as well. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	int r = read_all(fd, max, due, out);
	close(fd);
	return r;
}
