/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The file `last-copy` in the data directory: written beside, then renamed, so that a kill leaves the
 * old one or the new one. */
#include "controller/example/last_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "base/err.h"
#include "base/err_text.h"
#include "base/log.h"
#include "controller/controller.h"
#include "controller/data_dir.h"

#define LAST_COPY_FILE "last-copy"
#define LAST_COPY_NEW  "last-copy.new"

/* Workers share the name of the new file. */
static pthread_mutex_t file_lock = PTHREAD_MUTEX_INITIALIZER;

static int replace_file(int dir, const char *ns)
{
	int fd = openat(dir, LAST_COPY_NEW, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	int r = dprintf(fd, "%s\n", ns) < 0 ? -errno : 0;
	if (close(fd) < 0 && r == 0)
		r = -errno;
	if (r == 0 && renameat(dir, LAST_COPY_NEW, dir, LAST_COPY_FILE) < 0)
		r = -errno;
	return r;
}

void example_save_last_copy(const struct controller_ctx *ctx, const char *ns)
{
	char err[300] = "";
	int dir = controller_data_dir(ctx, ERR_TEXT(err));
	if (dir == ERR_NOTFOUND)
		return;
	if (dir < 0) {
		log_warn("controller/example", "%s", err);
		return;
	}
	pthread_mutex_lock(&file_lock);
	int r = replace_file(dir, ns);
	pthread_mutex_unlock(&file_lock);
	if (r < 0)
		log_warn("controller/example", "cannot write '" LAST_COPY_FILE "': %s", err_str(r));
	close(dir);
}
