/* The file `store.revision`: an upper bound of all revisions ever assigned. The writer raises it in
 * large steps, so it costs nothing. It answers two questions if the database is lost or damaged: did
 * one exist, and where must revisions continue after a restore. */
#include "apiserver/store/revision_bound_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "apiserver/store/data_dir_priv.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/slice.h"

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
