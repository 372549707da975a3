/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files in memory for certificates and keys. */
#include "http/client/memfile.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"

int http_memfile_make(struct slice pem, struct http_memfile *ret)
{
	int fd = memfd_create("http-credential", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	for (size_t at = 0; at < pem.n;) {
		ssize_t n = write(fd, pem.p + at, pem.n - at);
		if (n < 0 && errno != EINTR) {
			int r = -errno;
			close(fd);
			return r;
		}
		at += n > 0 ? (size_t)n : 0;
		assert(at <= pem.n);
	}
	*ret = (struct http_memfile){ fd, xasprintf("/proc/self/fd/%d", fd) };
	return 0;
}

void http_memfile_done(struct http_memfile *file)
{
	if (file->fd >= 0)
		close(file->fd);
	free(file->path);
	*file = HTTP_MEMFILE_NONE;
}
