/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Asking one's own health page, as a kubelet would, to see whether the process keeps up. */
#pragma once

/* GETs /health at `addr`, counts how long it took and whether it failed, and warns in the log about
 * failures and about more than a second. Blocks for three seconds at most. */
void health_selfcheck(const char *addr);
/* Makes the metrics appear before there is anything to count. */
void health_selfcheck_init(void);
