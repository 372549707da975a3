/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The inside of struct server, for the files of server/ and their tests.
 *
 * Threads: the control thread builds generations and opens listeners; each worker switches to a new
 * generation by a message on its own loop, so a worker's view changes only between queries. */
#pragma once

#include <pthread.h>

#include "server/conn/conn_limits.h"
#include "server/server.h"

struct generation;
struct listener;
struct log_queue;
struct worker;

struct server {
	struct server_opts opts;
	unsigned n_workers; /* of UDP and TCP: the first ones */
	unsigned n_stream;  /* of encrypted transports: the last ones */
	unsigned n_all;	    /* both: slots of metrics, log rings, instances */
	unsigned n_active;  /* n_all once a configuration needed the stream workers */
	struct worker *worker;
	struct generation *gen;	    /* control thread */
	struct generation *retired; /* replaced, with queries in flight; control thread */
	struct listener *listeners;
	struct log_queue *log_queue;

	pthread_mutex_t lock; /* guards acks, ack_error and n_left of generations */
	pthread_cond_t cond;
	unsigned acks;
	int ack_error;

	struct conn_pool plain, stream;
};
