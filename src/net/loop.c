/* epoll, a binary heap of timers, and a lock-free stack of messages with an eventfd. */
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
	int epfd;
	struct loop_fd wake; /* eventfd */
	_Atomic(struct loop_msg *) posted;
	_Atomic bool stop;
	bool again;
	uint64_t now_ns;
	VEC(struct loop_timer *) heap;
	void (*before)(void *ctx);
	void (*after)(void *ctx);
	void *around_ctx;
	struct epoll_event ev[EVENTS_PER_TURN];
	int n_ev;
};

static void drain_wake(struct loop_fd *f, uint32_t events)
{
	uint64_t n;
	(void)events;
	while (read(f->fd, &n, sizeof(n)) < 0 && errno == EINTR)
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

void loop_free(struct loop *l)
{
	if (l == NULL)
		return;
	if (l->wake.fd >= 0)
		close(l->wake.fd);
	if (l->epfd >= 0)
		close(l->epfd);
	vec_done(&l->heap);
	free(l);
}

void loop_set_around(struct loop *l, void (*before)(void *ctx), void (*after)(void *ctx), void *ctx)
{
	l->before = before;
	l->after = after;
	l->around_ctx = ctx;
}

static int control(struct loop *l, int op, struct loop_fd *f, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = f };
	return epoll_ctl(l->epfd, op, f->fd, &ev) == 0 ? 0 : -errno;
}

int loop_fd_add(struct loop *l, struct loop_fd *f, uint32_t events)
{
	return control(l, EPOLL_CTL_ADD, f, events);
}

int loop_fd_mod(struct loop *l, struct loop_fd *f, uint32_t events)
{
	return control(l, EPOLL_CTL_MOD, f, events);
}

void loop_fd_del(struct loop *l, struct loop_fd *f)
{
	IGNORE(control(l, EPOLL_CTL_DEL, f, 0)); /* the descriptor may be closed already */
	for (int i = 0; i < l->n_ev; i++) {
		if (l->ev[i].data.ptr == f)
			l->ev[i].data.ptr = NULL;
	}
}

static void heap_put(struct loop *l, size_t i, struct loop_timer *t)
{
	l->heap.v[i] = t;
	t->heap_at = (uint32_t)i + 1;
}

static void heap_up(struct loop *l, size_t i, struct loop_timer *t)
{
	while (i > 0 && l->heap.v[(i - 1) / 2]->due_ns > t->due_ns) {
		heap_put(l, i, l->heap.v[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
	heap_put(l, i, t);
}

static void heap_down(struct loop *l, size_t i, struct loop_timer *t)
{
	for (;;) {
		size_t c = 2 * i + 1;
		if (c >= l->heap.n)
			break;
		if (c + 1 < l->heap.n && l->heap.v[c + 1]->due_ns < l->heap.v[c]->due_ns)
			c++;
		if (l->heap.v[c]->due_ns >= t->due_ns)
			break;
		heap_put(l, i, l->heap.v[c]);
		i = c;
	}
	heap_put(l, i, t);
}

void loop_timer_set(struct loop *l, struct loop_timer *t, uint64_t due_ns)
{
	if (t->heap_at == 0) {
		vec_push(&l->heap, t);
		t->due_ns = due_ns;
		heap_up(l, l->heap.n - 1, t);
		return;
	}
	size_t i = t->heap_at - 1;
	bool earlier = due_ns < t->due_ns;
	t->due_ns = due_ns;
	if (earlier)
		heap_up(l, i, t);
	else
		heap_down(l, i, t);
}

void loop_timer_stop(struct loop *l, struct loop_timer *t)
{
	if (t->heap_at == 0)
		return;
	size_t i = t->heap_at - 1;
	t->heap_at = 0;
	struct loop_timer *last = l->heap.v[--l->heap.n];
	if (last == t)
		return;
	if (i > 0 && l->heap.v[(i - 1) / 2]->due_ns > last->due_ns)
		heap_up(l, i, last);
	else
		heap_down(l, i, last);
}

/* As many as there are now at most: one that is due again at once must not stop the loop. */
static void run_timers(struct loop *l)
{
	for (size_t n = l->heap.n; n > 0 && l->heap.n > 0; n--) {
		if (l->heap.v[0]->due_ns > l->now_ns)
			return;
		struct loop_timer *t = l->heap.v[0];
		loop_timer_stop(l, t);
		t->cb(t);
	}
}

void loop_post(struct loop *l, struct loop_msg *m)
{
	struct loop_msg *head = atomic_load_explicit(&l->posted, memory_order_relaxed);
	do {
		m->next = head;
	} while (!atomic_compare_exchange_weak_explicit(&l->posted, &head, m, memory_order_release,
							memory_order_relaxed));
	if (head == NULL) {
		uint64_t one = 1;
		IGNORE(write(l->wake.fd, &one, sizeof(one)) < 0); /* full means awake already */
	}
}

static void run_posted(struct loop *l)
{
	struct loop_msg *m = atomic_exchange_explicit(&l->posted, NULL, memory_order_acquire);
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

void loop_again(struct loop *l)
{
	l->again = true;
}

uint64_t loop_now(const struct loop *l)
{
	return l->now_ns;
}

uint64_t loop_now_refresh(struct loop *l)
{
	l->now_ns = clock_mono_ns();
	return l->now_ns;
}

static int wait_ms(const struct loop *l, bool wait)
{
	if (!wait || l->again)
		return 0;
	if (l->heap.n == 0)
		return -1;
	uint64_t now = clock_mono_ns();
	uint64_t due = l->heap.v[0]->due_ns;
	if (due <= now)
		return 0;
	uint64_t ms = (due - now + NS_PER_MS - 1) / NS_PER_MS;
	return ms > 60000 ? 60000 : (int)ms;
}

void loop_turn(struct loop *l, bool wait)
{
	int n = epoll_wait(l->epfd, l->ev, EVENTS_PER_TURN, wait_ms(l, wait));
	l->again = false;
	l->n_ev = n > 0 ? n : 0;
	loop_now_refresh(l);
	if (l->before != NULL)
		l->before(l->around_ctx);
	for (int i = 0; i < l->n_ev; i++) {
		struct loop_fd *f = l->ev[i].data.ptr;
		if (f != NULL)
			f->cb(f, l->ev[i].events);
	}
	l->n_ev = 0;
	if (atomic_load_explicit(&l->posted, memory_order_relaxed) != NULL)
		run_posted(l);
	run_timers(l);
	if (l->after != NULL)
		l->after(l->around_ctx);
}

void loop_run(struct loop *l)
{
	while (!atomic_load_explicit(&l->stop, memory_order_acquire))
		loop_turn(l, true);
}

void loop_stop(struct loop *l)
{
	uint64_t one = 1;
	atomic_store_explicit(&l->stop, true, memory_order_release);
	IGNORE(write(l->wake.fd, &one, sizeof(one)) < 0); /* full means awake already */
}
