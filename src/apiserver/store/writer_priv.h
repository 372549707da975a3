/* SPDX-License-Identifier: GPL-3.0-or-later */
/* struct store_writer: the only thread that writes, and its queue of jobs. */
#pragma once

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "apiserver/store/db_priv.h"
#include "apiserver/store/event_priv.h"
#include "apiserver/store/writer.h"
#include "base/compiler.h"
#include "base/metrics/metrics.h"

/* In the memory of the thread that waits for it. */
struct store_job {
	/* A set of writes, or a function to run alone on the writer's thread. */
	const struct apiserver_write *writes;
	size_t count;
	int (*run)(struct apiserver_store *store, void *ctx);
	void *ctx;
	/* The result. */
	int result;
	uint64_t revision; /* of the last write */
	size_t refused;	   /* index of the write that was in conflict or met a damaged row */
	/* The writer's. */
	bool passed_over; /* the disk has no space for it */
	struct store_event *events, **events_end;
	struct store_job *next;
	sem_t finished; /* its own, so that the caller wakes without the queue's lock */
};

struct store_writer {
	pthread_t thread;
	bool started;
	struct store_db db;	/* the thread's */
	uint64_t last_revision; /* the thread's: highest revision assigned, durable or not */
	uint64_t bound;		/* the thread's: revisions up to this one may be assigned */
	struct metrics_series *commits, *writes;
	pthread_mutex_t lock; /* guards the queue and `closing` */
	pthread_cond_t cond;
	struct store_job *queue, **queue_end;
	bool closing;
};

MUST_CHECK int store_writer_start(struct apiserver_store *store);
/* Finishes all queued jobs, then ends the thread and closes its connection. */
void store_writer_stop(struct apiserver_store *store);
/* Queues the job and waits until it is finished; returns its result. Not on the writer's thread. */
int store_writer_run(struct apiserver_store *store, struct store_job *job);
/* Starts a thread that receives no signals. */
MUST_CHECK int store_thread_start(pthread_t *ret, void *(*fn)(void *), void *arg);
