/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the kernel's table is now, as far as a plan can change it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "addrset/addrset.h"
#include "addrset/nftables/elements.h"
#include "addrset/nftables/link.h"
#include "base/map.h"
#include "base/vec.h"

struct nftables_kernel_rule {
	uint64_t handle;
	struct addrset_id digest; /* zero: not one of ours */
};

struct nftables_kernel_chain {
	VEC(struct nftables_kernel_rule) rules; /* in order */
};

/* The sets and maps whose elements a plan has; those of names are kept by pairs.h. */
enum nftables_planned_set {
	NFTABLES_PLANNED_PODS4,
	NFTABLES_PLANNED_PODS6,
	NFTABLES_PLANNED_PORTS,
	NFTABLES_PLANNED_ADMITTED,
};
enum { NFTABLES_PLANNED_SETS = NFTABLES_PLANNED_ADMITTED + 1 };

const char *nftables_planned_set_name(enum nftables_planned_set set);

struct nftables_snapshot {
	struct map sets;     /* name: not NULL */
	struct map chains;   /* name: struct nftables_kernel_chain * */
	struct map counters; /* name: not NULL */
	struct map elements
		[NFTABLES_PLANNED_SETS]; /* key: char *, the chain of a map's element or "" */
};

/* Without a table everything is empty. Negative: as nftables_link_dump; nothing is to be freed. */
MUST_CHECK int nftables_snapshot_read(struct nftables_link *link, struct nftables_snapshot *ret);
/* The names of the table's sets alone; map_done frees them. */
/* 1: the table has chains, which an agent has made; 0: it has none, or does not exist. */
MUST_CHECK int nftables_snapshot_has_chains(struct nftables_link *link);
MUST_CHECK int nftables_snapshot_sets(struct nftables_link *link, struct map *ret);
void nftables_snapshot_done(struct nftables_snapshot *snapshot);
