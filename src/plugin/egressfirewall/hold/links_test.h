/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests and benchmarks have address sets of their own instead of agents. */
#pragma once

#include "plugin/egressfirewall/hold/links.h"

/* Links made from now on have the sets that `set_of` returns (NULL: no connection), and are asked on the
 * thread that asks. NULL: agents again. */
void egressfirewall_links_preset(struct addrset *(*set_of)(const char *node));
