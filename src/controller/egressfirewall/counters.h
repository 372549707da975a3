/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Metrics of the controller; docs/controllers/egressfirewall.md lists them. */
#pragma once

enum egressfirewall_counter {
	EGRESSFIREWALL_LOOKUPS_ANSWERED,
	EGRESSFIREWALL_LOOKUPS_FAILED,
	EGRESSFIREWALL_NEVER_LEARNT, /* addresses in answers that were left out */
	EGRESSFIREWALL_EVICTED,	     /* learnt hosts that made room for others */
	/* What DNS servers learnt: there was something new, nothing, no answer of use, or the server
	 * accepted none of the keys. */
	EGRESSFIREWALL_TRANSFERS_CHANGED,
	EGRESSFIREWALL_TRANSFERS_CURRENT,
	EGRESSFIREWALL_TRANSFERS_FAILED,
	EGRESSFIREWALL_TRANSFERS_REFUSED,
};
enum { EGRESSFIREWALL_COUNTERS = EGRESSFIREWALL_TRANSFERS_REFUSED + 1 };

/* Any thread. */
void egressfirewall_counters_add(enum egressfirewall_counter counter);
