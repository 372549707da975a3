/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One background thread with a loop of its own; it starts with the first task. */
#include "net/task.h"
#include "net/task_test.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rcu/rcu.h"
#include "net/loop.h"

struct task {
	struct task *next; /* of the same owner */
	struct loop_timer timer;
	struct loop_msg msg;  /* adds it */
	struct loop_msg stop; /* the add may still be on its way */
	uint64_t interval_ns;
	uint64_t first_ns; /* when it is due first, counted from the call that made it */
	task_fn fn;
	void *ctx;
	bool added;	/* on the thread */
	bool stopped;	/* under stop_lock */
	bool abandoned; /* stopped on the thread before it was added: on_add frees it */
};

static pthread_once_t start_once = PTHREAD_ONCE_INIT;
static _Atomic bool started;
static struct loop *loop;
static pthread_t thread;
static pthread_mutex_t stop_lock = PTHREAD_MUTEX_INITIALIZER; /* guards stopped and done */
static pthread_cond_t stop_cond = PTHREAD_COND_INITIALIZER;
static _Thread_local bool on_thread;

static void *run_thread(void *arg)
{
	(void)arg;
	on_thread = true;
	rcu_thread_register(); /* tasks hand old tables to rcu_defer */
	loop_run(loop);
	rcu_thread_unregister();
	return NULL;
}

static void start_thread(void)
{
	pthread_attr_t attr;
	loop = loop_new();
	if (loop == NULL)
		abort();
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256 * 1024);
	if (pthread_create(&thread, &attr, run_thread, NULL) != 0)
		abort();
	pthread_setname_np(thread, "background");
	atomic_store(&started, true);
	pthread_attr_destroy(&attr);
}

static void on_timer(struct loop_timer *timer)
{
	struct task *task = CONTAINER_OF(timer, struct task, timer);
	loop_timer_set(loop, &task->timer, loop_now(loop) + task->interval_ns);
	task->fn(task->ctx); /* may stop, and so free, its own task */
}

static void on_add(struct loop_msg *msg)
{
	struct task *task = CONTAINER_OF(msg, struct task, msg);
	if (task->abandoned) {
		free(task);
		return;
	}
	assert(!task->added);
	task->added = true;
	loop_timer_set(loop, &task->timer, task->first_ns);
}

static void on_stop(struct loop_msg *msg)
{
	struct task *task = CONTAINER_OF(msg, struct task, stop);
	loop_timer_stop(loop, &task->timer);
	pthread_mutex_lock(&stop_lock);
	assert(!task->stopped);
	task->stopped = true;
	pthread_cond_broadcast(&stop_cond);
	pthread_mutex_unlock(&stop_lock);
}

void task_every(struct task_owner *owner, uint64_t interval_ns, task_fn fn, void *ctx)
{
	pthread_once(&start_once, start_thread);
	struct task *task = xcalloc(1, sizeof(*task));
	task->timer.cb = on_timer;
	task->interval_ns = interval_ns;
	task->first_ns = clock_mono_ns() + interval_ns;
	task->fn = fn;
	task->ctx = ctx;
	task->msg.cb = on_add;
	task->next = owner->first;
	owner->first = task;
	loop_post(loop, &task->msg);
}

static void stop_task(struct task *task)
{
	if (on_thread) {
		loop_timer_stop(loop, &task->timer);
		task->abandoned = !task->added;
		if (task->added)
			free(task);
		return;
	}
	task->stop.cb = on_stop;
	loop_post(loop, &task->stop);
	pthread_mutex_lock(&stop_lock);
	while (!task->stopped)
		pthread_cond_wait(&stop_cond, &stop_lock);
	pthread_mutex_unlock(&stop_lock);
	free(task);
}

void task_owner_stop(struct task_owner *owner)
{
	struct task *task;
	while ((task = owner->first) != NULL) {
		owner->first = task->next;
		stop_task(task);
	}
}

/* Two messages: the timers of a turn run after its messages. */
struct sync {
	struct loop_msg first, second;
	bool done; /* under stop_lock */
};

static void on_second(struct loop_msg *msg)
{
	struct sync *s = CONTAINER_OF(msg, struct sync, second);
	pthread_mutex_lock(&stop_lock);
	s->done = true;
	pthread_cond_broadcast(&stop_cond);
	pthread_mutex_unlock(&stop_lock);
}

static void on_first(struct loop_msg *msg)
{
	struct sync *s = CONTAINER_OF(msg, struct sync, first);
	loop_post(loop, &s->second);
}

void task_sync(void)
{
	struct sync s = { .first.cb = on_first, .second.cb = on_second };
	if (!atomic_load(&started))
		return;
	loop_post(loop, &s.first);
	pthread_mutex_lock(&stop_lock);
	while (!s.done)
		pthread_cond_wait(&stop_cond, &stop_lock);
	pthread_mutex_unlock(&stop_lock);
}
