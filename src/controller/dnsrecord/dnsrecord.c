/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dnsrecord: brings the record sets of DNSRecords (extensions.gardener.cloud) to DNS providers.
 * docs/controllers/dnsrecord.md describes it for users. */
#include "base/compiler.h"
#include "controller/controller.h"
#include "controller/dnsrecord/reconcile.h"
#include "controller/dnsrecord/rivals.h"
#include "controller/dnsrecord/state.h"
#include "controller/dnsrecord/watches.h"

const struct controller dnsrecord_controller = {
	.name = "dnsrecord",
	.help = "publishes DNSRecords at DNS providers",
	.watch = dnsrecord_watches,
	.n_watch = DNSRECORD_WATCHES,
	.workers = 8, /* for requests to the API; work at providers has no limit of its own */
	.writes = { .per_s = 600, .burst = 1200 }, /* three for each record */
	.has_engine = true,
	.heartbeat_lease = DNSRECORD_HEARTBEAT,
	.heartbeat_holder = "fairlead-dnsrecord",
	.reconcile = dnsrecord_reconcile,
	.start = dnsrecord_state_start,
	.stop = dnsrecord_state_stop,
	.note = dnsrecord_rivals_note,
};
