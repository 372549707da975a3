/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Brings the kernel's table to a plan, by the difference and in one batch: a packet meets the old rules
 * or the new ones, never none. Elements of names are left alone. */
#pragma once

#include "addrset/nftables/link.h"
#include "addrset/nftables/plan.h"

struct nftables_changes {
	size_t messages; /* 0: the table was as it should be */
	size_t rules_added, rules_removed;
	size_t elements_added, elements_removed;
};

/* Reads the table, works out the difference, commits it. Negative: the table is as it was. */
MUST_CHECK int nftables_apply(struct nftables_link *link, const struct nftables_plan *plan,
			      struct nftables_changes *ret, struct err_text err);
/* Makes the sets that are missing, and leaves all else alone. */
MUST_CHECK int nftables_ensure_sets(struct nftables_link *link, struct err_text err);
/* Takes the whole table away; one that is missing is no error. */
MUST_CHECK int nftables_remove(struct nftables_link *link, struct err_text err);
