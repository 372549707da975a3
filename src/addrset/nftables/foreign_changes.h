/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Notices that somebody else has written to the node's table, from the kernel's own notifications. What was
 * changed is not kept: the reader compares the table with what it should be. One thread. */
#pragma once

#include "addrset/nftables/link.h"
#include "base/compiler.h"
#include "base/err_text.h"

struct loop;
struct nftables_foreign_changes;

/* `changed` is called on the loop's thread; also when notifications were lost, since one of them may have
 * been about the table. Changes through `link` are not reported. Borrows loop and link. */
MUST_CHECK int nftables_foreign_changes_open(struct loop *loop, const struct nftables_link *link,
					     void (*changed)(void *ctx), void *ctx,
					     struct nftables_foreign_changes **ret,
					     struct err_text err);
/* NULL is fine. */
void nftables_foreign_changes_close(struct nftables_foreign_changes *changes);
