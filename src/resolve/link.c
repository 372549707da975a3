/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Links: descriptors in the loop, the ids in use on each, and when they close. */
#include "resolve/link_priv.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "net/sock.h"
#include "resolve/exchange_priv.h"
#include "resolve/resolver_priv.h"
#include "resolve/types_priv.h"

int link_socket(const struct resolve_conf *conf, int type)
{
	int fd = socket(conf->addr.family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	int r = 0;
	net_sock_mark(fd);
	if (conf->source.family != AF_UNSPEC &&
	    bind(fd, &conf->source.sa, net_addr_len(&conf->source)) < 0)
		r = -errno;
	if (r == 0 && connect(fd, &conf->addr.sa, net_addr_len(&conf->addr)) < 0 &&
	    errno != EINPROGRESS)
		r = -errno;
	if (r < 0) {
		close(fd);
		return r;
	}
	return fd;
}

struct resolve_link *link_open(struct resolve_pool *pool, int fd, uint32_t events,
			       const struct link_ops *ops, size_t size)
{
	assert(fd >= 0 && size >= sizeof(struct resolve_link));
	struct resolver *resolver = pool->resolver;
	struct resolve_link *link = xcalloc(1, size);
	link->io.fd = fd;
	link->pool = pool;
	link->ops = ops;
	if (loop_fd_add(resolver->env.loop, &link->io, events) < 0) {
		close(fd);
		free(link);
		return NULL;
	}
	link->seq = ++resolver->link_seq;
	link->opened_ns = link->idle_ns = loop_now(resolver->env.loop);
	link->next = pool->links;
	if (link->next != NULL)
		link->next->prev = link;
	pool->links = link;
	resolver->stats.opened++;
	return link;
}

static void take_off_dirty(struct resolver *resolver, struct resolve_link *link)
{
	struct resolve_link **at = &resolver->dirty;
	while (*at != link)
		at = &(*at)->dirty_next;
	*at = link->dirty_next;
	link->dirty = false;
}

void link_close(struct resolve_link *link)
{
	struct resolve_pool *pool = link->pool;
	if (link->io.fd < 0)
		return;
	assert(link->inflight == 0 && link->queued.first == NULL && link->sent.first == NULL);
	link->ops->closed(link);
	loop_fd_del(pool->resolver->env.loop, &link->io);
	close(link->io.fd);
	link->io.fd = -1;
	if (link->dirty)
		take_off_dirty(pool->resolver, link);
	*(link->prev != NULL ? &link->prev->next : &pool->links) = link->next;
	if (link->next != NULL)
		link->next->prev = link->prev;
	link->next = pool->resolver->grave;
	pool->resolver->grave = link;
}

void link_drain(struct resolve_link *link)
{
	link->draining = true;
	if (link->inflight == 0)
		link_close(link);
}

void link_dirty(struct resolve_link *link)
{
	struct resolver *resolver = link->pool->resolver;
	if (!link->dirty) {
		link->dirty = true;
		link->dirty_next = resolver->dirty;
		resolver->dirty = link;
	}
	resolver_arm(resolver);
}

struct resolve_exchange *link_find(const struct resolve_link *link, uint16_t id)
{
	struct resolve_exchange *exchange = link->by_id[id % ID_BUCKETS];
	while (exchange != NULL && exchange->wire_id != id)
		exchange = exchange->hash_next;
	return exchange;
}

static struct resolve_exchange **question_bucket(struct resolve_link *link, uint32_t hash)
{
	return &link->by_question[hash % QUESTION_BUCKETS];
}

bool link_carries(const struct resolve_link *link, uint32_t question_hash)
{
	const struct resolve_exchange *exchange =
		link->by_question[question_hash % QUESTION_BUCKETS];
	while (exchange != NULL && exchange->question_hash != question_hash)
		exchange = exchange->question_next;
	return exchange != NULL;
}

static void add_question(struct resolve_link *link, struct resolve_exchange *exchange)
{
	struct resolve_exchange **bucket = question_bucket(link, exchange->question_hash);
	exchange->question_next = *bucket;
	*bucket = exchange;
}

static void remove_question(struct resolve_link *link, const struct resolve_exchange *exchange)
{
	struct resolve_exchange **at = question_bucket(link, exchange->question_hash);
	while (*at != exchange)
		at = &(*at)->question_next;
	*at = exchange->question_next;
}

static bool has_question(const struct resolve_exchange *exchange)
{
	return exchange->question_hash != 0 && exchange->proto == RESOLVE_UDP;
}

void link_add(struct resolve_link *link, struct resolve_exchange *exchange)
{
	uint16_t id;
	assert(link->io.fd >= 0 && exchange->link == NULL);
	do
		id = rng_strong_u16(&link->pool->resolver->rng);
	while (link_find(link, id) != NULL);
	exchange->wire_id = id;
	exchange->hash_next = link->by_id[id % ID_BUCKETS];
	link->by_id[id % ID_BUCKETS] = exchange;
	exchange->link = link;
	if (has_question(exchange))
		add_question(link, exchange);
	exchange->reused = link->uses != 0;
	link->uses++;
	link->inflight++;
	dns_put16(exchange->msg, id);
}

void link_remove(struct resolve_link *link, struct resolve_exchange *exchange)
{
	assert(exchange->link == link && link->inflight > 0);
	struct resolve_exchange **at = &link->by_id[exchange->wire_id % ID_BUCKETS];
	while (*at != exchange)
		at = &(*at)->hash_next;
	*at = exchange->hash_next;
	if (has_question(exchange))
		remove_question(link, exchange);
	exchange->link = NULL;
	if (link->pool->waiting.first != NULL)
		resolver_pump(link->pool->resolver);
	if (--link->inflight != 0)
		return;
	link->idle_ns = loop_now(link->pool->resolver->env.loop);
	if (link->draining)
		link_close(link);
	else if (link->ops->idle != NULL)
		link->ops->idle(link);
}

void link_fail_all(struct resolve_link *link, enum resolve_result result, int code)
{
	for (unsigned i = 0; i < ID_BUCKETS && link->inflight != 0; i++) {
		while (link->by_id[i] != NULL)
			exchange_fail(link->pool->resolver, link->by_id[i], result, code);
	}
}

void link_sweep_at(struct resolver *resolver, uint64_t due_ns)
{
	if (resolver->sweep.heap_at == 0 || due_ns < resolver->sweep.due_ns)
		loop_timer_set(resolver->env.loop, &resolver->sweep, due_ns);
}

/* Closes links that are idle for too long. */
static void sweep_pool(struct resolve_pool *pool, uint64_t now)
{
	for (struct resolve_link *link = pool->links, *next; link != NULL; link = next) {
		next = link->next;
		uint64_t due = link->idle_ns + pool->up->conf.expire_ns;
		if (link->inflight == 0 && due <= now)
			link_close(link);
		else
			link_sweep_at(pool->resolver, MAX(due, now + NS_PER_S));
	}
}

void link_sweep(struct loop_timer *timer)
{
	struct resolver *resolver = CONTAINER_OF(timer, struct resolver, sweep);
	uint64_t now = loop_now(resolver->env.loop);
	resolver_enter(resolver);
	for (unsigned i = 0; i < POOL_BUCKETS; i++) {
		for (struct resolve_pool *pool = resolver->pools[i]; pool != NULL;
		     pool = pool->next)
			sweep_pool(pool, now);
	}
	resolver_leave(resolver);
}
