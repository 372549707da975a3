/* SPDX-License-Identifier: GPL-3.0-or-later */
/* struct store_compactor: the thread that compacts and verifies. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

struct apiserver_store;

enum { STORE_SAMPLES = 64 };

/* The newest revision at a time. */
struct store_sample {
	uint64_t ns, revision;
};

struct store_compactor {
	pthread_t thread;
	bool ready;   /* `lock` and `cond` are initialised */
	bool started; /* so is the thread */
	uint64_t keep_ns, keep_revisions, every_ns;
	/* The thread's. */
	struct store_sample sample[STORE_SAMPLES]; /* oldest first */
	size_t n_samples;
	bool incomplete;      /* rows below the compaction point may be left */
	uint64_t verify_ns;   /* when all rows are verified again */
	pthread_mutex_t lock; /* guards `closing` and `requested` */
	pthread_cond_t cond;
	bool closing, requested;
};

MUST_CHECK int store_compact_start(struct apiserver_store *store);
/* Ends the thread; the writer must still run. */
void store_compact_stop(struct apiserver_store *store);
/* Frees the rest, after the writer has stopped. */
void store_compact_done(struct apiserver_store *store);
/* Asks the thread to compact at once and to keep no history, because space is short. */
void store_compact_request(struct apiserver_store *store);
/* Does the same before it returns. The writer's thread. */
MUST_CHECK int store_compact_now(struct apiserver_store *store);
/* Waits, at most until a compaction is requested; true if the store is being closed. */
bool store_compact_wait(struct apiserver_store *store, uint64_t ns);
