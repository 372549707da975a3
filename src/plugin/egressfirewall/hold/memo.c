/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of answers that were found in force. */
#include "plugin/egressfirewall/hold/memo.h"

#include <sys/mman.h>

#include "base/rng.h"

/* Pages of zeros from the system, which take no memory before they are used. */
struct egressfirewall_memo *egressfirewall_memo_new(void)
{
	struct egressfirewall_memo *memo = mmap(NULL, sizeof(*memo), PROT_READ | PROT_WRITE,
						MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memo == MAP_FAILED)
		return NULL;
	rng_secure(memo->key, sizeof(memo->key));
	memo->key[0] |= 1;
	memo->key[1] |= 1;
	return memo;
}

void egressfirewall_memo_free(struct egressfirewall_memo *memo)
{
	if (memo != NULL)
		munmap(memo, sizeof(*memo));
}

/* Of the places of its set the one that has the same mark, else the one that ends first. What needs nothing never
 * ends, and would stay for ever: it gives way first. */
void egressfirewall_memo_put(struct egressfirewall_memo *memo, uint64_t mark, uint64_t until_ns)
{
	struct egressfirewall_memo_entry *set = memo->v[egressfirewall_memo_set_of(mark)];
	unsigned best = 0;
	for (unsigned i = 0; i < EGRESSFIREWALL_MEMO_WAYS && set[best].mark != mark; i++) {
		if (set[i].mark == mark || set[i].until_ns + 1 < set[best].until_ns + 1)
			best = i;
	}
	set[best] = (struct egressfirewall_memo_entry){ .mark = mark, .until_ns = until_ns };
}
