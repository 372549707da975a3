/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether packets of this node's pods meet nftables at all: a data path in eBPF or Open vSwitch takes them past
 * the kernel's forward hook, and rules there do nothing. */
#pragma once

/* NULL: nothing is known against it. Otherwise a sentence that says what takes packets past the rules. */
const char *node_data_path_bypass(void);
