/* Reading a descriptor to its end. */
#include "base/readfile.h"

#include <errno.h>
#include <unistd.h>

#include "base/err.h"

int readfile_fd(int fd, size_t max, struct strbuf *out)
{
	char buf[8192];
	size_t before = out->n;
	for (;;) {
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
