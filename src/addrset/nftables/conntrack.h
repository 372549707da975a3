/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kernel's table of connections, as far as rules are concerned: which rule admitted which connection. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "addrset/addrset.h"
#include "base/compiler.h"
#include "base/err_text.h"

struct nftables_connection {
	struct addrset_address from; /* who began it */
	struct addrset_address to;   /* whom rules see: behind the translation of services */
	uint8_t protocol;	     /* IPPROTO_* */
	uint16_t port;		     /* of `to`; 0: the protocol has none */
	struct addrset_id label;     /* rule id; not zero */
};

/* Calls `may_go_on` with each connection that has a label. Where it returns false the label is taken away,
 * so that the next packet meets the rules. *ret_cleared: how many. Waits for the kernel. */
MUST_CHECK int nftables_conntrack_review(
	bool (*may_go_on)(void *ctx, const struct nftables_connection *connection), void *ctx,
	size_t *ret_cleared, struct err_text err);
