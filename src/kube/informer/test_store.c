/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The store: keys, indexes, mark and sweep, and a comparison with a plain array. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/rng_test.h"
#include "kube/informer/store.h"
#include "kube/informer/store_test.h"

struct thing {
	struct kube_obj o;
	char name[16], rv[16];
	unsigned tags; /* indexed by each bit, and once more by 0 */
};

static int alive;

static void thing_free(struct kube_obj *o)
{
	alive--;
	free(o);
}

static struct kube_obj *thing_new(const char *ns, unsigned name, unsigned rv, unsigned tags)
{
	struct thing *t = xcalloc(1, sizeof(*t));
	IGNORE(snprintf(t->name, sizeof(t->name), "o%u", name) < 0);
	IGNORE(snprintf(t->rv, sizeof(t->rv), "%u", rv) < 0);
	t->o = (struct kube_obj){ .ns = ns, .name = t->name, .rv = t->rv, .free = thing_free };
	atomic_init(&t->o.refs, 1);
	t->tags = tags;
	alive++;
	return &t->o;
}

static void by_tag(const struct kube_obj *o, kube_index_emit emit, void *ctx)
{
	const struct thing *t = (const struct thing *)o;
	for (unsigned i = 0; i < 8; i++) {
		char key = (char)('a' + i);
		if ((t->tags >> i & 1) != 0)
			emit(ctx, (struct slice){ &key, 1 });
	}
	if ((t->tags & 1) != 0)
		emit(ctx, SLICE("a")); /* twice */
}

static bool count_one(void *ctx, struct kube_obj *o)
{
	(void)o;
	++*(size_t *)ctx;
	return true;
}

static bool stop_at_one(void *ctx, struct kube_obj *o)
{
	count_one(ctx, o);
	return false;
}

static size_t count_by(struct kube_store *s, const char *key)
{
	size_t n = 0;
	kube_store_each_by(s, 0, slice_of(key), count_one, &n);
	return n;
}

static void put_get_del(void **state)
{
	kube_index_fn fn = by_tag;
	struct kube_store *s = kube_store_new(&fn, 1);
	struct kube_obj *old = NULL;
	size_t n = 0;
	(void)state;
	assert_null(kube_store_get(s, SLICE("n"), SLICE("o1")));
	assert_int_equal(count_by(s, "a"), 0);
	assert_int_equal(kube_store_put(s, thing_new("n", 1, 1, 3), &old), KUBE_STORE_ADDED);
	assert_int_equal(kube_store_put(s, thing_new("m", 1, 1, 2), &old), KUBE_STORE_ADDED);
	assert_int_equal(kube_store_put(s, thing_new("n", 1, 1, 3), &old), KUBE_STORE_SAME);
	assert_int_equal(count_by(s, "a"), 1);
	assert_int_equal(count_by(s, "b"), 2);
	assert_int_equal(kube_store_put(s, thing_new("n", 1, 2, 4), &old), KUBE_STORE_UPDATED);
	assert_string_equal(old->rv, "1");
	kube_obj_unref(old);
	assert_int_equal(count_by(s, "a"), 0);
	assert_int_equal(count_by(s, "b"), 1);
	assert_int_equal(count_by(s, "c"), 1);
	struct kube_obj *held = kube_store_get(s, SLICE("n"), SLICE("o1"));
	assert_string_equal(held->rv, "2");
	kube_store_each(s, stop_at_one, &n);
	assert_int_equal(n, 1);
	kube_obj_unref(kube_store_del(s, SLICE("n"), SLICE("o1")));
	assert_null(kube_store_del(s, SLICE("n"), SLICE("o1")));
	assert_int_equal(kube_store_count(s), 1);
	kube_store_free(s);
	assert_int_equal(alive, 1); /* the one that is held */
	kube_obj_unref(held);
	assert_int_equal(alive, 0);
}

/* A pod on its way out (kube/decode/compact.h): the state before it stays and counts as seen. */
static void ignored(void **state)
{
	struct kube_store *s = kube_store_new(NULL, 0);
	struct kube_obj *old = NULL;
	size_t pos = 0;
	(void)state;
	IGNORE(kube_store_put(s, thing_new("n", 1, 1, 0), &old));
	kube_store_mark(s);
	struct kube_obj *o = thing_new("n", 1, 2, 0), *other = thing_new("n", 2, 2, 0);
	o->ignore = other->ignore = true;
	assert_int_equal(kube_store_put(s, o, &old), KUBE_STORE_SAME);
	assert_int_equal(kube_store_put(s, other, &old), KUBE_STORE_SAME);
	assert_null(kube_store_sweep(s, &pos));
	assert_int_equal(kube_store_count(s), 1);
	kube_store_free(s);
	assert_int_equal(alive, 0);
}

enum { NAMES = 300 };
struct model {
	unsigned rv, tags; /* rv 0: not there */
	bool seen;
};

static void agree(struct kube_store *s, const struct model *m)
{
	size_t n = 0, tagged[8] = { 0 };
	for (unsigned i = 0; i < NAMES; i++) {
		char name[16], rv[16];
		IGNORE(snprintf(name, sizeof(name), "o%u", i) < 0);
		IGNORE(snprintf(rv, sizeof(rv), "%u", m[i].rv) < 0);
		struct kube_obj *o = kube_store_get(s, SLICE("ns"), slice_of(name));
		assert_int_equal(o != NULL, m[i].rv != 0);
		if (o == NULL)
			continue;
		assert_string_equal(o->rv, rv);
		kube_obj_unref(o);
		n++;
		for (unsigned t = 0; t < 8; t++)
			tagged[t] += m[i].tags >> t & 1;
	}
	assert_int_equal(kube_store_count(s), n);
	for (unsigned t = 0; t < 8; t++)
		assert_int_equal(count_by(s, (char[]){ (char)('a' + t), 0 }), tagged[t]);
}

/* Random puts, deletes and relists, always the same as the model. */
static void random_changes(void **state)
{
	static struct model m[NAMES];
	kube_index_fn fn = by_tag;
	struct kube_store *s = kube_store_new(&fn, 1);
	struct rng rng;
	unsigned rv = 1;
	(void)state;
	rng_init_seed(&rng, 5);
	for (int round = 0; round < 60; round++) {
		bool relist = rng_below(&rng, 3) == 0;
		if (relist)
			kube_store_mark(s);
		for (unsigned i = 0; i < NAMES; i++)
			m[i].seen = !relist;
		for (int step = 0; step < 200; step++) {
			unsigned i = rng_below(&rng, NAMES);
			struct kube_obj *old = NULL;
			if (!relist && rng_below(&rng, 3) == 0) {
				char name[16];
				IGNORE(snprintf(name, sizeof(name), "o%u", i) < 0);
				old = kube_store_del(s, SLICE("ns"), slice_of(name));
				assert_int_equal(old != NULL, m[i].rv != 0);
				m[i].rv = 0;
			} else {
				unsigned tags = rng_below(&rng, 256);
				enum kube_store_put r =
					kube_store_put(s, thing_new("ns", i, ++rv, tags), &old);
				assert_int_equal(r, m[i].rv != 0 ? KUBE_STORE_UPDATED
								 : KUBE_STORE_ADDED);
				m[i] = (struct model){ .rv = rv, .tags = tags, .seen = true };
			}
			kube_obj_unref(old);
		}
		struct kube_obj *gone;
		for (size_t pos = 0; relist && (gone = kube_store_sweep(s, &pos)) != NULL;) {
			unsigned i = (unsigned)strtoul(gone->name + 1, NULL, 10);
			assert_false(m[i].seen);
			m[i].rv = 0;
			kube_obj_unref(gone);
		}
		for (unsigned i = 0; i < NAMES; i++)
			assert_true(m[i].seen || m[i].rv == 0);
		agree(s, m);
	}
	kube_store_free(s);
	assert_int_equal(alive, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(put_get_del),
		cmocka_unit_test(ignored),
		cmocka_unit_test(random_changes),
	};
	return cmocka_run_group_tests_name("kube/store", tests, NULL, NULL);
}
