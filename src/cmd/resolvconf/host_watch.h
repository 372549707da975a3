/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Waits for changes of the node's resolver file. It is read twice a second, not watched: writers
 * replace it, and it may be a symbolic link to a file that another program replaces. */
#pragma once

#include <sys/stat.h>

/* What the path led to, as far as a change shows; zeroes: to nothing. */
struct host_stamp {
	dev_t device;
	ino_t inode;
	off_t bytes;
	struct timespec changed;
};

struct host_stamp host_watch_stamp(const char *path);
/* Returns when the file is another one than `*last`, or has other content, and has been so for half a
 * second, since a writer may not have ended; *last is brought up to date. */
void host_watch_wait(const char *path, struct host_stamp *last);
