/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Single flight: of the queries of one worker for the same key, a few ask the chain below (leaders)
 * and the others wait for their replies (followers). The queries of a key are a group; groups are
 * in a small hash table, so that finding one costs the same however many wait in it. Keys are
 * compared by their hash: a follower that waited for something else finds nothing stored and asks
 * by itself.
 *
 * No more than FLIGHT_ASKING_MAX queries of a group ask at a time, whatever becomes of them: a
 * thousand equal questions under way are a thousand chances for who forges a reply. */
#include "plugin/cache/single_flight.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"

static struct flight_group **list_of(struct cache_worker *worker, uint64_t hash)
{
	return &worker->flight[hash % FLIGHT_LISTS];
}

static struct flight_group *find_group(struct cache_worker *worker, uint64_t hash)
{
	struct flight_group *g = *list_of(worker, hash);
	while (g != NULL && g->hash != hash)
		g = g->next;
	return g;
}

/* Groups are reused: there are never more than queries in flight. */
static struct flight_group *make_group(struct cache_worker *worker, uint64_t hash)
{
	struct flight_group **at = list_of(worker, hash), *g = worker->free_groups;
	if (g != NULL)
		worker->free_groups = g->next;
	else
		g = xmalloc(sizeof(*g));
	*g = (struct flight_group){ .next = *at, .at = at, .worker = worker, .hash = hash };
	g->last = &g->first;
	if (g->next != NULL)
		g->next->at = &g->next;
	*at = g;
	return g;
}

static void drop_if_empty(struct flight_group *group)
{
	if (group->n_asking != 0 || group->first != NULL)
		return;
	assert(*group->at == group);
	*group->at = group->next;
	if (group->next != NULL)
		group->next->at = group->at;
	group->next = group->worker->free_groups;
	group->worker->free_groups = group;
}

static struct flight_group *get_group(struct cache_worker *worker, uint64_t hash)
{
	struct flight_group *g = find_group(worker, hash);
	return g != NULL ? g : make_group(worker, hash);
}

unsigned flight_asking(struct cache_worker *worker, uint64_t hash)
{
	const struct flight_group *g = find_group(worker, hash);
	return g != NULL ? g->n_asking : 0;
}

struct flight *flight_waiting(struct cache_worker *worker, uint64_t hash)
{
	const struct flight_group *g = find_group(worker, hash);
	return g != NULL ? g->first : NULL;
}

bool flight_waits(struct cache_worker *worker, uint64_t hash)
{
	return flight_waiting(worker, hash) != NULL;
}

void flight_ask(struct cache_worker *worker, struct flight *flight, struct query *q, uint64_t hash)
{
	struct flight_group *g = get_group(worker, hash);
	assert(flight->group == NULL);
	*flight = (struct flight){ .group = g, .q = q, .asks = true };
	g->n_asking++;
}

void flight_wait(struct cache_worker *worker, struct flight *flight, struct query *q, uint64_t hash)
{
	struct flight_group *g = get_group(worker, hash);
	assert(flight->group == NULL);
	*flight = (struct flight){ .group = g, .q = q, .at = g->last };
	*g->last = flight;
	g->last = &flight->next;
}

void flight_wait_ahead(struct cache_worker *worker, struct flight *flight, struct query *q,
		       uint64_t hash)
{
	struct flight_group *g = get_group(worker, hash);
	assert(flight->group == NULL);
	*flight = (struct flight){ .group = g, .q = q, .next = g->first, .at = &g->first };
	if (flight->next != NULL)
		flight->next->at = &flight->next;
	else
		g->last = &flight->next;
	g->first = flight;
}

static void unlink_waiting(struct flight *flight)
{
	assert(!flight->asks && *flight->at == flight);
	*flight->at = flight->next;
	if (flight->next != NULL)
		flight->next->at = flight->at;
	else
		flight->group->last = flight->at;
}

void flight_remove(struct flight *flight)
{
	struct flight_group *g = flight->group;
	if (g == NULL)
		return;
	assert(!flight->asks || g->n_asking > 0);
	if (flight->asks)
		g->n_asking--;
	else
		unlink_waiting(flight);
	flight->group = NULL;
	drop_if_empty(g);
}

void flight_wake(struct plugin_inst *self, struct cache_worker *worker, uint64_t hash,
		 bool refreshed)
{
	struct flight *next;
	for (struct flight *f = flight_waiting(worker, hash); f != NULL; f = next) {
		next = f->next;
		struct pass *p = query_state_get(f->q, self);
		if (p != NULL)
			p->refreshed = refreshed;
		flight_remove(f);
		query_resume(f->q);
	}
}

void flight_release(struct plugin_inst *self, struct cache_worker *worker, uint64_t hash)
{
	struct flight *next;
	for (struct flight *f = flight_waiting(worker, hash); f != NULL; f = next) {
		next = f->next;
		const struct pass *p = query_state_get(f->q, self);
		struct flight_group *g = f->group;
		bool asks = p != NULL && p->mode == PASS_FOLLOW;
		if (asks && g->n_asking >= FLIGHT_ASKING_MAX)
			return; /* those behind it would ask, too */
		if (asks) {
			unlink_waiting(f);
			f->asks = true;
			g->n_asking++;
		} else { /* it has something else to answer */
			flight_remove(f);
		}
		query_resume(f->q);
	}
}

void flight_done(struct cache_worker *worker)
{
	for (size_t i = 0; i < FLIGHT_LISTS; i++)
		assert(worker->flight[i] == NULL);
	while (worker->free_groups != NULL) {
		struct flight_group *g = worker->free_groups;
		worker->free_groups = g->next;
		free(g);
	}
}
