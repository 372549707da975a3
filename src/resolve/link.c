/* Links: descriptors in the loop, the ids in use on each, and when they close. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "resolve/resolve_priv.h"

int link_socket(const struct resolve_conf *c, int type)
{
	int fd = socket(c->addr.family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	int r = 0;
	if (c->source.family != AF_UNSPEC && bind(fd, &c->source.sa, net_addr_len(&c->source)) < 0)
		r = -errno;
	if (r == 0 && connect(fd, &c->addr.sa, net_addr_len(&c->addr)) < 0 && errno != EINPROGRESS)
		r = -errno;
	if (r < 0) {
		close(fd);
		return r;
	}
	return fd;
}

struct resolve_link *link_open(struct resolve_pool *p, int fd, uint32_t events,
			       const struct link_ops *ops, size_t size)
{
	struct resolver *r = p->r;
	struct resolve_link *l = xcalloc(1, size);
	l->io.fd = fd;
	l->pool = p;
	l->ops = ops;
	if (loop_fd_add(r->env.loop, &l->io, events) < 0) {
		close(fd);
		free(l);
		return NULL;
	}
	l->seq = ++r->link_seq;
	l->opened_ns = l->idle_ns = loop_now(r->env.loop);
	l->next = p->links;
	if (l->next != NULL)
		l->next->prev = l;
	p->links = l;
	r->stats.opened++;
	return l;
}

static void take_off_dirty(struct resolver *r, struct resolve_link *l)
{
	struct resolve_link **at = &r->dirty;
	while (*at != l)
		at = &(*at)->dirty_next;
	*at = l->dirty_next;
	l->dirty = false;
}

void link_close(struct resolve_link *l)
{
	struct resolve_pool *p = l->pool;
	if (l->io.fd < 0)
		return;
	l->ops->closed(l);
	loop_fd_del(p->r->env.loop, &l->io);
	close(l->io.fd);
	l->io.fd = -1;
	if (l->dirty)
		take_off_dirty(p->r, l);
	*(l->prev != NULL ? &l->prev->next : &p->links) = l->next;
	if (l->next != NULL)
		l->next->prev = l->prev;
	l->next = p->r->grave;
	p->r->grave = l;
}

void link_drain(struct resolve_link *l)
{
	l->draining = true;
	if (l->inflight == 0)
		link_close(l);
}

void link_dirty(struct resolve_link *l)
{
	struct resolver *r = l->pool->r;
	if (!l->dirty) {
		l->dirty = true;
		l->dirty_next = r->dirty;
		r->dirty = l;
	}
	resolver_arm(r);
}

struct resolve_exchange *link_find(const struct resolve_link *l, uint16_t id)
{
	struct resolve_exchange *x = l->by_id[id % ID_BUCKETS];
	while (x != NULL && x->wire_id != id)
		x = x->hash_next;
	return x;
}

static struct resolve_exchange **question_bucket(struct resolve_link *l, uint32_t hash)
{
	return &l->by_question[hash % QUESTION_BUCKETS];
}

bool link_carries(const struct resolve_link *l, uint32_t question_hash)
{
	const struct resolve_exchange *x = l->by_question[question_hash % QUESTION_BUCKETS];
	while (x != NULL && x->question_hash != question_hash)
		x = x->question_next;
	return x != NULL;
}

static void add_question(struct resolve_link *l, struct resolve_exchange *x)
{
	struct resolve_exchange **bucket = question_bucket(l, x->question_hash);
	x->question_next = *bucket;
	*bucket = x;
}

static void remove_question(struct resolve_link *l, const struct resolve_exchange *x)
{
	struct resolve_exchange **at = question_bucket(l, x->question_hash);
	while (*at != x)
		at = &(*at)->question_next;
	*at = x->question_next;
}

static bool has_question(const struct resolve_exchange *x)
{
	return x->question_hash != 0 && x->proto == RESOLVE_UDP;
}

void link_add(struct resolve_link *l, struct resolve_exchange *x)
{
	uint16_t id;
	do
		id = rng_strong_u16(&l->pool->r->rng);
	while (link_find(l, id) != NULL);
	x->wire_id = id;
	x->hash_next = l->by_id[id % ID_BUCKETS];
	l->by_id[id % ID_BUCKETS] = x;
	x->link = l;
	if (has_question(x))
		add_question(l, x);
	x->reused = l->uses != 0;
	l->uses++;
	l->inflight++;
	dns_put16(x->msg, id);
}

void link_remove(struct resolve_link *l, struct resolve_exchange *x)
{
	struct resolve_exchange **at = &l->by_id[x->wire_id % ID_BUCKETS];
	while (*at != x)
		at = &(*at)->hash_next;
	*at = x->hash_next;
	if (has_question(x))
		remove_question(l, x);
	x->link = NULL;
	if (l->pool->waiting.first != NULL)
		resolver_pump(l->pool->r);
	if (--l->inflight != 0)
		return;
	l->idle_ns = loop_now(l->pool->r->env.loop);
	if (l->draining || l->pool->forgotten)
		link_close(l);
	else if (l->ops->idle != NULL)
		l->ops->idle(l);
}

void link_fail_all(struct resolve_link *l, enum resolve_result result, int code)
{
	for (unsigned i = 0; i < ID_BUCKETS && l->inflight != 0; i++) {
		while (l->by_id[i] != NULL)
			exchange_fail(l->pool->r, l->by_id[i], result, code);
	}
}

void link_sweep_at(struct resolver *r, uint64_t due_ns)
{
	if (r->sweep.heap_at == 0 || due_ns < r->sweep.due_ns)
		loop_timer_set(r->env.loop, &r->sweep, due_ns);
}

/* Closes links that are idle for too long. */
static void sweep_pool(struct resolve_pool *p, uint64_t now)
{
	for (struct resolve_link *l = p->links, *next; l != NULL; l = next) {
		next = l->next;
		uint64_t due = l->idle_ns + p->up->conf.expire_ns;
		if (l->inflight == 0 && due <= now)
			link_close(l);
		else
			link_sweep_at(p->r, MAX(due, now + NS_PER_S));
	}
}

void link_sweep(struct loop_timer *t)
{
	struct resolver *r = CONTAINER_OF(t, struct resolver, sweep);
	uint64_t now = loop_now(r->env.loop);
	resolver_enter(r);
	for (unsigned i = 0; i < POOL_BUCKETS; i++) {
		for (struct resolve_pool *p = r->pools[i]; p != NULL; p = p->next)
			sweep_pool(p, now);
	}
	resolver_leave(r);
}
