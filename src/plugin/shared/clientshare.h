/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A number of places that clients share. A client may have as many as are still free, so that one
 * alone has half of them at most, and however many it has there is one for the next client. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

enum { CLIENTSHARE_MAX = 64 };

struct clientshare {
	pthread_mutex_t lock; /* guards the rest */
	unsigned max, n_taken, n_clients;
	struct {
		uint64_t key;
		unsigned n;
	} client[CLIENTSHARE_MAX]; /* those that have places */
};

/* max: CLIENTSHARE_MAX at most. */
void clientshare_init(struct clientshare *share, unsigned max);
void clientshare_done(struct clientshare *share);
/* For the client of this key (server/conn/client.h); to be put back. False: it has its share. Any
 * thread. */
MUST_CHECK bool clientshare_take(struct clientshare *share, uint64_t key);
void clientshare_put(struct clientshare *share, uint64_t key);
