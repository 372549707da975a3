/* SPDX-License-Identifier: GPL-3.0-or-later */
/* egressfirewall: keeps a DNSName object for each name that rules of EgressFirewalls use, with the
 * addresses of the name, and reports in the status of each firewall what its rules mean.
 * docs/controllers/egressfirewall.md describes it for users. */
#include <string.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "controller/controller.h"
#include "controller/egressfirewall/admission.h"
#include "controller/egressfirewall/agents/cert_store.h"
#include "controller/egressfirewall/dnsname.h"
#include "controller/egressfirewall/enforcement.h"
#include "controller/egressfirewall/firewall.h"
#include "controller/egressfirewall/lookups.h"
#include "controller/egressfirewall/state.h"
#include "controller/egressfirewall/transfer/poll.h"
#include "controller/egressfirewall/watches.h"

static const struct {
	struct slice prefix;
	int (*reconcile)(struct controller_ctx *ctx, const char *name);
} key_kinds[] = {
	{ { EGRESSFIREWALL_FIREWALL_KEY, sizeof(EGRESSFIREWALL_FIREWALL_KEY) - 1 },
	  egressfirewall_reconcile_firewall },
	{ { EGRESSFIREWALL_NAME_KEY, sizeof(EGRESSFIREWALL_NAME_KEY) - 1 },
	  egressfirewall_reconcile_name },
	{ { EGRESSFIREWALL_HOST_KEY, sizeof(EGRESSFIREWALL_HOST_KEY) - 1 },
	  egressfirewall_reconcile_host },
	{ { EGRESSFIREWALL_SERVERS_KEY, sizeof(EGRESSFIREWALL_SERVERS_KEY) - 1 },
	  egressfirewall_reconcile_servers },
	{ { EGRESSFIREWALL_SERVER_KEY, sizeof(EGRESSFIREWALL_SERVER_KEY) - 1 },
	  egressfirewall_reconcile_server },
	{ { EGRESSFIREWALL_CERTS_KEY, sizeof(EGRESSFIREWALL_CERTS_KEY) - 1 },
	  egressfirewall_reconcile_certs },
	{ { EGRESSFIREWALL_REPORTS_KEY, sizeof(EGRESSFIREWALL_REPORTS_KEY) - 1 },
	  egressfirewall_reconcile_reports },
};

static int reconcile_key(struct controller_ctx *ctx, const char *key)
{
	for (size_t i = 0; i < ARRAY_LEN(key_kinds); i++) {
		if (slice_starts(slice_of(key), key_kinds[i].prefix))
			return key_kinds[i].reconcile(ctx, key + key_kinds[i].prefix.n);
	}
	return 0;
}

const struct controller egressfirewall_controller = {
	.name = "egressfirewall",
	.help = "tracks the addresses of DNS names in EgressFirewall rules",
	.watch = egressfirewall_watches,
	.n_watch = EGRESSFIREWALL_WATCHES,
	.workers = 4,
	.writes = { .per_s = 50, .burst = 100 },
	.has_engine = true,
	.reconcile = reconcile_key,
	.start = egressfirewall_state_start,
	.stop = egressfirewall_state_stop,
	.hooks = egressfirewall_hooks,
	.n_hooks = EGRESSFIREWALL_HOOKS,
};
