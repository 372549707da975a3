/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The last versions of the zone of learnt addresses, as differences (RFC 1995): for secondaries that
 * have one of them. Bounded in bytes; the oldest differences are dropped first. One thread at a
 * time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/strbuf.h"
#include "dns/learnt/learnt_record.h"

struct zone_copy;
struct egressfirewall_journal;

/* `serial` is that of the first version. */
struct egressfirewall_journal *egressfirewall_journal_new(uint32_t serial, size_t max_bytes);
void egressfirewall_journal_free(struct egressfirewall_journal *journal);
uint32_t egressfirewall_journal_serial(const struct egressfirewall_journal *journal);

/* Differences of the next version. A record is deleted as it was added. */
void egressfirewall_journal_delete(struct egressfirewall_journal *journal,
				   const struct dns_learnt *learnt);
void egressfirewall_journal_add(struct egressfirewall_journal *journal,
				const struct dns_learnt *learnt);
/* They become the version `serial`, or the next free number if that is not newer. False: there
 * are none, and the version stays. */
bool egressfirewall_journal_commit(struct egressfirewall_journal *journal, uint32_t serial);

/* What leads from version `serial` to the current one, in the order of IXFR; NULL: it is not known
 * any more, or is larger than the zone: a whole copy is sent instead. Of the current version it is empty. The copy is the
 * caller's and needs the journal no longer. */
struct zone_copy *egressfirewall_journal_since(const struct egressfirewall_journal *journal,
					       uint32_t serial);

/* A copy of the whole zone of that version: begun with its SOA and NS records, then those that are
 * added to it. */
struct zone_copy *egressfirewall_zone_copy_new(uint32_t serial);
void egressfirewall_zone_copy_add(struct zone_copy *copy, const struct dns_learnt *learnt);
