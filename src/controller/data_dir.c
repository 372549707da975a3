/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Opens the data directory of a controller, and creates it when it is first needed. */
#include "controller/data_dir.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "controller/controller.h"

enum { PRIVATE_MODE = 0700 };

static int fail_with_errno(const char *what, const char *path, struct err_text err)
{
	int r = -errno;
	err_text_set(err, "cannot %s the data directory '%s': %s", what, path, err_str(r));
	return r;
}

int controller_data_dir(const struct controller_ctx *ctx, struct err_text err)
{
	const char *parent = ctx->options != NULL ? ctx->options->data_dir : NULL;
	if (parent == NULL) {
		err_text_set(err, "this process has no data directory for controllers");
		return ERR_NOTFOUND;
	}
	assert(ctx->name != NULL);
	CLEANUP(freep) char *path = xasprintf("%s/%s", parent, ctx->name);
	if (mkdir(parent, PRIVATE_MODE) < 0 && errno != EEXIST)
		return fail_with_errno("create", parent, err);
	if (mkdir(path, PRIVATE_MODE) < 0 && errno != EEXIST)
		return fail_with_errno("create", path, err);
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd >= 0 ? fd : fail_with_errno("open", path, err);
}
