/* Objects stand in an array; tables of 8 bytes per entry lead from a hash to a place in it. Whether
 * an entry is the right one is told by the object itself, so keys are not kept. */
#include "kube/store.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"

struct entry {
	uint32_t hash;
	uint32_t at; /* place plus one; 0: free */
};

struct table {
	struct entry *e;
	size_t n, cap; /* cap: a power of two, or 0 */
};

struct kube_store {
	pthread_rwlock_t lock; /* guards all below; only the writer needs none to read */
	struct table main;     /* namespace and name */
	struct table indexes[KUBE_STORE_INDEXES_MAX];
	kube_index_fn fn[KUBE_STORE_INDEXES_MAX];
	size_t n_indexes;
	VEC(struct kube_obj *) items; /* NULL: a free place */
	VEC(uint32_t) places;	      /* the free ones */
	size_t n;
	uint32_t mark;
};

/* ---- tables ---- */

static void place(struct table *t, struct entry e)
{
	size_t i = e.hash & (t->cap - 1);
	while (t->e[i].at != 0)
		i = (i + 1) & (t->cap - 1);
	t->e[i] = e;
}

static void resize(struct table *t, size_t cap)
{
	struct table old = *t;
	t->cap = cap;
	t->e = xcalloc(cap, sizeof(*t->e));
	for (size_t i = 0; i < old.cap; i++) {
		if (old.e[i].at != 0)
			place(t, old.e[i]);
	}
	free(old.e);
}

static void table_add(struct table *t, uint32_t hash, uint32_t at)
{
	if ((t->n + 1) * 4 > t->cap * 3)
		resize(t, t->cap != 0 ? t->cap * 2 : 16);
	place(t, (struct entry){ .hash = hash, .at = at + 1 });
	t->n++;
}

/* Closes the gap, so that no search ends too early. */
static void table_del(struct table *t, uint32_t hash, uint32_t at)
{
	size_t mask = t->cap - 1, i = hash & mask;
	while (t->e[i].at != at + 1 || t->e[i].hash != hash) {
		assert(t->e[i].at != 0);
		i = (i + 1) & mask;
	}
	for (size_t j = (i + 1) & mask; t->e[j].at != 0; j = (j + 1) & mask) {
		if (((j - t->e[j].hash) & mask) >= ((j - i) & mask)) {
			t->e[i] = t->e[j];
			i = j;
		}
	}
	t->e[i].at = 0;
	t->n--;
	/* Late, and not when small: an update takes an object's keys out before it puts them in. */
	if (t->cap > 4096 && t->n * 8 < t->cap)
		resize(t, t->cap / 2);
}

static uint32_t hash_of(struct slice key)
{
	return (uint32_t)hash_bytes(hash_process_key(), key.p, key.n);
}

static uint32_t hash_name(struct slice ns, struct slice name)
{
	const struct hash_key *k = hash_process_key();
	return (uint32_t)(hash_bytes(k, ns.p, ns.n) * 31 + hash_bytes(k, name.p, name.n));
}

/* ---- index functions ---- */

struct index_change {
	struct table *table;
	uint32_t at;
	bool add;
};

static void change_one(void *ctx, struct slice key)
{
	const struct index_change *c = ctx;
	if (c->add)
		table_add(c->table, hash_of(key), c->at);
	else
		table_del(c->table, hash_of(key), c->at);
}

static void index_all(struct kube_store *s, const struct kube_obj *o, bool add)
{
	for (size_t i = 0; i < s->n_indexes; i++) {
		struct index_change c = { .table = &s->indexes[i], .at = o->at, .add = add };
		s->fn[i](o, change_one, &c);
	}
}

struct index_look {
	struct slice key;
	bool found;
};

static void look_one(void *ctx, struct slice key)
{
	struct index_look *l = ctx;
	l->found = l->found || slice_eq(key, l->key);
}

/* ---- objects ---- */

struct kube_store *kube_store_new(const kube_index_fn *indexes, size_t n)
{
	struct kube_store *s = xcalloc(1, sizeof(*s));
	assert(n <= KUBE_STORE_INDEXES_MAX);
	for (size_t i = 0; i < n; i++)
		s->fn[i] = indexes[i];
	s->n_indexes = n;
	pthread_rwlock_init(&s->lock, NULL);
	return s;
}

void kube_store_free(struct kube_store *s)
{
	if (s == NULL)
		return;
	for (size_t i = 0; i < s->items.n; i++)
		kube_obj_unref(s->items.v[i]);
	for (size_t i = 0; i < s->n_indexes; i++)
		free(s->indexes[i].e);
	free(s->main.e);
	vec_done(&s->items);
	vec_done(&s->places);
	pthread_rwlock_destroy(&s->lock);
	free(s);
}

static struct kube_obj *find(const struct kube_store *s, struct slice ns, struct slice name)
{
	const struct table *t = &s->main;
	uint32_t hash = hash_name(ns, name);
	if (t->cap == 0)
		return NULL;
	for (size_t i = hash & (t->cap - 1); t->e[i].at != 0; i = (i + 1) & (t->cap - 1)) {
		if (t->e[i].hash != hash)
			continue;
		struct kube_obj *o = s->items.v[t->e[i].at - 1];
		if (slice_is(name, o->name) && slice_is(ns, o->ns))
			return o;
	}
	return NULL;
}

static void insert(struct kube_store *s, struct kube_obj *o)
{
	if (s->places.n != 0) {
		o->at = s->places.v[--s->places.n];
		s->items.v[o->at] = o;
	} else {
		o->at = (uint32_t)s->items.n;
		vec_push(&s->items, o);
	}
	table_add(&s->main, hash_name(slice_of(o->ns), slice_of(o->name)), o->at);
	index_all(s, o, true);
	s->n++;
}

static void take_out(struct kube_store *s, struct kube_obj *o)
{
	table_del(&s->main, hash_name(slice_of(o->ns), slice_of(o->name)), o->at);
	index_all(s, o, false);
	s->items.v[o->at] = NULL;
	vec_push(&s->places, o->at);
	s->n--;
}

static void replace(struct kube_store *s, struct kube_obj *old, struct kube_obj *o)
{
	index_all(s, old, false);
	o->at = old->at;
	s->items.v[o->at] = o;
	index_all(s, o, true);
}

enum kube_store_put kube_store_put(struct kube_store *s, struct kube_obj *o,
				   struct kube_obj **ret_old)
{
	struct kube_obj *old = find(s, slice_of(o->ns), slice_of(o->name));
	o->mark = s->mark;
	if (old != NULL)
		old->mark = s->mark;
	if (o->ignore || (old != NULL && old->rv[0] != '\0' && strcmp(old->rv, o->rv) == 0)) {
		kube_obj_unref(o);
		return KUBE_STORE_SAME;
	}
	pthread_rwlock_wrlock(&s->lock);
	if (old != NULL)
		replace(s, old, o);
	else
		insert(s, o);
	pthread_rwlock_unlock(&s->lock);
	if (old == NULL)
		return KUBE_STORE_ADDED;
	*ret_old = old;
	return KUBE_STORE_UPDATED;
}

struct kube_obj *kube_store_del(struct kube_store *s, struct slice ns, struct slice name)
{
	struct kube_obj *o = find(s, ns, name);
	if (o == NULL)
		return NULL;
	pthread_rwlock_wrlock(&s->lock);
	take_out(s, o);
	pthread_rwlock_unlock(&s->lock);
	return o;
}

void kube_store_mark(struct kube_store *s)
{
	s->mark++;
}

struct kube_obj *kube_store_sweep(struct kube_store *s, size_t *pos)
{
	while (*pos < s->items.n) {
		struct kube_obj *o = s->items.v[(*pos)++];
		if (o == NULL || o->mark == s->mark)
			continue;
		pthread_rwlock_wrlock(&s->lock);
		take_out(s, o);
		pthread_rwlock_unlock(&s->lock);
		return o;
	}
	return NULL;
}

/* ---- reading ---- */

struct kube_obj *kube_store_get(struct kube_store *s, struct slice ns, struct slice name)
{
	pthread_rwlock_rdlock(&s->lock);
	struct kube_obj *o = find(s, ns, name);
	if (o != NULL)
		kube_obj_ref(o);
	pthread_rwlock_unlock(&s->lock);
	return o;
}

void kube_store_each(struct kube_store *s, kube_store_fn fn, void *ctx)
{
	pthread_rwlock_rdlock(&s->lock);
	for (size_t i = 0; i < s->items.n; i++) {
		if (s->items.v[i] != NULL && !fn(ctx, s->items.v[i]))
			break;
	}
	pthread_rwlock_unlock(&s->lock);
}

/* Has an entry between the search's start and i led to the object already? (It may have a key
 * twice.) */
static bool seen(const struct table *t, uint32_t hash, size_t i)
{
	for (size_t j = hash & (t->cap - 1); j != i; j = (j + 1) & (t->cap - 1)) {
		if (t->e[j].at == t->e[i].at && t->e[j].hash == hash)
			return true;
	}
	return false;
}

void kube_store_each_by(struct kube_store *s, size_t index, struct slice key, kube_store_fn fn,
			void *ctx)
{
	uint32_t hash = hash_of(key);
	assert(index < s->n_indexes);
	pthread_rwlock_rdlock(&s->lock);
	const struct table *t = &s->indexes[index];
	size_t mask = t->cap - 1;
	for (size_t i = hash & mask; t->cap != 0 && t->e[i].at != 0; i = (i + 1) & mask) {
		struct index_look l = { .key = key };
		if (t->e[i].hash != hash || seen(t, hash, i))
			continue;
		struct kube_obj *o = s->items.v[t->e[i].at - 1];
		s->fn[index](o, look_one, &l);
		if (l.found && !fn(ctx, o))
			break;
	}
	pthread_rwlock_unlock(&s->lock);
}

size_t kube_store_count(struct kube_store *s)
{
	pthread_rwlock_rdlock(&s->lock);
	size_t n = s->n;
	pthread_rwlock_unlock(&s->lock);
	return n;
}
