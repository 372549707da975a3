/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The zones and record sets of a provider in memory. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "provider/provider.h"

struct memory_zone {
	char *id, *name;
	bool is_private;
	uint32_t serial; /* a change raises it */
};

struct memory_store {
	VEC(struct memory_zone) zones;
	struct map sets;	  /* by zone, name and type: struct memory_set */
	unsigned foreign_touched; /* writes to sets that others had put there */
};

void memory_store_init(struct memory_store *store);
void memory_store_done(struct memory_store *store);
void memory_store_add_zone(struct memory_store *store, const char *zone_id, const char *name,
			   bool is_private);
const struct memory_zone *memory_store_zone(const struct memory_store *store, const char *zone_id);
/* The zone, which exists, has changed. */
void memory_store_raise_serial(struct memory_store *store, const char *zone_id);
/* NULL: there is none. */
const struct provider_rrset *memory_store_get(const struct memory_store *store, const char *zone_id,
					      const char *name, uint16_t type);
/* Each set of a zone. */
void memory_store_each(const struct memory_store *store, const char *zone_id,
		       void (*visit)(void *ctx, const struct provider_rrset *set, bool is_foreign),
		       void *ctx);
/* Whether the change may be applied now; otherwise its code and error are set. */
bool memory_store_accepts(const struct memory_store *store, const char *zone_id,
			  struct provider_change *change, bool has_guards);
/* True: some set is another one than before. */
bool memory_store_apply(struct memory_store *store, const char *zone_id,
			const struct provider_change *change);
