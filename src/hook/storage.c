/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which folders are taken for those of a runtime. */
#include "hook/storage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"

static const char *const default_roots[] = {
	"/run/containers",     /* podman and CRI-O: containers' run-time files */
	"/var/run/containers", /* the same, where it is no link to /run */
	"/var/lib/containers", /* podman and CRI-O: images and containers */
	"/run/containerd",     /* containerd: bundles */
	"/var/lib/containerd", /* containerd: files of sandboxes */
};

/* This user as the node's initial namespace knows them: podman without root runs the hook as root
 * of a user namespace. */
static unsigned long find_outer_uid(void)
{
	unsigned long uid = geteuid();
	char line[128];
	FILE *map = fopen("/proc/self/uid_map", "re");
	if (map == NULL)
		return uid;
	/* The kernel's own lines: three numbers each. */
	while (fgets(line, sizeof(line), map) != NULL) {
		char *at = line;
		unsigned long inside = strtoul(at, &at, 10);
		unsigned long outside = strtoul(at, &at, 10);
		unsigned long count = strtoul(at, &at, 10);
		if (uid >= inside && uid - inside < count) {
			uid = outside + (uid - inside);
			break;
		}
	}
	fclose(map);
	return uid;
}

bool hook_storage_add(struct hook_storage *storage, const char *path)
{
	if (storage->n_roots == HOOK_STORAGE_ROOTS_MAX || path[0] != '/' ||
	    path[strspn(path, "/.")] == '\0')
		return false;
	storage->root[storage->n_roots++] = path;
	return true;
}

void hook_storage_use_defaults(struct hook_storage *storage)
{
	for (size_t i = 0; i < ARRAY_LEN(default_roots); i++)
		(void)hook_storage_add(storage, default_roots[i]);
	snprintf(storage->user_root, sizeof(storage->user_root), "/run/user/%lu/containers",
		 find_outer_uid());
	(void)hook_storage_add(storage, storage->user_root);
}
