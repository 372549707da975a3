/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Removes other users' access to the files of the data directory at start (mode 0600), and their
 * write permission on the directory. Files created later get the right mode when they are
 * created. */
#include "apiserver/access/file_modes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/err.h"
#include "base/mem.h"

/* Not ca.crt, which is public. */
static const struct {
	const char *name, *advice;
} files[] = {
	{ "admin.token", "; remove it and the kubeconfig, and start again, to get another token" },
	{ "system.token", "; remove it and start again to get another token" },
	{ "kubeconfig", "; remove admin.token and start again to get another token" },
	{ "system.kubeconfig", "; remove system.token and start again to get another token" },
	{ "ca.pem", "; remove it and start again to get another key" },
	{ "old-ca.pem", "" },
	{ "server.pem", "; remove it and start again to get another key" },
	{ "store.db", "" },
	{ "store.db-wal", "" },
	{ "store.db-shm", "" },
	{ "store.spare", "" },
	{ "store.revision", "" },
	{ "store.lock", "" },
};

/* The old mode if it was changed, else 0. -errno.
 * The file is opened with O_PATH: closing any other descriptor of store.db or its -shm would drop
 * the POSIX locks that SQLite holds in this process, and the next process that opens the database
 * would truncate the memory that is mapped here. */
static int restrict_file(const char *path)
{
	struct stat st;
	int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return 0;
	int r = 0;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	    (st.st_mode & S_IRWXO) != 0) {
		/* fchmod() refuses such a descriptor */
		CLEANUP(freep) char *same_file = xasprintf("/proc/self/fd/%d", fd);
		r = chmod(same_file, S_IRUSR | S_IWUSR) < 0 ? -errno : (int)(st.st_mode & 0777);
	}
	close(fd);
	return r;
}

/* A user who may write the directory may replace its files, unless it has the sticky bit. Write
 * permission of the group is kept: it was given on purpose. */
static void restrict_dir(const char *dir, void (*on_error)(void *ctx, const char *text), void *ctx)
{
	struct stat st;
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & S_IWOTH) != 0 &&
	    (st.st_mode & S_ISVTX) == 0) {
		mode_t closed = st.st_mode & 07777 & ~(mode_t)S_IWOTH;
		int r = fchmod(fd, closed) < 0 ? -errno : 0;
		CLEANUP(freep)
		char *text =
			r < 0 ? xasprintf("'%s' can be written by all users, and its mode cannot "
					  "be changed: %s",
					  dir, err_str(r))
			      : xasprintf("'%s' could be written by all users (mode %03o); its "
					  "mode is %03o now; check that its files are yours",
					  dir, (unsigned)(st.st_mode & 07777), (unsigned)closed);
		if (on_error != NULL)
			on_error(ctx, text);
	}
	close(fd);
}

void apiserver_file_modes_restrict(const char *dir, void (*on_error)(void *ctx, const char *text),
				   void *ctx)
{
	restrict_dir(dir, on_error, ctx);
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		CLEANUP(freep) char *path = xasprintf("%s/%s", dir, files[i].name);
		int r = restrict_file(path);
		if (r == 0 || on_error == NULL)
			continue;
		CLEANUP(freep)
		char *text = r < 0 ? xasprintf("'%s' can be read by all users, and its mode cannot "
					       "be changed: %s",
					       path, err_str(r))
				   : xasprintf("'%s' could be read by all users (mode %03o); its "
					       "mode is 0600 now%s",
					       path, (unsigned)r, files[i].advice);
		on_error(ctx, text);
	}
}
