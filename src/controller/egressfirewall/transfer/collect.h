/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One transfer of what a DNS server learnt, as work of the engine. It collects the pairs that came, and
 * passes them on only when the whole transfer was verified. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/slice.h"
#include "base/vec.h"
#include "controller/egressfirewall/learnt.h"
#include "controller/engine.h"
#include "resolve/transfer.h"

enum {
	EGRESSFIREWALL_COLLECT_RECORDS_MAX = 262144, /* of one transfer, deletions included */
	EGRESSFIREWALL_COLLECT_BYTES_MAX = 64 << 20, /* of one transfer, not all kept */
	EGRESSFIREWALL_COLLECT_PAIRS_MAX = 524288,   /* that all transfers at once keep */
	EGRESSFIREWALL_COLLECT_S = 10,		     /* for the whole of it */
};

struct egressfirewall_collect {
	struct engine_work work;
	struct resolve_transfer transfer; /* with its result */
	struct dns_tsig_key key;
	atomic_size_t *pairs_held; /* by all transfers; at its limit one ends with ERR_BUSY */
	struct arena texts;
	VEC(struct egressfirewall_pair) pairs;
};

struct egressfirewall_collect_conf {
	union net_addr server;
	bool incremental; /* from `serial` on */
	uint32_t serial;
	struct slice keys; /* key_text.h */
	size_t key_index;
	atomic_size_t *pairs_held; /* outlives it */
};

/* For engine_submit. An error of egressfirewall_transfer_keys_pick. */
MUST_CHECK int egressfirewall_collect_new(const struct egressfirewall_collect_conf *conf,
					  struct egressfirewall_collect **ret,
					  struct err_text reterr);
static inline struct egressfirewall_collect *egressfirewall_collect_of(struct engine_work *work)
{
	return CONTAINER_OF(work, struct egressfirewall_collect, work);
}
