/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The store of an informer. Objects are in an array; hash tables of 8 bytes per entry lead from a
 * hash to a place in it. The object itself is compared with the key, so no keys are stored. */
#include "kube/informer/store.h"
#include "kube/informer/store_test.h"

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
	struct entry *entries;
	size_t n, cap; /* cap: a power of two, or 0 */
};

struct hashes {
	uint32_t *v;
	size_t n, cap;
};

struct kube_store {
	pthread_rwlock_t lock; /* guards all below; only the writer needs none to read */
	struct table main;     /* namespace and name */
	struct table indexes[KUBE_STORE_INDEXES_MAX];
	kube_index_fn index_fns[KUBE_STORE_INDEXES_MAX];
	size_t n_indexes;
	VEC(struct kube_obj *) items; /* NULL: a free place */
	VEC(uint32_t) free_places;
	size_t count; /* of objects */
	uint32_t mark;
	struct hashes before, after; /* the writer's, while it changes an index */
};

/* ---- tables ---- */

static void place_entry(struct table *table, struct entry entry)
{
	size_t i = entry.hash & (table->cap - 1);
	while (table->entries[i].at != 0)
		i = (i + 1) & (table->cap - 1);
	table->entries[i] = entry;
}

static void resize_table(struct table *table, size_t cap)
{
	assert((cap & (cap - 1)) == 0 && cap > table->n);
	struct table old = *table;
	table->cap = cap;
	table->entries = xcalloc(cap, sizeof(*table->entries));
	for (size_t i = 0; i < old.cap; i++) {
		if (old.entries[i].at != 0)
			place_entry(table, old.entries[i]);
	}
	free(old.entries);
}

static void table_add(struct table *table, uint32_t hash, uint32_t at)
{
	if ((table->n + 1) * 4 > table->cap * 3)
		resize_table(table, table->cap != 0 ? table->cap * 2 : 16);
	place_entry(table, (struct entry){ .hash = hash, .at = at + 1 });
	table->n++;
}

/* Closes the gap, so that no search ends too early. */
static void table_del(struct table *table, uint32_t hash, uint32_t at)
{
	size_t mask = table->cap - 1, i = hash & mask;
	while (table->entries[i].at != at + 1 || table->entries[i].hash != hash) {
		assert(table->entries[i].at != 0);
		i = (i + 1) & mask;
	}
	for (size_t j = (i + 1) & mask; table->entries[j].at != 0; j = (j + 1) & mask) {
		if (((j - table->entries[j].hash) & mask) >= ((j - i) & mask)) {
			table->entries[i] = table->entries[j];
			i = j;
		}
	}
	assert(table->n != 0);
	table->entries[i].at = 0;
	table->n--;
	/* Late, and not when small: an update removes an object's keys before it adds them again. */
	if (table->cap > 4096 && table->n * 8 < table->cap)
		resize_table(table, table->cap / 2);
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

static void note_hash(void *ctx, struct slice key)
{
	struct hashes *hashes = ctx;
	vec_push(hashes, hash_of(key));
}

static int compare_hashes(const void *left, const void *right)
{
	uint32_t x = *(const uint32_t *)left, y = *(const uint32_t *)right;
	return (x > y) - (x < y);
}

/* The hashes of the object's keys, sorted, each once: a key may be emitted twice. */
static void collect_hashes(struct hashes *hashes, kube_index_fn index, const struct kube_obj *obj)
{
	size_t n = 0;
	hashes->n = 0;
	index(obj, note_hash, hashes);
	if (hashes->n > 1)
		qsort(hashes->v, hashes->n, sizeof(*hashes->v), compare_hashes);
	for (size_t i = 0; i < hashes->n; i++) {
		if (n == 0 || hashes->v[n - 1] != hashes->v[i])
			hashes->v[n++] = hashes->v[i];
	}
	hashes->n = n;
}

/* Either of `old` and `obj`, which are at the same place, may be NULL. Keys that both have stay: most
 * changes of an object change none, and an index of many objects by one key is slow to change. */
static void index_change(struct kube_store *store, const struct kube_obj *old,
			 const struct kube_obj *obj)
{
	const uint32_t at = obj != NULL ? obj->at : old->at;
	struct hashes *before = &store->before, *after = &store->after;
	for (size_t i = 0; i < store->n_indexes; i++) {
		before->n = after->n = 0;
		if (old != NULL)
			collect_hashes(before, store->index_fns[i], old);
		if (obj != NULL)
			collect_hashes(after, store->index_fns[i], obj);
		for (size_t b = 0, a = 0; b < before->n || a < after->n;) {
			bool gone = a == after->n || (b < before->n && before->v[b] < after->v[a]);
			bool is_new =
				b == before->n || (a < after->n && after->v[a] < before->v[b]);
			if (gone)
				table_del(&store->indexes[i], before->v[b], at);
			else if (is_new)
				table_add(&store->indexes[i], after->v[a], at);
			b += !is_new;
			a += !gone;
		}
	}
}

struct key_search {
	struct slice key;
	bool found;
};

static void compare_key(void *ctx, struct slice key)
{
	struct key_search *l = ctx;
	l->found = l->found || slice_eq(key, l->key);
}

/* ---- objects ---- */

struct kube_store *kube_store_new(const kube_index_fn *indexes, size_t count)
{
	struct kube_store *store = xcalloc(1, sizeof(*store));
	assert(count <= KUBE_STORE_INDEXES_MAX);
	for (size_t i = 0; i < count; i++)
		store->index_fns[i] = indexes[i];
	store->n_indexes = count;
	pthread_rwlock_init(&store->lock, NULL);
	return store;
}

void kube_store_free(struct kube_store *store)
{
	if (store == NULL)
		return;
	for (size_t i = 0; i < store->items.n; i++)
		kube_obj_unref(store->items.v[i]);
	for (size_t i = 0; i < store->n_indexes; i++)
		free(store->indexes[i].entries);
	free(store->main.entries);
	vec_done(&store->items);
	vec_done(&store->free_places);
	vec_done(&store->before);
	vec_done(&store->after);
	pthread_rwlock_destroy(&store->lock);
	free(store);
}

static struct kube_obj *find_object(const struct kube_store *store, struct slice ns,
				    struct slice name)
{
	const struct table *table = &store->main;
	uint32_t hash = hash_name(ns, name);
	if (table->cap == 0)
		return NULL;
	for (size_t i = hash & (table->cap - 1); table->entries[i].at != 0;
	     i = (i + 1) & (table->cap - 1)) {
		if (table->entries[i].hash != hash)
			continue;
		struct kube_obj *obj = store->items.v[table->entries[i].at - 1];
		if (slice_is(name, obj->name) && slice_is(ns, obj->ns))
			return obj;
	}
	return NULL;
}

static void insert_object(struct kube_store *store, struct kube_obj *obj)
{
	if (store->free_places.n != 0) {
		obj->at = store->free_places.v[--store->free_places.n];
		store->items.v[obj->at] = obj;
	} else {
		obj->at = (uint32_t)store->items.n;
		vec_push(&store->items, obj);
	}
	table_add(&store->main, hash_name(slice_of(obj->ns), slice_of(obj->name)), obj->at);
	index_change(store, NULL, obj);
	store->count++;
}

static void remove_object(struct kube_store *store, struct kube_obj *obj)
{
	table_del(&store->main, hash_name(slice_of(obj->ns), slice_of(obj->name)), obj->at);
	index_change(store, obj, NULL);
	assert(store->items.v[obj->at] == obj && store->count != 0);
	store->items.v[obj->at] = NULL;
	vec_push(&store->free_places, obj->at);
	store->count--;
}

static void replace_object(struct kube_store *store, struct kube_obj *old, struct kube_obj *obj)
{
	assert(store->items.v[old->at] == old);
	obj->at = old->at;
	store->items.v[obj->at] = obj;
	index_change(store, old, obj);
}

enum kube_store_put kube_store_put(struct kube_store *store, struct kube_obj *obj,
				   struct kube_obj **ret_old)
{
	assert(atomic_load(&obj->refs) != 0);
	struct kube_obj *old = find_object(store, slice_of(obj->ns), slice_of(obj->name));
	obj->mark = store->mark;
	if (old != NULL)
		old->mark = store->mark;
	if (obj->ignore || (old != NULL && old->rv[0] != '\0' && strcmp(old->rv, obj->rv) == 0)) {
		kube_obj_unref(obj);
		return KUBE_STORE_SAME;
	}
	pthread_rwlock_wrlock(&store->lock);
	if (old != NULL)
		replace_object(store, old, obj);
	else
		insert_object(store, obj);
	pthread_rwlock_unlock(&store->lock);
	if (old == NULL)
		return KUBE_STORE_ADDED;
	*ret_old = old;
	return KUBE_STORE_UPDATED;
}

struct kube_obj *kube_store_del(struct kube_store *store, struct slice ns, struct slice name)
{
	struct kube_obj *obj = find_object(store, ns, name);
	if (obj == NULL)
		return NULL;
	pthread_rwlock_wrlock(&store->lock);
	remove_object(store, obj);
	pthread_rwlock_unlock(&store->lock);
	return obj;
}

void kube_store_mark(struct kube_store *store)
{
	store->mark++;
}

struct kube_obj *kube_store_sweep(struct kube_store *store, size_t *pos)
{
	while (*pos < store->items.n) {
		struct kube_obj *obj = store->items.v[(*pos)++];
		if (obj == NULL || obj->mark == store->mark)
			continue;
		pthread_rwlock_wrlock(&store->lock);
		remove_object(store, obj);
		pthread_rwlock_unlock(&store->lock);
		return obj;
	}
	return NULL;
}

/* ---- reading ---- */

struct kube_obj *kube_store_get(struct kube_store *store, struct slice ns, struct slice name)
{
	pthread_rwlock_rdlock(&store->lock);
	struct kube_obj *obj = find_object(store, ns, name);
	if (obj != NULL)
		kube_obj_ref(obj);
	pthread_rwlock_unlock(&store->lock);
	return obj;
}

void kube_store_each(struct kube_store *store, kube_store_fn fn, void *ctx)
{
	pthread_rwlock_rdlock(&store->lock);
	for (size_t i = 0; i < store->items.n; i++) {
		if (store->items.v[i] != NULL && !fn(ctx, store->items.v[i]))
			break;
	}
	pthread_rwlock_unlock(&store->lock);
}

void kube_store_each_by(struct kube_store *store, size_t index, struct slice key, kube_store_fn fn,
			void *ctx)
{
	uint32_t hash = hash_of(key);
	assert(index < store->n_indexes);
	pthread_rwlock_rdlock(&store->lock);
	const struct table *table = &store->indexes[index];
	size_t mask = table->cap - 1;
	for (size_t i = hash & mask; table->cap != 0 && table->entries[i].at != 0;
	     i = (i + 1) & mask) {
		struct key_search l = { .key = key };
		if (table->entries[i].hash != hash)
			continue;
		struct kube_obj *obj = store->items.v[table->entries[i].at - 1];
		store->index_fns[index](obj, compare_key, &l);
		if (l.found && !fn(ctx, obj))
			break;
	}
	pthread_rwlock_unlock(&store->lock);
}

size_t kube_store_count(struct kube_store *store)
{
	pthread_rwlock_rdlock(&store->lock);
	size_t n = store->count;
	pthread_rwlock_unlock(&store->lock);
	return n;
}
