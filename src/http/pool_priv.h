/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads that run jobs: one is started when more jobs wait than threads, and ends when there is
 * nothing to do for a while. */
#pragma once

#include <stdbool.h>

enum {
	HTTP_POOL_IDLE_S =
		3, /* then a thread ends: it keeps a stack and freed memory, some 50 KB */
	HTTP_POOL_STACK_BYTES = 2 << 20,
};

/* To be embedded. */
struct http_job {
	struct http_job *next_;
};

struct http_pool;

struct http_pool *http_pool_new(unsigned max_threads, void (*run)(struct http_job *job));
/* In the order they come. False: there is no thread and none can be made. */
bool http_pool_add(struct http_pool *pool, struct http_job *job);
/* Waits until all jobs are done. NULL is fine. */
void http_pool_free(struct http_pool *pool);
