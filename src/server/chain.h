/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The walk of a query down and up its chain (handler.h explains the verdicts). */
#pragma once

#include <stdint.h>

#include "server/handler.h"

struct query;
struct worker;

/* Runs the chain of q->block until it is answered or waits. */
void chain_start(struct query *q);
/* Where the last handler wanted to ask a next one: SERVFAIL. */
enum verdict chain_end(struct plugin_inst *last, struct query *q);
/* Queues a query that starts, or goes on, when the worker's queue is run next. */
void chain_queue(struct query *q);
/* Runs what is queued. */
void chain_drain(struct worker *worker);
/* The last message of a stream was sent, or its client is gone. */
void chain_stream_end(struct query *q);
/* Replies with rcode without running any chain; counted as zone `dropped`. */
void chain_refuse(struct query *q, uint16_t rcode);
