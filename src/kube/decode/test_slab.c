/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory of many small objects. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "kube/decode/slab.h"
#include "kube/decode/slab_test.h"

#include <pthread.h>
#include <stdlib.h>

enum { OBJECTS = 20000, SIZE = 132, BLOCK = 64 * 1024 };

static unsigned char *get_filled(struct kube_slab *slab, size_t n, unsigned char fill)
{
	unsigned char *memory = kube_slab_get(slab, n);
	assert_int_equal((uintptr_t)memory % sizeof(void *), 0);
	memset(memory, fill, n);
	return memory;
}

static void assert_filled(const unsigned char *memory, size_t n, unsigned char fill)
{
	for (size_t i = 0; i < n; i++)
		assert_int_equal(memory[i], fill);
}

/* They do not touch each other, and take little more than their size. */
static void many_of_one_size(void **state)
{
	static unsigned char *objects[OBJECTS];
	struct kube_slab *slab = kube_slab_new();
	(void)state;
	for (size_t i = 0; i < OBJECTS; i++)
		objects[i] = get_filled(slab, SIZE, (unsigned char)i);
	size_t full = kube_slab_mapped_bytes(slab);
	assert_true(full < OBJECTS * (SIZE + 5) + BLOCK);
	for (size_t i = 0; i < OBJECTS; i += 2) {
		assert_filled(objects[i], SIZE, (unsigned char)i);
		kube_slab_put(objects[i]);
	}
	/* The places of those that went are used again. */
	for (size_t i = 0; i < OBJECTS; i += 2)
		objects[i] = get_filled(slab, SIZE, (unsigned char)(i + 7));
	assert_int_equal(kube_slab_mapped_bytes(slab), full);
	for (size_t i = 0; i < OBJECTS; i++) {
		assert_filled(objects[i], SIZE, (unsigned char)(i % 2 == 0 ? i + 7 : i));
		kube_slab_put(objects[i]);
	}
	assert_true(kube_slab_mapped_bytes(slab) <= BLOCK);
	kube_slab_free(slab);
}

static void all_sizes(void **state)
{
	enum { SIZES = 1200 };
	struct kube_slab *slab = kube_slab_new();
	unsigned char *objects[SIZES], *large = get_filled(slab, 300 * 1024, 1);
	(void)state;
	for (size_t i = 0; i < SIZES; i++)
		objects[i] = get_filled(slab, i, (unsigned char)i);
	for (size_t i = 0; i < SIZES; i++) {
		assert_filled(objects[i], i, (unsigned char)i);
		kube_slab_put(objects[i]);
	}
	assert_filled(large, 300 * 1024, 1);
	kube_slab_put(large);
	kube_slab_free(slab);
	kube_slab_free(NULL);
}

/* Objects outlive the slab, which goes with the last of them. */
static void freed_before_its_objects(void **state)
{
	struct kube_slab *slab = kube_slab_new();
	unsigned char *small = get_filled(slab, 40, 1), *other = get_filled(slab, 48, 2);
	unsigned char *large = get_filled(slab, 5000, 3);
	(void)state;
	kube_slab_put(kube_slab_get(slab, 100));
	kube_slab_free(slab);
	assert_filled(small, 40, 1);
	kube_slab_put(small);
	assert_filled(large, 5000, 3);
	kube_slab_put(large);
	assert_filled(other, 48, 2);
	kube_slab_put(other);
}

static void *get_and_put(void *ctx)
{
	unsigned char *objects[64] = { NULL };
	for (unsigned i = 0; i < OBJECTS; i++) {
		unsigned char **at = &objects[i * 7 % ARRAY_LEN(objects)];
		size_t n = 40 + i % 5 * 8;
		if (*at != NULL)
			kube_slab_put(*at);
		*at = get_filled(ctx, n, (unsigned char)i);
	}
	for (size_t i = 0; i < ARRAY_LEN(objects); i++)
		kube_slab_put(objects[i]);
	return NULL;
}

static void several_threads(void **state)
{
	struct kube_slab *slab = kube_slab_new();
	pthread_t threads[4];
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, get_and_put, slab), 0);
	for (size_t i = 0; i < ARRAY_LEN(threads); i++)
		pthread_join(threads[i], NULL);
	kube_slab_free(slab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_of_one_size),
		cmocka_unit_test(all_sizes),
		cmocka_unit_test(freed_before_its_objects),
		cmocka_unit_test(several_threads),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
