/* Who asks and who waits, by key, on one worker. Lists hang in a small table and their links lie in
 * the queries' own memory. Keys are told apart by their hash: a follower that waited for something
 * else finds nothing stored and goes on by itself. */
#include "plugin/cache/cache_priv.h"

static struct flight **list_of(struct cache_worker *w, uint64_t hash)
{
	return &w->flight[hash % FLIGHT_LISTS];
}

struct flight *flight_leader(struct cache_worker *w, uint64_t hash)
{
	struct flight *f = *list_of(w, hash);
	while (f != NULL && (f->hash != hash || !f->leads))
		f = f->next;
	return f;
}

bool flight_waits(struct cache_worker *w, uint64_t hash)
{
	const struct flight *f = *list_of(w, hash);
	while (f != NULL && (f->hash != hash || f->leads))
		f = f->next;
	return f != NULL;
}

void flight_add(struct cache_worker *w, struct flight *f, struct query *q, uint64_t hash,
		bool leads)
{
	struct flight **at = list_of(w, hash);
	*f = (struct flight){ .next = *at, .at = at, .hash = hash, .q = q, .leads = leads };
	if (f->next != NULL)
		f->next->at = &f->next;
	*at = f;
}

void flight_remove(struct flight *f)
{
	if (f->at == NULL)
		return;
	*f->at = f->next;
	if (f->next != NULL)
		f->next->at = f->at;
	f->at = NULL;
}

void flight_wake(struct plugin_inst *self, struct cache_worker *w, uint64_t hash, bool refreshed)
{
	struct flight *next;
	for (struct flight *f = *list_of(w, hash); f != NULL; f = next) {
		next = f->next;
		if (f->hash != hash || f->leads)
			continue;
		struct pass *p = query_state_get(f->q, self);
		if (p != NULL)
			p->refreshed = refreshed;
		flight_remove(f);
		query_resume(f->q);
	}
}
