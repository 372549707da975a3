/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which changes of a batch contradict what the server has, from the record sets that were read. */
#pragma once

#include <stdbool.h>

#include "provider/provider.h"
#include "provider/rfc2136/reader_priv.h"

/* Is the guard of an edit broken, or does something else at its name exclude it? If so the change gets
 * PROVIDER_CONFLICT and a sentence with what is there. `has_mark`: PROVIDER_GUARD_OWNED holds. */
bool rfc2136_conflict_before(struct provider_change *change, const struct rfc2136_read *read,
			     bool has_mark);
/* The read of another set at the name of a CNAME that is to be written: does it exclude that? Likewise. */
bool rfc2136_conflict_beside(struct provider_change *change, const struct rfc2136_read *read);
/* May the set be without a mark, and has it the values of before? */
bool rfc2136_conflict_is_as_before(const struct provider_edit *edit,
				   const struct provider_rrset *found);
/* After the server has accepted it in `zone`: is the set served? If not, PROVIDER_CONFLICT as well. */
void rfc2136_conflict_after(struct provider_change *change, const struct rfc2136_read *read,
			    const char *zone);
/* The server has accepted the set and does not show it: neither a success nor a conflict. `found`: what it
 * shows; NULL: that is not known any more. */
void rfc2136_conflict_set_unsettled(struct provider_change *change,
				    const struct provider_edit *edit,
				    const struct provider_rrset *found);
/* The read for the zone of a set's name. */
struct rfc2136_read rfc2136_conflict_zone_read(const struct provider_rrset *set, size_t change,
					       size_t edit);
/* The answer to such a read: does the name belong to a longer zone? If so, PROVIDER_OTHER_ZONE. A set
 * that is not guarded may be the glue of a delegation. */
bool rfc2136_conflict_is_other_zone(struct provider_change *change, const struct rfc2136_read *read,
				    const char *zone);
/* Was the set put into `zone` although its name belongs to another zone, below it? */
bool rfc2136_conflict_is_misplaced(const struct provider_edit *edit,
				   const struct rfc2136_read *read, const char *zone);
