/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The storage folders of container runtimes: a source outside of the bundle must lie below one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { HOOK_STORAGE_ROOTS_MAX = 16 };

struct hook_storage {
	const char *root[HOOK_STORAGE_ROOTS_MAX]; /* absolute paths, borrowed */
	size_t n_roots;
	char user_root[64]; /* the one below /run/user, if it is in the list */
};

/* Those of podman, CRI-O and containerd as they are by default; the list points into *storage,
 * which must stay where it is. */
void hook_storage_use_defaults(struct hook_storage *storage);
/* False for a path that is not absolute, or is the root of all, and for one too many. */
bool hook_storage_add(struct hook_storage *storage, const char *path);
