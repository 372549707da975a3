/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The pool of shared strings: a hash table with open addressing over pointers; each string knows its
 * pool and the number of its holders. */
#include "kube/decode/string_pool.h"
#include "kube/decode/string_pool_test.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/hash.h"
#include "base/mem.h"

struct text {
	struct kube_string_pool *pool;
	uint32_t holders;
	uint32_t hash;
	char s[];
};

struct kube_string_pool {
	pthread_mutex_t lock; /* guards all below and the texts' holders */
	struct text **slots;  /* NULL: free */
	size_t n_slots;	      /* power of two */
	size_t count;	      /* of strings */
	bool freed;
};

static const char empty[1];

struct kube_string_pool *kube_string_pool_new(void)
{
	struct kube_string_pool *t = xcalloc(1, sizeof(*t));
	pthread_mutex_init(&t->lock, NULL);
	t->n_slots = 64;
	t->slots = xcalloc(t->n_slots, sizeof(struct text *));
	return t;
}

static void destroy_pool(struct kube_string_pool *pool)
{
	assert(pool->freed && pool->count == 0);
	pthread_mutex_destroy(&pool->lock);
	free(pool->slots);
	free(pool);
}

void kube_string_pool_free(struct kube_string_pool *pool)
{
	if (pool == NULL)
		return;
	pthread_mutex_lock(&pool->lock);
	pool->freed = true;
	bool last = pool->count == 0;
	pthread_mutex_unlock(&pool->lock);
	if (last)
		destroy_pool(pool);
}

static void place_text(struct kube_string_pool *pool, struct text *text)
{
	size_t i = text->hash & (pool->n_slots - 1);
	while (pool->slots[i] != NULL)
		i = (i + 1) & (pool->n_slots - 1);
	pool->slots[i] = text;
}

static void grow_table(struct kube_string_pool *pool)
{
	struct text **old = pool->slots;
	size_t n_old = pool->n_slots;
	pool->n_slots *= 2;
	pool->slots = xcalloc(pool->n_slots, sizeof(struct text *));
	for (size_t i = 0; i < n_old; i++) {
		if (old[i] != NULL)
			place_text(pool, old[i]);
	}
	free(old);
}

static struct text *find_text(const struct kube_string_pool *pool, struct slice text, uint32_t hash)
{
	for (size_t i = hash & (pool->n_slots - 1); pool->slots[i] != NULL;
	     i = (i + 1) & (pool->n_slots - 1)) {
		struct text *x = pool->slots[i];
		if (x->hash == hash && strncmp(x->s, text.p, text.n) == 0 && x->s[text.n] == '\0')
			return x;
	}
	return NULL;
}

static struct text *add_text(struct kube_string_pool *pool, struct slice text, uint32_t hash)
{
	struct text *x = xmalloc(sizeof(*x) + text.n + 1);
	*x = (struct text){ .pool = pool, .hash = hash };
	memcpy(x->s, text.p, text.n);
	x->s[text.n] = '\0';
	if (++pool->count * 4 > pool->n_slots * 3)
		grow_table(pool);
	place_text(pool, x);
	return x;
}

const char *kube_string_pool_get(struct kube_string_pool *pool, struct slice text)
{
	/* Terminated texts cannot hold a zero byte: what follows one is not kept. */
	const char *zero = text.n != 0 ? memchr(text.p, 0, text.n) : NULL;
	if (zero != NULL)
		text.n = (size_t)(zero - text.p);
	if (text.n == 0)
		return empty;
	uint32_t hash = (uint32_t)hash_bytes(hash_process_key(), text.p, text.n);
	pthread_mutex_lock(&pool->lock);
	struct text *x = find_text(pool, text, hash);
	if (x == NULL)
		x = add_text(pool, text, hash);
	x->holders++;
	pthread_mutex_unlock(&pool->lock);
	return x->s;
}

static struct text *text_of(const char *text)
{
	return CONTAINER_OF((uintptr_t)text, struct text, s);
}

/* Closes the gap, so that no search ends too early. */
static void remove_text(struct kube_string_pool *pool, const struct text *text)
{
	size_t mask = pool->n_slots - 1, i = text->hash & mask;
	while (pool->slots[i] != text) {
		assert(pool->slots[i] != NULL);
		i = (i + 1) & mask;
	}
	for (size_t j = (i + 1) & mask; pool->slots[j] != NULL; j = (j + 1) & mask) {
		if (((j - pool->slots[j]->hash) & mask) >= ((j - i) & mask)) {
			pool->slots[i] = pool->slots[j];
			i = j;
		}
	}
	pool->slots[i] = NULL;
	pool->count--;
}

void kube_string_pool_drop(const char *text)
{
	if (text == NULL || text == empty)
		return;
	struct text *x = text_of(text);
	struct kube_string_pool *t = x->pool;
	pthread_mutex_lock(&t->lock);
	assert(x->holders != 0);
	bool gone = --x->holders == 0;
	if (gone)
		remove_text(t, x);
	bool last = t->freed && t->count == 0;
	pthread_mutex_unlock(&t->lock);
	if (gone)
		free(x);
	if (last)
		destroy_pool(t);
}

size_t kube_string_pool_count(struct kube_string_pool *pool)
{
	pthread_mutex_lock(&pool->lock);
	size_t n = pool->count;
	pthread_mutex_unlock(&pool->lock);
	return n;
}
