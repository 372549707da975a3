/* Who asks and who waits, by key, on one worker. The queries of a key are a group; groups hang in a
 * small table, so that finding one takes no longer however many wait in it. Keys are told apart by
 * their hash: a follower that waited for something else finds nothing stored and asks by itself.
 *
 * No more than FLIGHT_ASKING_MAX queries of a group ask at a time, whatever becomes of them: a
 * thousand equal questions under way are a thousand chances for who forges a reply. */
#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"
#include "plugin/cache/cache_priv.h"

static struct flight_group **list_of(struct cache_worker *w, uint64_t hash)
{
	return &w->flight[hash % FLIGHT_LISTS];
}

static struct flight_group *find_group(struct cache_worker *w, uint64_t hash)
{
	struct flight_group *g = *list_of(w, hash);
	while (g != NULL && g->hash != hash)
		g = g->next;
	return g;
}

/* Groups are reused: there are never more than queries in flight. */
static struct flight_group *make_group(struct cache_worker *w, uint64_t hash)
{
	struct flight_group **at = list_of(w, hash), *g = w->free_groups;
	if (g != NULL)
		w->free_groups = g->next;
	else
		g = xmalloc(sizeof(*g));
	*g = (struct flight_group){ .next = *at, .at = at, .w = w, .hash = hash };
	g->last = &g->first;
	if (g->next != NULL)
		g->next->at = &g->next;
	*at = g;
	return g;
}

static void drop_if_empty(struct flight_group *g)
{
	if (g->n_asking != 0 || g->first != NULL)
		return;
	*g->at = g->next;
	if (g->next != NULL)
		g->next->at = g->at;
	g->next = g->w->free_groups;
	g->w->free_groups = g;
}

static struct flight_group *get_group(struct cache_worker *w, uint64_t hash)
{
	struct flight_group *g = find_group(w, hash);
	return g != NULL ? g : make_group(w, hash);
}

unsigned flight_asking(struct cache_worker *w, uint64_t hash)
{
	const struct flight_group *g = find_group(w, hash);
	return g != NULL ? g->n_asking : 0;
}

struct flight *flight_waiting(struct cache_worker *w, uint64_t hash)
{
	const struct flight_group *g = find_group(w, hash);
	return g != NULL ? g->first : NULL;
}

bool flight_waits(struct cache_worker *w, uint64_t hash)
{
	return flight_waiting(w, hash) != NULL;
}

void flight_ask(struct cache_worker *w, struct flight *f, struct query *q, uint64_t hash)
{
	struct flight_group *g = get_group(w, hash);
	assert(f->group == NULL);
	*f = (struct flight){ .group = g, .q = q, .asks = true };
	g->n_asking++;
}

void flight_wait(struct cache_worker *w, struct flight *f, struct query *q, uint64_t hash)
{
	struct flight_group *g = get_group(w, hash);
	assert(f->group == NULL);
	*f = (struct flight){ .group = g, .q = q, .at = g->last };
	*g->last = f;
	g->last = &f->next;
}

void flight_wait_ahead(struct cache_worker *w, struct flight *f, struct query *q, uint64_t hash)
{
	struct flight_group *g = get_group(w, hash);
	assert(f->group == NULL);
	*f = (struct flight){ .group = g, .q = q, .next = g->first, .at = &g->first };
	if (f->next != NULL)
		f->next->at = &f->next;
	else
		g->last = &f->next;
	g->first = f;
}

static void unlink_waiting(struct flight *f)
{
	*f->at = f->next;
	if (f->next != NULL)
		f->next->at = f->at;
	else
		f->group->last = f->at;
}

void flight_remove(struct flight *f)
{
	struct flight_group *g = f->group;
	if (g == NULL)
		return;
	if (f->asks)
		g->n_asking--;
	else
		unlink_waiting(f);
	f->group = NULL;
	drop_if_empty(g);
}

void flight_wake(struct plugin_inst *self, struct cache_worker *w, uint64_t hash, bool refreshed)
{
	struct flight *next;
	for (struct flight *f = flight_waiting(w, hash); f != NULL; f = next) {
		next = f->next;
		struct pass *p = query_state_get(f->q, self);
		if (p != NULL)
			p->refreshed = refreshed;
		flight_remove(f);
		query_resume(f->q);
	}
}

void flight_release(struct plugin_inst *self, struct cache_worker *w, uint64_t hash)
{
	struct flight *next;
	for (struct flight *f = flight_waiting(w, hash); f != NULL; f = next) {
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

void flight_done(struct cache_worker *w)
{
	while (w->free_groups != NULL) {
		struct flight_group *g = w->free_groups;
		w->free_groups = g->next;
		free(g);
	}
}
