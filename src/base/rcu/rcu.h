/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Read-copy-update (liburcu, memb flavour): readers never wait, writers wait for readers or defer.
 * This is the only includer of liburcu; the annotations keep the thread sanitizer quiet.
 *
 * A worker holds one read section per batch and none over a wait. */
#pragma once

#include <stdatomic.h>

#include "base/compiler.h"

#if defined(__SANITIZE_THREAD__)
#define RCU_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define RCU_TSAN 1
#endif
#endif

struct rcu_item {
	void *reserved_[2]; /* liburcu's struct rcu_head */
	void (*fn)(struct rcu_item *item);
};

/* Each thread that reads. */
void rcu_thread_register(void);
void rcu_thread_unregister(void);
void rcu_enter(void);
void rcu_leave(void);
/* Waits until every reader that was inside has left. Not inside a read section. */
void rcu_wait(void);
/* Calls fn(item) after that, from another thread. */
void rcu_defer(struct rcu_item *item, void (*fn)(struct rcu_item *item));
/* Waits for all deferred calls; before exit. */
void rcu_barrier_all(void);

#define rcu_publish(ptr, value) atomic_store_explicit(ptr, value, memory_order_release)
#define rcu_get(ptr)		atomic_load_explicit(ptr, memory_order_acquire)
