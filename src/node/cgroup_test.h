/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests. */
#pragma once

#include <stdint.h>

#include "base/strbuf.h"

/* Appends the path without empty parts and ".": "/system.slice//a.service/" as systemd and people write it. Its level,
 * or 0: it leads out of the hierarchy, names its root, or is too deep. */
uint32_t node_cgroup_tidy_path(const char *path, struct strbuf *out);
