/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cgroups of this machine, version 2, by their path. */
#pragma once

#include <stdint.h>

#include "base/strbuf.h"

enum { NODE_CGROUP_LEVEL_MAX = 255 }; /* the kernel's limit for a rule */

struct node_cgroup {
	uint64_t id;	/* the kernel's: the number of its folder */
	uint32_t level; /* below the root of the hierarchy */
};

/* Appends the path without empty parts and ".": "/system.slice//a.service/" as systemd and people write it. Its level,
 * or 0: it leads out of the hierarchy, names its root, or is too deep. */
uint32_t node_cgroup_tidy_path(const char *path, struct strbuf *out);

/* Looks in `root`, where a hierarchy of version 2 is mounted; NULL: where this machine has it. Returns NULL, or
 * a static text that says why there is no such cgroup. */
const char *node_cgroup_find(const char *root, const char *path, struct node_cgroup *ret);
