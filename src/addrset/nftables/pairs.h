/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The addresses of names in the node's nftables table: the back end of addrset.h that `fairlead node` has.
 * Knows what is in the kernel, so that a known pair costs no system call; pairs of one turn of the loop go
 * to the kernel in one batch, whose return means that they are in force. */
#pragma once

#include "addrset/addrset.h"
#include "addrset/nftables/link.h"
#include "addrset/nftables/quota.h"
#include "base/err_text.h"

struct loop;

enum { NFTABLES_PAIRS_MAX = 1024 * 1024 }; /* of all namespaces */

struct nftables_pairs;

/* Makes the table's sets if they are missing, and reads what is in them: after a restart the pairs of
 * before are known. Borrows loop and link until nftables_pairs_free. */
MUST_CHECK int nftables_pairs_new(struct loop *loop, struct nftables_link *link,
				  struct nftables_pairs **ret, struct err_text err);
/* Requests that wait get ERR_CLOSED. The kernel keeps its elements. NULL is fine. */
void nftables_pairs_free(struct nftables_pairs *pairs);

struct addrset *nftables_pairs_set(struct nftables_pairs *pairs);

/* The rules in force: which names are hosts, and so have few addresses, and which are denied. */
void nftables_pairs_set_policy(struct nftables_pairs *pairs, const struct nftables_policy *policy);
/* `fn` is called with each pair that is refused by a limit, before its request is answered. */
void nftables_pairs_on_refused(struct nftables_pairs *pairs,
			       void (*fn)(void *ctx, enum nftables_limit limit, struct slice tenant,
					  const struct addrset_id *name),
			       void *ctx);

/* `fn` is called when an address came into force for a name that a rule denies: connections that are open to it are to be
 * reviewed (revoke.h). At most once for a batch. */
void nftables_pairs_on_denied(struct nftables_pairs *pairs, void (*fn)(void *ctx), void *ctx);

/* Somebody else may have changed the table: makes its sets if they are missing, adds what is known and
 * missing in them, and removes what is not known. *ret_mended: how many elements were not as they should
 * be. Negative: nothing is known any more. */
MUST_CHECK int nftables_pairs_mend(struct nftables_pairs *pairs, size_t *ret_mended,
				   struct err_text err);

/* Calls `fn` with the name of each pair that is known, once or more often. */
void nftables_pairs_each_name(const struct nftables_pairs *pairs,
			      void (*fn)(void *ctx, const struct addrset_id *name), void *ctx);

/* Removing many pairs takes the kernel seconds, so that it is done in slices, one in a turn of the loop. This begins with the
 * pairs that are in force now and whose names are not wanted; pairs of an earlier begin that are left are forgotten. */
void nftables_pairs_begin_removal(struct nftables_pairs *pairs,
				  bool (*is_unwanted)(void *ctx, const struct addrset_id *name),
				  void *ctx);
/* Removes the next slice, in one batch. Pairs whose names are wanted again stay, as do those that were asked for in this turn of
 * the loop. Removed ones are not held any more: whoever remembers them has to forget them. *ret_removed: how many. 1: more are
 * left; 0: none is. Negative: all of the slice are as they were, and are tried again. */
MUST_CHECK int nftables_pairs_remove_slice(struct nftables_pairs *pairs,
					   bool (*is_unwanted)(void *ctx,
							       const struct addrset_id *name),
					   void *ctx, size_t *ret_removed, struct err_text err);

struct nftables_pairs_counts {
	size_t known;	   /* pairs, expired ones that were not removed yet included */
	uint64_t commits;  /* batches */
	uint64_t elements; /* sent in them */
	uint64_t failures; /* requests that failed */
};

struct nftables_pairs_counts nftables_pairs_counts(const struct nftables_pairs *pairs);
