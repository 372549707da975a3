/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The only user of liburcu. Its functions are called, not inlined (_LGPL_SOURCE is not defined):
 * the thread sanitizer cannot see into them, so annotations here tell it what they order. */
#include "base/rcu/rcu.h"

#include <urcu/urcu-memb.h>

#include <assert.h>

#ifdef RCU_TSAN
#include <sanitizer/tsan_interface.h>

static char grace; /* stands for "a reader left" and "a writer handed over" */

#define GRACE_RELEASE() __tsan_release(&grace)
#define GRACE_ACQUIRE() __tsan_acquire(&grace)
#else
#define GRACE_RELEASE() ((void)0)
#define GRACE_ACQUIRE() ((void)0)
#endif

static_assert(sizeof(struct rcu_head) <= sizeof(((struct rcu_item *)0)->reserved_),
	      "struct rcu_item has no room for liburcu's struct rcu_head");
static_assert(_Alignof(struct rcu_head) <= _Alignof(struct rcu_item),
	      "struct rcu_item is not aligned for liburcu's struct rcu_head");

void rcu_thread_register(void)
{
	urcu_memb_register_thread();
}

void rcu_thread_unregister(void)
{
	urcu_memb_unregister_thread();
}

void rcu_enter(void)
{
	urcu_memb_read_lock();
}

void rcu_leave(void)
{
	GRACE_RELEASE();
	urcu_memb_read_unlock();
}

void rcu_wait(void)
{
	urcu_memb_synchronize_rcu();
	GRACE_ACQUIRE();
}

static void run_deferred(struct rcu_head *head)
{
	struct rcu_item *item = (struct rcu_item *)(void *)head;
	GRACE_ACQUIRE();
	item->fn(item);
	/* rcu_barrier_all promises that what fn did is seen. */
	GRACE_RELEASE();
}

void rcu_defer(struct rcu_item *item, void (*fn)(struct rcu_item *item))
{
	item->fn = fn;
	GRACE_RELEASE();
	urcu_memb_call_rcu((struct rcu_head *)(void *)item->reserved_, run_deferred);
}

void rcu_barrier_all(void)
{
	urcu_memb_barrier();
	GRACE_ACQUIRE();
}
