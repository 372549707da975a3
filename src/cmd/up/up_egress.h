/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `fairlead up --egress enforce`: the agent of this machine as a child process. */
#pragma once

#include <stdbool.h>

#include "base/err_text.h"
#include "cmd/up/up_children.h"
#include "net/addr.h"

#define UP_EGRESS_CHILD "egress"

struct up_egress_conf {
	const char *kubeconfig, *data, *ns; /* of DNSNames and of its report */
	const union net_addr
		*dns; /* our DNS server: always reachable, as are those of /etc/resolv.conf */
};

/* Path of the agent's socket; the caller frees it. */
char *up_egress_socket(const char *data);

/* May this process change nftables, as its child would? Negative with a sentence. */
MUST_CHECK int up_egress_check(struct err_text why);

/* Logs what rules with names lack: the controller that looks them up, or the DNS server that reports what it answers. */
void up_egress_warn(bool has_controller, bool has_own_corefile);

/* Adds `fairlead node --machine` to the programs that run beside. Negative with a sentence. */
MUST_CHECK int up_egress_add_child(const struct up_egress_conf *conf, struct up_children *children,
				   struct err_text why);
/* Waits a moment until that program accepts connections: names of rules that are looked up before it does get
 * SERVFAIL. False: it does not yet. */
bool up_egress_wait(const char *data);
