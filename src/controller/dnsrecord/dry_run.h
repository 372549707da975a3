/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reports in status.providerStatus.dryRun what would change at the provider, and changes nothing. The
 * provider is read, one step after the other, by the engine; the last of these passes writes the status.
 *
 *	result: Changes | NoChanges | Refused | Unknown
 *	changes: what would be written, as plan/diff.h describes it
 *	problem: why it is refused, or why the provider could not be read
 *	note: a record set that would not be deleted, and why */
#pragma once

#include "controller/dnsrecord/pass.h"

/* 0 or a negative code, as those of a pass. */
int dnsrecord_dry_run(struct dnsrecord_pass *pass);
