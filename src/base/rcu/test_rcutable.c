/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/rcu/rcutable.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"

enum { ITEMS = 5000, FIXED = 500 };

struct item {
	struct rcutable_node node;
	struct rcu_item rcu;
	unsigned key, version;
};

static struct item *item_new(unsigned key, unsigned version)
{
	struct item *x = xcalloc(1, sizeof(*x));
	x->key = key;
	x->version = version;
	return x;
}

/* Every fourth key shares its hash with another one. */
static uint32_t hash_of(unsigned key)
{
	return (key - key % 4 / 3) * 2654435761u;
}

static struct item *find(const struct rcutable *t, unsigned key)
{
	struct rcutable_cursor c;
	struct rcutable_node *n = rcutable_find(t, hash_of(key), &c);
	for (; n != NULL; n = rcutable_next(&c, n)) {
		struct item *x = CONTAINER_OF(n, struct item, node);
		if (x->key == key)
			return x;
	}
	return NULL;
}

static void free_all(struct rcutable *t)
{
	size_t pos = 0;
	struct rcutable_node *n = rcutable_walk(t, &pos, NULL);
	while (n != NULL) {
		struct rcutable_node *next = rcutable_walk(t, &pos, n);
		free(CONTAINER_OF(n, struct item, node));
		n = next;
	}
	rcutable_done(t);
}

static void grows_and_finds(void **state)
{
	(void)state;
	struct rcutable t;
	rcutable_init(&t);
	for (unsigned k = 0; k < ITEMS; k++) {
		struct item *x = item_new(k, 0);
		if (k % 2 == 0)
			rcutable_add(&t, &x->node, hash_of(k));
		else
			rcutable_add_first(&t, &x->node, hash_of(k));
	}
	for (unsigned k = 0; k < ITEMS; k += 3) {
		struct item *x = find(&t, k);
		assert_non_null(x);
		rcutable_remove(&t, &x->node);
		free(x);
	}
	size_t seen = 0, pos = 0;
	for (struct rcutable_node *n = NULL; (n = rcutable_walk(&t, &pos, n)) != NULL;)
		seen++;
	assert_int_equal(seen, t.n);
	for (unsigned k = 0; k < ITEMS; k++)
		assert_int_equal(find(&t, k) != NULL, k % 3 != 0);
	free_all(&t);
}

static void order_of_equal_hashes(void **state)
{
	(void)state;
	struct rcutable t;
	rcutable_init(&t);
	struct item *a = item_new(1, 0), *b = item_new(2, 0), *first = item_new(3, 0);
	rcutable_add(&t, &a->node, 7);
	rcutable_add(&t, &b->node, 7);
	rcutable_add_first(&t, &first->node, 7);
	/* Growing keeps the order. */
	for (unsigned k = 0; k < 100; k++)
		rcutable_add(&t, &item_new(k + 10, 0)->node, 1000 + k);
	struct item *other = item_new(4, 0);
	rcutable_replace(&t, &a->node, &other->node);
	free(a);
	static const unsigned want[] = { 3, 4, 2 };
	struct rcutable_cursor c;
	struct rcutable_node *n = rcutable_find(&t, 7, &c);
	for (size_t i = 0; i < ARRAY_LEN(want); i++, n = rcutable_next(&c, n)) {
		assert_non_null(n);
		assert_int_equal(CONTAINER_OF(n, struct item, node)->key, want[i]);
	}
	assert_null(n);
	free_all(&t);
}

struct race {
	struct rcutable t;
	atomic_bool stop;
	atomic_uint missed, looked;
};

static void free_item(struct rcu_item *i)
{
	free(CONTAINER_OF(i, struct item, rcu));
}

/* The fixed keys are always there, in one version or another. */
static void *reader(void *arg)
{
	struct race *r = arg;
	unsigned k = 0;
	rcu_thread_register();
	while (!atomic_load(&r->stop)) {
		rcu_enter();
		for (int i = 0; i < 64; i++, k = (k + 7) % FIXED) {
			struct item *x = find(&r->t, k);
			if (x == NULL || x->key != k)
				atomic_fetch_add(&r->missed, 1);
		}
		rcu_leave();
		atomic_fetch_add(&r->looked, 1);
	}
	rcu_thread_unregister();
	return NULL;
}

static void readers_never_miss(void **state)
{
	(void)state;
	struct race r = { .missed = 0 };
	pthread_t threads[2];
	rcutable_init(&r.t);
	for (unsigned k = 0; k < FIXED; k++)
		rcutable_add(&r.t, &item_new(k, 0)->node, hash_of(k));
	for (size_t i = 0; i < ARRAY_LEN(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, reader, &r), 0);
	for (unsigned round = 1; round <= 20 || atomic_load(&r.looked) < 50; round++) {
		for (unsigned k = 0; k < FIXED; k++) {
			struct item *old = find(&r.t, k), *now = item_new(k, round);
			rcutable_replace(&r.t, &old->node, &now->node);
			rcu_defer(&old->rcu, free_item);
		}
		/* Others come, so that it grows, and go. */
		for (unsigned k = 0; k < 100 && round <= 20; k++)
			rcutable_add(&r.t, &item_new(FIXED + round * 100 + k, 0)->node,
				     hash_of(FIXED + round * 100 + k));
	}
	atomic_store(&r.stop, true);
	for (size_t i = 0; i < ARRAY_LEN(threads); i++)
		pthread_join(threads[i], NULL);
	rcu_barrier_all();
	assert_int_equal(r.missed, 0);
	free_all(&r.t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(grows_and_finds),
		cmocka_unit_test(order_of_equal_hashes),
		cmocka_unit_test(readers_never_miss),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
