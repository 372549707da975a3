/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A zone's master file on disk: reading it, and reading it again when it changed. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/compiler.h"
#include "base/srcpos.h"

struct dns_zone;

struct file_source {
	const char *path;
	const uint8_t *origin;
	const char *origin_text;
	bool by_mtime; /* read again by time of change instead of serial */

	/* What was read last, successfully or not. */
	struct timespec read_mtime;
	off_t read_size;
	ino_t read_inode;
	bool read_settled; /* the file had not changed for a while then, and includes no other */
	struct timespec mtime; /* of what is served */
	char last_error[512];  /* logged last; "" when reading succeeded since */
};

/* Reads the file. 0; -errno when it cannot be opened; else a negative code, with place and reason
 * in `err` in all cases. */
MUST_CHECK int file_source_read(struct file_source *source, struct srcerr *err,
				struct dns_zone **ret);
/* The zone of a file that changed; NULL when it did not or is bad, which is logged, each error
 * once. `now`: what is served, or NULL. */
struct dns_zone *file_source_reload(struct file_source *source, const struct dns_zone *now);
