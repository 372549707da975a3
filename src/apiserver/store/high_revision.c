/* The file `store.revision`: a number above which no revision has ever been given out. It is kept
 * ahead of the writer in large steps, so it costs nothing, and tells two things when the database
 * cannot: that there was one, and where revisions must go on after a restore. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "apiserver/store/store_priv.h"
#include "base/err.h"
#include "base/mem.h"

int store_high_read(const char *dir, uint64_t *ret)
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

int store_sync_dir(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	int r = fsync(fd) < 0 ? -errno : 0;
	close(fd);
	return r;
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

int store_high_write(const char *dir, uint64_t high)
{
	CLEANUP(freep) char *path = xasprintf("%s/store.revision", dir);
	CLEANUP(freep) char *new = xasprintf("%s.new", path);
	char text[32];
	int n = snprintf(text, sizeof(text), "%" PRIu64 "\n", high);
	int r = write_synced(new, text, (size_t)n);
	if (r == 0 && rename(new, path) < 0)
		r = -errno;
	if (r == 0)
		r = store_sync_dir(dir);
	return r == -ENOSPC || r == -EDQUOT || r == -EFBIG ? ERR_SPACE : r;
}

int store_high_reserve(const char *dir, uint64_t above, uint64_t *high)
{
	uint64_t to = above + STORE_RESERVE;
	int r = store_high_write(dir, to);
	if (r == 0)
		*high = to;
	return r;
}
