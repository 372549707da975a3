/* Open addressing over pointers; each text knows its table and how often it is held. */
#include "kube/intern.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/hash.h"
#include "base/mem.h"

struct text {
	struct kube_intern *table;
	uint32_t holders;
	uint32_t hash;
	char s[];
};

struct kube_intern {
	pthread_mutex_t lock; /* guards all below and the texts' holders */
	struct text **slot;   /* NULL: free */
	size_t n_slot;	      /* power of two */
	size_t n;
	bool freed;
};

static const char empty[1];

struct kube_intern *kube_intern_new(void)
{
	struct kube_intern *t = xcalloc(1, sizeof(*t));
	pthread_mutex_init(&t->lock, NULL);
	t->n_slot = 64;
	t->slot = xcalloc(t->n_slot, sizeof(struct text *));
	return t;
}

static void destroy(struct kube_intern *t)
{
	pthread_mutex_destroy(&t->lock);
	free(t->slot);
	free(t);
}

void kube_intern_free(struct kube_intern *t)
{
	if (t == NULL)
		return;
	pthread_mutex_lock(&t->lock);
	t->freed = true;
	bool last = t->n == 0;
	pthread_mutex_unlock(&t->lock);
	if (last)
		destroy(t);
}

static void place(struct kube_intern *t, struct text *x)
{
	size_t i = x->hash & (t->n_slot - 1);
	while (t->slot[i] != NULL)
		i = (i + 1) & (t->n_slot - 1);
	t->slot[i] = x;
}

static void grow(struct kube_intern *t)
{
	struct text **old = t->slot;
	size_t n_old = t->n_slot;
	t->n_slot *= 2;
	t->slot = xcalloc(t->n_slot, sizeof(struct text *));
	for (size_t i = 0; i < n_old; i++) {
		if (old[i] != NULL)
			place(t, old[i]);
	}
	free(old);
}

static struct text *find(const struct kube_intern *t, struct slice s, uint32_t hash)
{
	for (size_t i = hash & (t->n_slot - 1); t->slot[i] != NULL; i = (i + 1) & (t->n_slot - 1)) {
		struct text *x = t->slot[i];
		if (x->hash == hash && strncmp(x->s, s.p, s.n) == 0 && x->s[s.n] == '\0')
			return x;
	}
	return NULL;
}

static struct text *add(struct kube_intern *t, struct slice s, uint32_t hash)
{
	struct text *x = xmalloc(sizeof(*x) + s.n + 1);
	*x = (struct text){ .table = t, .hash = hash };
	memcpy(x->s, s.p, s.n);
	x->s[s.n] = '\0';
	if (++t->n * 4 > t->n_slot * 3)
		grow(t);
	place(t, x);
	return x;
}

const char *kube_intern_get(struct kube_intern *t, struct slice text)
{
	/* Terminated texts cannot hold a zero byte: what follows one is not kept. */
	const char *zero = text.n != 0 ? memchr(text.p, 0, text.n) : NULL;
	if (zero != NULL)
		text.n = (size_t)(zero - text.p);
	if (text.n == 0)
		return empty;
	uint32_t hash = (uint32_t)hash_bytes(hash_process_key(), text.p, text.n);
	pthread_mutex_lock(&t->lock);
	struct text *x = find(t, text, hash);
	if (x == NULL)
		x = add(t, text, hash);
	x->holders++;
	pthread_mutex_unlock(&t->lock);
	return x->s;
}

static struct text *text_of(const char *s)
{
	return CONTAINER_OF((uintptr_t)s, struct text, s);
}

const char *kube_intern_again(const char *s)
{
	if (s == empty)
		return s;
	struct text *x = text_of(s);
	pthread_mutex_lock(&x->table->lock);
	x->holders++;
	pthread_mutex_unlock(&x->table->lock);
	return s;
}

/* Closes the gap, so that no search ends too early. */
static void take_out(struct kube_intern *t, const struct text *x)
{
	size_t mask = t->n_slot - 1, i = x->hash & mask;
	while (t->slot[i] != x)
		i = (i + 1) & mask;
	for (size_t j = (i + 1) & mask; t->slot[j] != NULL; j = (j + 1) & mask) {
		if (((j - t->slot[j]->hash) & mask) >= ((j - i) & mask)) {
			t->slot[i] = t->slot[j];
			i = j;
		}
	}
	t->slot[i] = NULL;
	t->n--;
}

void kube_intern_drop(const char *s)
{
	if (s == NULL || s == empty)
		return;
	struct text *x = text_of(s);
	struct kube_intern *t = x->table;
	pthread_mutex_lock(&t->lock);
	bool gone = --x->holders == 0;
	if (gone)
		take_out(t, x);
	bool last = t->freed && t->n == 0;
	pthread_mutex_unlock(&t->lock);
	if (gone)
		free(x);
	if (last)
		destroy(t);
}

size_t kube_intern_count(struct kube_intern *t)
{
	pthread_mutex_lock(&t->lock);
	size_t n = t->n;
	pthread_mutex_unlock(&t->lock);
	return n;
}
