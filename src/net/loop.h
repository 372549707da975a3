/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The event loop of one thread: file descriptors (epoll, level-triggered), timers, and messages
 * from other threads. Everything but loop_post and loop_stop is called on the loop's own thread (or
 * before it runs). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

struct loop;

/* Embed one per file descriptor. */
struct loop_fd {
	int fd;
	void (*cb)(struct loop_fd *loop_fd, uint32_t events); /* EPOLLIN, EPOLLOUT, ... */
};

/* Embed one per timer. Zero-initialised: not running. */
struct loop_timer {
	void (*cb)(struct loop_timer *timer);
	uint64_t due_ns;
	uint32_t heap_at; /* position + 1; 0: not running */
};

/* Embed one per message; freed or reused by the callback. */
struct loop_msg {
	struct loop_msg *next;
	void (*cb)(struct loop_msg *msg);
};

/* NULL when there are no descriptors left. */
struct loop *loop_new(void);
/* Not from inside a callback. Closes no descriptor of others, calls no timer. NULL is fine. */
void loop_free(struct loop *loop);

/* Called in each turn, `before` when it has waited and `after` when all events were handled. Either
 * may be NULL. */
void loop_set_around(struct loop *loop, void (*before)(void *ctx), void (*after)(void *ctx),
		     void *ctx);

/* Starts (mod: changes) watching loop_fd->fd for EPOLL* events; -errno. `loop_fd` is borrowed
 * until loop_fd_del, its `cb` must be set. */
MUST_CHECK int loop_fd_add(struct loop *loop, struct loop_fd *loop_fd, uint32_t events);
MUST_CHECK int loop_fd_mod(struct loop *loop, struct loop_fd *loop_fd, uint32_t events);
/* Safe inside callbacks: pending events of `loop_fd` in this turn are dropped. Does not close. */
void loop_fd_del(struct loop *loop, struct loop_fd *loop_fd);

/* (Re)starts a timer. A time that has passed means now, after those that are due already. */
void loop_timer_set(struct loop *loop, struct loop_timer *timer, uint64_t due_ns);
void loop_timer_stop(struct loop *loop, struct loop_timer *timer);

/* From any thread: m->cb runs on the loop's thread, in the order posted per sender. */
void loop_post(struct loop *loop, struct loop_msg *msg);

/* Makes the next epoll_wait return at once (there is work left). Loop's own thread. */
void loop_again(struct loop *loop);

/* The time read when this turn began. loop_now_refresh reads the clock anew. */
static inline uint64_t loop_now(const struct loop *loop)
{
	return *(const uint64_t *)(const void *)loop;
}
uint64_t loop_now_refresh(struct loop *loop);

/* Runs until loop_stop. */
void loop_run(struct loop *loop);
/* One turn; waits for events only when `wait`. For tests and benchmarks. */
void loop_turn(struct loop *loop, bool wait);
void loop_stop(struct loop *loop); /* from any thread */
