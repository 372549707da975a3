/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Network plugins are known by the interfaces that they make on every node. */
#include "node/data_path.h"

#include <net/if.h>
#include <stddef.h>

#include "base/compiler.h"

/* Cilium can be configured to use the kernel's routing (bpf.hostLegacyRouting), which cannot be seen from here: then
 * `--data-path nftables` says so. */
static const struct {
	const char *interface, *reason;
} bypasses[] = {
	{ "ovs-system", "Open vSwitch forwards packets of pods (interface ovs-system)" },
	{ "br-int", "Open vSwitch forwards packets of pods (interface br-int)" },
	{ "cilium_host", "Cilium forwards packets of pods by eBPF (interface cilium_host)" },
	{ "bpfin.cali", "Calico forwards packets of pods by eBPF (interface bpfin.cali)" },
};

const char *node_data_path_bypass(void)
{
	for (size_t i = 0; i < ARRAY_LEN(bypasses); i++) {
		if (if_nametoindex(bypasses[i].interface) != 0)
			return bypasses[i].reason;
	}
	return NULL;
}
