/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows that were read lately, for those that every write reads: the Namespace of an object, its
 * owners. The ring shows whether they are the newest: it has all changes after a revision, so a key
 * that it does not know has not changed since then. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "base/strbuf.h"

enum {
	STORE_READ_CACHE_ROWS = 64, /* a row has one place, by its key */
	STORE_READ_CACHE_VALUE_MAX_BYTES = 8 * 1024,
};

struct store_cached_row {
	char *key; /* NULL: none */
	struct strbuf value;
	uint64_t revision; /* of this version */
	uint64_t known_at; /* the newest revision when it was read, or an older one */
};

struct store_read_cache {
	pthread_mutex_t lock; /* guards the rows */
	struct store_cached_row rows[STORE_READ_CACHE_ROWS];
};

void store_read_cache_init(struct store_read_cache *cache);
void store_read_cache_done(struct store_read_cache *cache);

/* Appends the value of a key that the ring does not know; `evicted` as the ring had it then. False: it is not
 * here. */
MUST_CHECK bool store_read_cache_get(struct store_read_cache *cache, const char *key,
				     uint64_t evicted, struct strbuf *out, uint64_t *ret_revision);
/* A row that was read when `known_at` had been published. */
void store_read_cache_put(struct store_read_cache *cache, const char *key, struct slice value,
			  uint64_t revision, uint64_t known_at);
