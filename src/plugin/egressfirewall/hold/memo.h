/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a worker has found in force: answers by what leaves (name, addresses, the rules of the client's namespace,
 * its node), and until when. An answer that is repeated costs a hash of its addresses and a compare. One worker's
 * own: no lock, no allocation. What is pushed out of the table is found in force again by a slower way. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

enum {
	EGRESSFIREWALL_MEMO_BITS = 12,
	EGRESSFIREWALL_MEMO_SETS = 1 << EGRESSFIREWALL_MEMO_BITS,
	/* A set is one line of the CPU's cache. With two, a few hundred names were enough for three in one set
	 * now and then, which then pushed each other out with every answer. */
	EGRESSFIREWALL_MEMO_WAYS = 4,
};

/* The lowest bit of a mark is always set: its highest ones choose the set. */
static ALWAYS_INLINE uint64_t egressfirewall_memo_set_of(uint64_t mark)
{
	return mark >> (64 - EGRESSFIREWALL_MEMO_BITS);
}

struct egressfirewall_memo_entry {
	uint64_t mark;	   /* 0: none */
	uint64_t until_ns; /* all of its pairs are in force until then; UINT64_MAX: it needs none */
};

struct egressfirewall_memo {
	struct egressfirewall_memo_entry v[EGRESSFIREWALL_MEMO_SETS][EGRESSFIREWALL_MEMO_WAYS];
	uint64_t key[2]; /* secret: nobody can choose an answer that has the mark of another */
};

/* NULL: no memory. */
struct egressfirewall_memo *egressfirewall_memo_new(void);
void egressfirewall_memo_free(struct egressfirewall_memo *memo);

static ALWAYS_INLINE uint64_t egressfirewall_memo_mix(const struct egressfirewall_memo *memo,
						      uint64_t mark, uint64_t more)
{
	mark = (mark ^ more) * memo->key[1];
	return mark ^ mark >> 32;
}

static ALWAYS_INLINE bool egressfirewall_memo_has(const struct egressfirewall_memo *memo,
						  uint64_t mark, uint64_t until_ns)
{
	const struct egressfirewall_memo_entry *set = memo->v[egressfirewall_memo_set_of(mark)];
	for (unsigned i = 0; i < EGRESSFIREWALL_MEMO_WAYS; i++) {
		if (set[i].mark == mark)
			return until_ns <= set[i].until_ns;
	}
	return false;
}

void egressfirewall_memo_put(struct egressfirewall_memo *memo, uint64_t mark, uint64_t until_ns);
