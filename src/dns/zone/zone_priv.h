/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside of a zone snapshot: what the builder lays out and the look-ups read. */
#pragma once

#include <stdatomic.h>

#include "base/rcu/rcu.h"
#include "dns/zone/zone.h"

enum {
	ZONE_OVERREAD = 8, /* bytes after the last name that may be read */
	/* A zone beyond this does not stay in the caches next to a CPU. */
	ZONE_LARGE_BYTES = 512 << 10,
};

struct zone_slot {
	uint32_t hash;
	uint32_t node; /* index plus one; 0: free */
};

/* Owner of a set as written, where it has upper-case letters. */
struct zone_cased {
	uint32_t set;
	uint32_t name;
};

struct dns_zone {
	struct rcu_item rcu;
	_Atomic uint32_t refs;
	bool is_signed;
	bool has_sigs;
	uint8_t origin_labels;
	uint32_t serial;
	struct dns_zone_node *node; /* canonical order */
	size_t n_node;
	struct dns_zone_set *set; /* by node, then type, then type covered */
	size_t n_set;
	struct zone_slot *slot;
	size_t n_slot; /* power of two */
	/* For each node its name, and behind it the records of its sets: a reply needs both, and
	 * they commonly lie in one or two cache lines. */
	uint8_t *data;
	size_t data_bytes;
	bool is_large;
	struct zone_cased *cased; /* by set */
	size_t n_cased;
	size_t n_record;
	struct dns_zone_apex_wire *apex_wire[DNS_ZONE_APEX_SETS];
};
