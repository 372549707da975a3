/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Elements of sets and maps: adding and removing them in a batch, reading them back. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "addrset/nftables/link.h"

enum { NFTABLES_KEY_MAX = 32, NFTABLES_CHAIN_MAX = 256 };

struct nftables_element {
	uint8_t key[NFTABLES_KEY_MAX];
	uint32_t n_key;
	uint64_t timeout_ms; /* 0: lives for ever; read back: what is left */
	const char *chain;   /* of a map of verdicts: where to go; "" : accept. NULL: no map */
};

/* Collects elements for one set into messages of the batch: begin, add any number, end. */
struct nftables_elements {
	struct nftables_link *link;
	const char *set;
	uint16_t type; /* NFT_MSG_NEWSETELEM or NFT_MSG_DELSETELEM */
	struct nlmsghdr *message;
	struct nlattr *list;
};

void nftables_elements_begin(struct nftables_elements *elements, struct nftables_link *link,
			     const char *set, bool removes);
void nftables_elements_add(struct nftables_elements *elements,
			   const struct nftables_element *element);
void nftables_elements_end(struct nftables_elements *elements);

/* Calls `fn` with each element that has not expired; `restart` where the table changed meanwhile and the
 * elements come once more. Errors as nftables_link_dump. */
MUST_CHECK int nftables_elements_read(struct nftables_link *link, const char *set,
				      void (*restart)(void *ctx),
				      void (*fn)(void *ctx, const struct nftables_element *element),
				      void *ctx);
