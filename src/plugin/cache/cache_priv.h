/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The types that the files of the cache plugin share.
 *
 * Glossary
 *   entry     a stored reply (store.h)
 *   pass      the way of one query past the cache when it is not simply answered from it
 *   leader    a query of a worker for something not stored; the chain below is asked for it
 *   follower  a later one for the same, which waits for the leader's outcome
 *   group     the leaders and followers of a key (single_flight.c)
 *   refresh   a query of our own (SUB_DETACHED) that brings an entry up to date
 *   verify    serve_stale's second mode: a query that waits for a refresh before it is answered
 *             from an entry that has expired */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dns/resp_kind.h"
#include "plugin/cache/store.h"
#include "server/query.h"
#include "server/setup.h"

#define CACHE_AREA "plugin/cache"

enum cache_counter {
	CACHE_REQUESTS,
	CACHE_HITS_SUCCESS,
	CACHE_HITS_DENIAL,
	CACHE_MISSES,
	CACHE_PREFETCHES,
	CACHE_DROPS,
	CACHE_STALE,
	CACHE_EVICTIONS_SUCCESS,
	CACHE_EVICTIONS_DENIAL,
};
enum { CACHE_COUNTERS = CACHE_EVICTIONS_DENIAL + 1 };

struct cache_limits {
	int64_t capacity;
	uint32_t max_ttl_s, min_ttl_s;
};

struct cache_server {
	const char *label;
	_Atomic bool has_stored; /* a query of this one */
};

struct cache_conf {
	struct zone_list zones;
	bool all_names; /* the root is one of them */
	const char *zones_label;
	struct cache_limits half[STORE_HALVES];
	int64_t servfail_ns;
	int64_t prefetch; /* 0: off */
	int64_t prefetch_gap_ns;
	unsigned prefetch_percent;
	bool stale_given, policy_given;
	uint32_t stale_s;
	bool verify;
	int64_t verify_ns;    /* 0: no limit */
	uint32_t stale_ttl_s; /* 0: none given */
	int64_t recheck_ns;
	bool prefer_positive;
	struct zone_list except[STORE_HALVES]; /* disable */
	bool keepttl;
	bool nxdomain_cut;
	int64_t memory; /* 0: by capacity */

	struct cache_kept *kept;
	struct store *store;
	_Atomic uint32_t epoch;
	struct cache_server *server; /* the block's listeners */
	size_t n_servers;
};

/* A query that asks or waits, as part of the group of its key. */
struct flight {
	struct flight_group *group; /* NULL: in none */
	struct flight *next, **at;  /* among those that wait */
	struct query *q;
	bool asks;
};

struct flight_group {
	struct flight_group *next, **at; /* in the worker's table */
	struct cache_worker *worker;
	uint64_t hash;
	unsigned n_asking;
	struct flight *first, **last; /* who waits, the oldest first */
};

enum {
	FLIGHT_LISTS = 1024,
	/* Equal questions that a worker has under way at a time. Half of the sockets that resolve/
	 * has to an upstream, so that each goes over another one. */
	FLIGHT_ASKING_MAX = 8,
	ANNOUNCED_MAX = 64,
};

/* A query of the batch that has been announced. */
struct announced_query {
	const struct query *q;
	uint64_t hash;
	uint32_t name_hash; /* of its name then: plugins above may have changed it */
	uint16_t qtype;
	uint8_t bits;
};

struct cache_worker {
	unsigned slot;
	/* How many were announced, had their entries loaded, were served. */
	unsigned n_announced, n_loaded, n_served;
	struct announced_query announced[ANNOUNCED_MAX];
	struct flight_group *flight[FLIGHT_LISTS], *free_groups;
	_Atomic uint64_t **cell; /* counters, by listener */
	uint8_t *scratch;	 /* a message being made */
};

enum pass_mode { PASS_NONE, PASS_MISS, PASS_FOLLOW, PASS_VERIFY, PASS_REFRESH };

struct pass {
	enum pass_mode mode;
	uint16_t flags; /* header bits of the client */
	bool down;	/* the query is below us, with AD set */
	bool refreshed; /* refresh: its reply replaces the entry. verify: the refresh succeeded */
	bool was_stale; /* refresh: the entry had expired */
	bool has_old;	/* refresh: of the entry */
	bool coalesced; /* follow: `instead` is the reply that its leader got */
	uint8_t old_kind;
	uint32_t old_serial, old_hits;
	struct flight flight;
	struct dns_resp instead; /* verify: what else there is to answer */
};

static inline struct cache_worker *cache_worker(struct plugin_inst *self, const struct query *q)
{
	return self->worker_data[query_slot(q)];
}
void cache_key(const struct cache_conf *conf, const struct query *q, struct store_key *ret);
/* The key of a name's NXDOMAIN where it stands for all types (nxdomain_cut); `label` counts from
 * the left. */
struct store_key cache_name_key(const struct cache_conf *conf, const struct query *q,
				unsigned label);
