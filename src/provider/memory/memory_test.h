/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The server behind the provider `memory`, for tests: its limits, its faults, and a ledger of calls.
 * Accounts whose credential `server` has the same text use the same server. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "provider/memory/store_priv.h"
#include "provider/provider.h"

/* What happens to a call instead of its reply. */
enum memory_fault {
	MEMORY_NO_FAULT,
	MEMORY_THROTTLE,    /* refused; with `retry_after_ns` of the server */
	MEMORY_UNAVAILABLE, /* 5xx, nothing was done */
	MEMORY_LOST_BEFORE, /* the connection breaks before the server has seen it */
	MEMORY_LOST_AFTER,  /* it breaks when all was done */
	MEMORY_HANG,	    /* done, but there is never a reply */
	MEMORY_PARTIAL,	    /* without atomicity: every second change is refused for now */
	MEMORY_DENY,	    /* the credentials are not accepted */
	MEMORY_VAGUE, /* an error that does not say what became of a write; nothing was done */
};

struct memory_ledger {
	unsigned calls[PROVIDER_JOB_KINDS];
	unsigned throttled; /* by the limits below */
	unsigned overlaps;  /* writes of a zone while another one was under way */
	size_t changes;	    /* that were applied */
	size_t largest;	    /* changes of one call */
};

struct memory_server {
	char *name;
	struct memory_store store;
	bool is_partial; /* changes are applied one by one: no atomicity */
	bool ignores_guards;
	bool hides_bad;	    /* does not say which changes of a batch are bad */
	bool is_vague;	    /* answers bad changes as MEMORY_VAGUE does */
	bool one_write;	    /* of a zone at a time */
	bool finds_one;	    /* zones are found by name, not listed */
	double calls_per_s; /* 0: any number */
	double burst;
	size_t zones_per_page; /* 0: all */
	uint64_t latency_ns;
	uint64_t settle_ns; /* a write takes effect after this time */
	/* Reads show this store instead: they lag behind writes, and do not explain conflicts. NULL: they do
	 * not lag. */
	const struct memory_store *shown;
	uint64_t retry_after_ns;
	enum memory_fault (*fault)(void *ctx, const struct provider_job *job); /* NULL: none */
	void *ctx;
	struct memory_ledger ledger;
	char *said; /* the text of faults, on the heap; NULL: one of its own */

	/* Its own: */
	struct memory_server *next;
	struct memory_file *file; /* NULL: the zones are in memory only */
	double tokens;
	uint64_t filled_ns;
	struct map writing; /* zones with a write under way */
};

/* Without values: deletes. `is_foreign`: not by the publisher. */
void memory_store_put(struct memory_store *store, const char *zone_id,
		      const struct provider_rrset *set, bool is_foreign);

/* The server of that name, made when there is none. */
struct memory_server *memory_server_get(const char *name);
/* No account uses it. */
void memory_server_free(struct memory_server *server);
