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
	struct flight_group *group = *list_of(worker, hash);
	while (group != NULL && group->hash != hash)
		group = group->next;
	return group;
}

/* Groups are reused: there are never more than queries in flight. */
static struct flight_group *make_group(struct cache_worker *worker, uint64_t hash)
{
	struct flight_group **group = list_of(worker, hash), *g = worker->free_groups;
	if (g != NULL)
		worker->free_groups = g->next;
	else
		g = xmalloc(sizeof(*g));
	*g = (struct flight_group){ .next = *group, .at = group, .worker = worker, .hash = hash };
	g->last = &g->first;
	if (g->next != NULL)
		g->next->at = &g->next;
	*group = g;
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
	struct flight_group *group = find_group(worker, hash);
	return group != NULL ? group : make_group(worker, hash);
}

unsigned flight_asking(struct cache_worker *worker, uint64_t hash)
{
	const struct flight_group *group = find_group(worker, hash);
	return group != NULL ? group->n_asking : 0;
}

struct flight *flight_waiting(struct cache_worker *worker, uint64_t hash)
{
	const struct flight_group *group = find_group(worker, hash);
	return group != NULL ? group->first : NULL;
}

bool flight_waits(struct cache_worker *worker, uint64_t hash)
{
	return flight_waiting(worker, hash) != NULL;
}

void flight_ask(struct cache_worker *worker, struct flight *flight, struct query *q, uint64_t hash)
{
	struct flight_group *group = get_group(worker, hash);
	assert(flight->group == NULL);
	*flight = (struct flight){ .group = group, .q = q, .asks = true };
	group->n_asking++;
}

void flight_wait(struct cache_worker *worker, struct flight *flight, struct query *q, uint64_t hash)
{
	struct flight_group *group = get_group(worker, hash);
	assert(flight->group == NULL);
	*flight = (struct flight){ .group = group, .q = q, .at = group->last };
	*group->last = flight;
	group->last = &flight->next;
}

void flight_wait_ahead(struct cache_worker *worker, struct flight *flight, struct query *q,
		       uint64_t hash)
{
	struct flight_group *group = get_group(worker, hash);
	assert(flight->group == NULL);
	*flight = (struct flight){
		.group = group, .q = q, .next = group->first, .at = &group->first
	};
	if (flight->next != NULL)
		flight->next->at = &flight->next;
	else
		group->last = &flight->next;
	group->first = flight;
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
	struct flight_group *group = flight->group;
	if (group == NULL)
		return;
	assert(!flight->asks || group->n_asking > 0);
	if (flight->asks)
		group->n_asking--;
	else
		unlink_waiting(flight);
	flight->group = NULL;
	drop_if_empty(group);
}

void flight_wake(struct plugin_inst *self, struct cache_worker *worker, uint64_t hash,
		 bool refreshed)
{
	struct flight *next;
	for (struct flight *flight = flight_waiting(worker, hash); flight != NULL; flight = next) {
		next = flight->next;
		struct pass *pass = query_state_get(flight->q, self);
		if (pass != NULL)
			pass->refreshed = refreshed;
		flight_remove(flight);
		query_resume(flight->q);
	}
}

void flight_release(struct plugin_inst *self, struct cache_worker *worker, uint64_t hash)
{
	struct flight *next;
	for (struct flight *flight = flight_waiting(worker, hash); flight != NULL; flight = next) {
		next = flight->next;
		const struct pass *pass = query_state_get(flight->q, self);
		struct flight_group *group = flight->group;
		bool asks = pass != NULL && pass->mode == PASS_FOLLOW;
		if (asks && group->n_asking >= FLIGHT_ASKING_MAX)
			return; /* those behind it would ask, too */
		if (asks) {
			unlink_waiting(flight);
			flight->asks = true;
			group->n_asking++;
		} else { /* it has something else to answer */
			flight_remove(flight);
		}
		query_resume(flight->q);
	}
}

void flight_done(struct cache_worker *worker)
{
	for (size_t i = 0; i < FLIGHT_LISTS; i++)
		assert(worker->flight[i] == NULL);
	while (worker->free_groups != NULL) {
		struct flight_group *group = worker->free_groups;
		worker->free_groups = group->next;
		free(group);
	}
}
