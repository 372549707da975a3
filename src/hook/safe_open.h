/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Opens the bundle, its config.json and the source of a mount, where others may have put something
 * else in their place: a path is walked folder by folder.
 *
 * A symbolic link is followed only on the way to the bundle or to a source outside of it, and only
 * where root, or the user that runs the hook, made it in a folder that nobody else can write to
 * (/var/run, a storage folder that was moved): never as the last component, never inside the
 * bundle, whose rootfs belongs to the container, and never below a storage folder. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/err_text.h"
#include "hook/storage.h"

/* Whose file a source outside of the bundle must be. A pod can mount any file of the node, if only
 * to read it; the hook would write to it with root's rights. */
struct hook_owner {
	const struct hook_storage *storage;
	/* Of the container and of its sandbox, NULL or "": none. Runtimes keep a sandbox's file in a
	 * folder of that name, or in `userdata` below it. */
	const char *id[2];
	bool is_any; /* who starts containers here owns them all: the storage folder is enough */
};

/* The folder at an absolute path, to begin walks at. -errno, ERR_DENIED. */
MUST_CHECK int hook_open_bundle(const char *path, struct err_text err);
/* A regular file of the bundle, for reading. */
MUST_CHECK int hook_open_in_bundle(int bundle_fd, const char *name, size_t max_bytes,
				   struct err_text err);
/* The source of a mount, for reading and writing: a regular file named resolv.conf with one name,
 * of at most max_bytes, and not the node's own. In the bundle, where a relative path begins, or the
 * owner's. */
MUST_CHECK int hook_open_source(int bundle_fd, const char *path, size_t max_bytes,
				const struct hook_owner *owner, struct err_text err);
