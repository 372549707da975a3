/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Network configuration version 2 (netplan, cloud-init) of a machine. Equal input gives equal bytes;
 * every string is quoted, so that no value can be taken for something else. */
#pragma once

#include "api/machine/machine.h"
#include "api/machine/merge.h"
#include "base/strbuf.h"

/* Appends it. With `outer` below the key `network`, as netplan and VMware's metadata have it;
 * cloud-init's NoCloud has no such key (NC-6). */
void network_config_write(const struct machine *machine, const struct machine_merged *merged,
			  bool outer, struct strbuf *out);
/* The merged name servers alone: a block `nameservers` with `search` and `addresses`. */
void network_config_write_merged(const struct machine_merged *merged, struct strbuf *out);
