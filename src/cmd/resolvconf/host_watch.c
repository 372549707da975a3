/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares what stat(2) says about the node's resolver file. */
#include "cmd/resolvconf/host_watch.h"

#include <stdbool.h>
#include <time.h>

static const struct timespec pause_time = { .tv_nsec = 500000000 };

struct host_stamp host_watch_stamp(const char *path)
{
	struct stat st;
	if (stat(path, &st) != 0)
		return (struct host_stamp){ 0 };
	return (struct host_stamp){ st.st_dev, st.st_ino, st.st_size, st.st_ctim };
}

static bool is_same(const struct host_stamp *left, const struct host_stamp *right)
{
	return left->device == right->device && left->inode == right->inode &&
	       left->bytes == right->bytes && left->changed.tv_sec == right->changed.tv_sec &&
	       left->changed.tv_nsec == right->changed.tv_nsec;
}

void host_watch_wait(const char *path, struct host_stamp *last)
{
	struct host_stamp seen = *last;
	for (;;) {
		nanosleep(&pause_time, NULL);
		struct host_stamp now = host_watch_stamp(path);
		if (!is_same(&now, last) && is_same(&now, &seen)) {
			*last = now;
			return;
		}
		seen = now;
	}
}
