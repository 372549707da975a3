/* Open addressing over pointers; each text knows its table and how often it is held. */
#include "kube/decode/intern.h"

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

static void destroy(struct kube_intern *intern)
{
	pthread_mutex_destroy(&intern->lock);
	free(intern->slot);
	free(intern);
}

void kube_intern_free(struct kube_intern *intern)
{
	if (intern == NULL)
		return;
	pthread_mutex_lock(&intern->lock);
	intern->freed = true;
	bool last = intern->n == 0;
	pthread_mutex_unlock(&intern->lock);
	if (last)
		destroy(intern);
}

static void place(struct kube_intern *intern, struct text *text)
{
	size_t i = text->hash & (intern->n_slot - 1);
	while (intern->slot[i] != NULL)
		i = (i + 1) & (intern->n_slot - 1);
	intern->slot[i] = text;
}

static void grow(struct kube_intern *intern)
{
	struct text **old = intern->slot;
	size_t n_old = intern->n_slot;
	intern->n_slot *= 2;
	intern->slot = xcalloc(intern->n_slot, sizeof(struct text *));
	for (size_t i = 0; i < n_old; i++) {
		if (old[i] != NULL)
			place(intern, old[i]);
	}
	free(old);
}

static struct text *find(const struct kube_intern *intern, struct slice text, uint32_t hash)
{
	for (size_t i = hash & (intern->n_slot - 1); intern->slot[i] != NULL;
	     i = (i + 1) & (intern->n_slot - 1)) {
		struct text *x = intern->slot[i];
		if (x->hash == hash && strncmp(x->s, text.p, text.n) == 0 && x->s[text.n] == '\0')
			return x;
	}
	return NULL;
}

static struct text *add(struct kube_intern *intern, struct slice text, uint32_t hash)
{
	struct text *x = xmalloc(sizeof(*x) + text.n + 1);
	*x = (struct text){ .table = intern, .hash = hash };
	memcpy(x->s, text.p, text.n);
	x->s[text.n] = '\0';
	if (++intern->n * 4 > intern->n_slot * 3)
		grow(intern);
	place(intern, x);
	return x;
}

const char *kube_intern_get(struct kube_intern *intern, struct slice text)
{
	/* Terminated texts cannot hold a zero byte: what follows one is not kept. */
	const char *zero = text.n != 0 ? memchr(text.p, 0, text.n) : NULL;
	if (zero != NULL)
		text.n = (size_t)(zero - text.p);
	if (text.n == 0)
		return empty;
	uint32_t hash = (uint32_t)hash_bytes(hash_process_key(), text.p, text.n);
	pthread_mutex_lock(&intern->lock);
	struct text *x = find(intern, text, hash);
	if (x == NULL)
		x = add(intern, text, hash);
	x->holders++;
	pthread_mutex_unlock(&intern->lock);
	return x->s;
}

static struct text *text_of(const char *text)
{
	return CONTAINER_OF((uintptr_t)text, struct text, s);
}

const char *kube_intern_again(const char *text)
{
	if (text == empty)
		return text;
	struct text *x = text_of(text);
	pthread_mutex_lock(&x->table->lock);
	x->holders++;
	pthread_mutex_unlock(&x->table->lock);
	return text;
}

/* Closes the gap, so that no search ends too early. */
static void take_out(struct kube_intern *intern, const struct text *text)
{
	size_t mask = intern->n_slot - 1, i = text->hash & mask;
	while (intern->slot[i] != text)
		i = (i + 1) & mask;
	for (size_t j = (i + 1) & mask; intern->slot[j] != NULL; j = (j + 1) & mask) {
		if (((j - intern->slot[j]->hash) & mask) >= ((j - i) & mask)) {
			intern->slot[i] = intern->slot[j];
			i = j;
		}
	}
	intern->slot[i] = NULL;
	intern->n--;
}

void kube_intern_drop(const char *text)
{
	if (text == NULL || text == empty)
		return;
	struct text *x = text_of(text);
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

size_t kube_intern_count(struct kube_intern *intern)
{
	pthread_mutex_lock(&intern->lock);
	size_t n = intern->n;
	pthread_mutex_unlock(&intern->lock);
	return n;
}
