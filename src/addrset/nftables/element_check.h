/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares the elements of a set of names in the kernel with the pairs that are known to be in force. */
#pragma once

#include "addrset/nftables/elements.h"
#include "addrset/shared/known_pairs.h"
#include "base/vec.h"

enum { NFTABLES_SLACK_MS = 1000 }; /* the kernel's element outlives the pair by this */

/* One whose time is wrong is in both lists: it goes, and comes again. */
struct nftables_element_faults {
	VEC(struct nftables_element) surplus; /* nobody of us has added it so */
	VEC(struct addrset_known *) missing;
};

/* Of the pairs whose addresses have `n_address` bytes. On the thread that changes the table of pairs. Errors
 * as nftables_link_dump; the faults are to be freed in any case. */
MUST_CHECK int nftables_element_check(struct nftables_link *link, const char *set,
				      const struct addrset_known_table *known, uint8_t n_address,
				      struct nftables_element_faults *ret);
void nftables_element_faults_done(struct nftables_element_faults *faults);

/* The element of a pair, without its time. */
struct nftables_element nftables_element_of(const struct addrset_known *pair);
/* No rule asks for it: pairs.h finds out with it how the kernel renews elements. */
bool nftables_element_is_probe(const struct nftables_element *element);
