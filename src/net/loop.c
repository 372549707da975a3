/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The event loop: epoll for descriptors, a binary heap of timers, and a lock-free stack of
 * messages from other threads, announced by an eventfd. */
#include "net/loop.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/vec.h"

enum { EVENTS_PER_TURN = 64 };

struct loop {
	uint64_t now_ns; /* first: loop_now looks there */
	int epfd;
	struct loop_fd wake; /* eventfd */
	_Atomic(struct loop_msg *) posted;
	_Atomic bool stop;
	bool again;
	VEC(struct loop_timer *) heap;
	void (*before)(void *ctx);
	void (*after)(void *ctx);
	void *around_ctx;
	struct epoll_event ev[EVENTS_PER_TURN];
	int n_ev;
};

static void drain_wake(struct loop_fd *loop_fd, uint32_t events)
{
	uint64_t n;
	(void)events;
	while (read(loop_fd->fd, &n, sizeof(n)) < 0 && errno == EINTR)
		;
}

struct loop *loop_new(void)
{
	struct loop *l = xcalloc(1, sizeof(*l));
	l->epfd = epoll_create1(EPOLL_CLOEXEC);
	l->wake.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	l->wake.cb = drain_wake;
	if (l->epfd < 0 || l->wake.fd < 0 || loop_fd_add(l, &l->wake, EPOLLIN) < 0) {
		loop_free(l);
		return NULL;
	}
	l->now_ns = clock_mono_ns();
	return l;
}

void loop_free(struct loop *loop)
{
	if (loop == NULL)
		return;
	assert(loop->n_ev == 0);
	if (loop->wake.fd >= 0)
		close(loop->wake.fd);
	if (loop->epfd >= 0)
		close(loop->epfd);
	vec_done(&loop->heap);
	free(loop);
}

void loop_set_around(struct loop *loop, void (*before)(void *ctx), void (*after)(void *ctx),
		     void *ctx)
{
	loop->before = before;
	loop->after = after;
	loop->around_ctx = ctx;
}

static int control_epoll(struct loop *loop, int op, struct loop_fd *loop_fd, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = loop_fd };
	return epoll_ctl(loop->epfd, op, loop_fd->fd, &ev) == 0 ? 0 : -errno;
}

int loop_fd_add(struct loop *loop, struct loop_fd *loop_fd, uint32_t events)
{
	return control_epoll(loop, EPOLL_CTL_ADD, loop_fd, events);
}

int loop_fd_mod(struct loop *loop, struct loop_fd *loop_fd, uint32_t events)
{
	return control_epoll(loop, EPOLL_CTL_MOD, loop_fd, events);
}

void loop_fd_del(struct loop *loop, struct loop_fd *loop_fd)
{
	IGNORE(control_epoll(loop, EPOLL_CTL_DEL, loop_fd,
			     0)); /* the descriptor may be closed already */
	for (int i = 0; i < loop->n_ev; i++) {
		if (loop->ev[i].data.ptr == loop_fd)
			loop->ev[i].data.ptr = NULL;
	}
}

static void heap_put(struct loop *loop, size_t index, struct loop_timer *timer)
{
	loop->heap.v[index] = timer;
	timer->heap_at = (uint32_t)index + 1;
}

static void heap_up(struct loop *loop, size_t index, struct loop_timer *timer)
{
	while (index > 0 && loop->heap.v[(index - 1) / 2]->due_ns > timer->due_ns) {
		heap_put(loop, index, loop->heap.v[(index - 1) / 2]);
		index = (index - 1) / 2;
	}
	heap_put(loop, index, timer);
}

static void heap_down(struct loop *loop, size_t index, struct loop_timer *timer)
{
	for (;;) {
		size_t c = 2 * index + 1;
		if (c >= loop->heap.n)
			break;
		if (c + 1 < loop->heap.n && loop->heap.v[c + 1]->due_ns < loop->heap.v[c]->due_ns)
			c++;
		if (loop->heap.v[c]->due_ns >= timer->due_ns)
			break;
		heap_put(loop, index, loop->heap.v[c]);
		index = c;
	}
	heap_put(loop, index, timer);
}

void loop_timer_set(struct loop *loop, struct loop_timer *timer, uint64_t due_ns)
{
	assert(timer->cb != NULL);
	/* A time long ago means now. Else a timer that sets itself so would be the first for ever, and no other had its turn. */
	due_ns = MAX(due_ns, loop->now_ns);
	if (timer->heap_at == 0) {
		vec_push(&loop->heap, timer);
		timer->due_ns = due_ns;
		heap_up(loop, loop->heap.n - 1, timer);
		return;
	}
	size_t i = timer->heap_at - 1;
	assert(i < loop->heap.n && loop->heap.v[i] == timer);
	bool earlier = due_ns < timer->due_ns;
	timer->due_ns = due_ns;
	if (earlier)
		heap_up(loop, i, timer);
	else
		heap_down(loop, i, timer);
}

void loop_timer_stop(struct loop *loop, struct loop_timer *timer)
{
	if (timer->heap_at == 0)
		return;
	size_t i = timer->heap_at - 1;
	assert(i < loop->heap.n && loop->heap.v[i] == timer);
	timer->heap_at = 0;
	struct loop_timer *last = loop->heap.v[--loop->heap.n];
	if (last == timer)
		return;
	if (i > 0 && loop->heap.v[(i - 1) / 2]->due_ns > last->due_ns)
		heap_up(loop, i, last);
	else
		heap_down(loop, i, last);
}

/* As many as there are now at most: one that is due again at once must not stop the loop. */
static void run_timers(struct loop *loop)
{
	for (size_t n = loop->heap.n; n > 0 && loop->heap.n > 0; n--) {
		if (loop->heap.v[0]->due_ns > loop->now_ns)
			return;
		struct loop_timer *t = loop->heap.v[0];
		loop_timer_stop(loop, t);
		t->cb(t);
	}
}

void loop_post(struct loop *loop, struct loop_msg *msg)
{
	assert(msg->cb != NULL);
	struct loop_msg *head = atomic_load_explicit(&loop->posted, memory_order_relaxed);
	do {
		msg->next = head;
	} while (!atomic_compare_exchange_weak_explicit(
		&loop->posted, &head, msg, memory_order_release, memory_order_relaxed));
	if (head == NULL) {
		uint64_t one = 1;
		IGNORE(write(loop->wake.fd, &one, sizeof(one)) < 0); /* full means awake already */
	}
}

static void run_posted(struct loop *loop)
{
	struct loop_msg *m = atomic_exchange_explicit(&loop->posted, NULL, memory_order_acquire);
	struct loop_msg *in_order = NULL;
	while (m != NULL) {
		struct loop_msg *next = m->next;
		m->next = in_order;
		in_order = m;
		m = next;
	}
	while (in_order != NULL) {
		m = in_order;
		in_order = m->next;
		m->cb(m);
	}
}

void loop_again(struct loop *loop)
{
	loop->again = true;
}

uint64_t loop_now_refresh(struct loop *loop)
{
	loop->now_ns = clock_mono_ns();
	return loop->now_ns;
}

static int wait_ms(const struct loop *loop, bool wait)
{
	if (!wait || loop->again)
		return 0;
	if (loop->heap.n == 0)
		return -1;
	uint64_t now = clock_mono_ns();
	uint64_t due = loop->heap.v[0]->due_ns;
	if (due <= now)
		return 0;
	uint64_t ms = (due - now + NS_PER_MS - 1) / NS_PER_MS;
	return ms > 60000 ? 60000 : (int)ms;
}

void loop_turn(struct loop *loop, bool wait)
{
	assert(loop->n_ev == 0); /* a callback does not run the loop */
	int n = epoll_wait(loop->epfd, loop->ev, EVENTS_PER_TURN, wait_ms(loop, wait));
	loop->again = false;
	loop->n_ev = n > 0 ? n : 0;
	loop_now_refresh(loop);
	if (loop->before != NULL)
		loop->before(loop->around_ctx);
	for (int i = 0; i < loop->n_ev; i++) {
		struct loop_fd *f = loop->ev[i].data.ptr;
		if (f != NULL)
			f->cb(f, loop->ev[i].events);
	}
	loop->n_ev = 0;
	if (atomic_load_explicit(&loop->posted, memory_order_relaxed) != NULL)
		run_posted(loop);
	run_timers(loop);
	if (loop->after != NULL)
		loop->after(loop->around_ctx);
}

void loop_run(struct loop *loop)
{
	while (!atomic_load_explicit(&loop->stop, memory_order_acquire))
		loop_turn(loop, true);
}

void loop_stop(struct loop *loop)
{
	uint64_t one = 1;
	atomic_store_explicit(&loop->stop, true, memory_order_release);
	IGNORE(write(loop->wake.fd, &one, sizeof(one)) < 0); /* full means awake already */
}
