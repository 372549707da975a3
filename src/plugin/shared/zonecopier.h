/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Copies of zones for transfers, taken on a thread of its own: the plugins that hold the zones may
 * need locks for it, and workers wait for none. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "dns/name.h"

struct plugin_inst;
struct zone_copy;

/* Where copies come from. Called on the copier's thread, which may wait and is registered with
 * base/rcu/rcu.h. */
struct zonecopier_source {
	/* The whole zone; NULL: there is none now. */
	struct zone_copy *(*copy)(struct plugin_inst *inst, const uint8_t *zone);
	/* What changed since a version, in the order of IXFR (RFC 1995); NULL: not known, the whole
	 * zone is copied. May be NULL. */
	struct zone_copy *(*changes)(struct plugin_inst *inst, const uint8_t *zone,
				     uint32_t serial);
};

/* One copy; of the query that asked for it, which gives it back once it is ready. */
struct zonecopier_job {
	struct zonecopier_job *next;
	bool is_queued; /* in the copier's queue; under its lock, as `drop` is */
	const struct zonecopier_source *source;
	struct plugin_inst *from;
	uint8_t zone[DNS_NAME_MAX];
	bool incremental; /* only what changed since `serial`, if that is known */
	uint32_t serial;
	atomic_bool ready;
	bool drop;		/* the query does not need it any more */
	struct zone_copy *copy; /* then; NULL: there is none */
};

struct zonecopier;

/* NULL when no thread can be started. */
struct zonecopier *zonecopier_new(void);
/* When every job was returned. NULL is fine. */
void zonecopier_free(struct zonecopier *copier);

/* Any thread. The copy is taken, and freed, on the copier's own. `serial`: NULL for the whole
 * zone. */
struct zonecopier_job *zonecopier_add(struct zonecopier *copier,
				      const struct zonecopier_source *source,
				      struct plugin_inst *from, const uint8_t *zone,
				      const uint32_t *serial);
void zonecopier_drop(struct zonecopier *copier, struct zonecopier_job *job);
