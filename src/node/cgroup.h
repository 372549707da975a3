/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cgroups of this machine, version 2, by their path. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"

enum { NODE_CGROUP_LEVEL_MAX = 255 }; /* the kernel's limit for a rule */

struct node_cgroup {
	uint64_t id;	/* the kernel's: the number of its folder */
	uint32_t level; /* below the root of the hierarchy */
	bool is_unknown; /* the only member that a failure sets: it could not be found out whether it exists */
};

/* Looks in `root`, where a hierarchy of version 2 is mounted; NULL: where this machine has it. Returns NULL, or
 * a static text that says why there is no such cgroup. */
const char *node_cgroup_find(const char *root, const char *path, struct node_cgroup *ret);
/* Appends the folder in which it is, or would be; false: there is none for this path. */
bool node_cgroup_folder(const char *root, const char *path, struct strbuf *out);
