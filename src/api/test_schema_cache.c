/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Entries of many schemas, more than there are buckets, which several threads add at the same time. */
#include "api/schema_cache.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/mem.h"

enum { MANY = 5000, THREADS = 4 };

struct facts {
	struct api_schema_entry entry;
	size_t number;
};

static struct api_schema_cache cache;
static json_t *schemas; /* an array */

static const struct facts *find(size_t number)
{
	return (const struct facts *)api_schema_cache_find(&cache, json_array_get(schemas, number));
}

/* As callers do: what is missing is added. Counts entries of other schemas. */
static void *fill(void *ctx)
{
	size_t *wrong = ctx;
	for (size_t i = 0; i < MANY; i++) {
		const struct facts *known = find(i);
		if (known != NULL) {
			*wrong += known->number != i;
			continue;
		}
		struct facts *made = xmalloc(sizeof(*made));
		made->number = i;
		api_schema_cache_add(&cache, json_array_get(schemas, i), &made->entry);
	}
	return NULL;
}

static void threads_fill_it(void **state)
{
	pthread_t threads[THREADS];
	size_t wrong[THREADS] = { 0 };
	(void)state;
	for (size_t i = 0; i < MANY; i++)
		assert_null(find(i));
	for (size_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, fill, &wrong[i]), 0);
	for (size_t i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_int_equal(wrong[i], 0);
	}
	for (size_t i = 0; i < MANY; i++) {
		const struct facts *known = find(i);
		assert_true(known != NULL && known->number == i);
	}
	assert_null(api_schema_cache_find(&cache, NULL));
}

static void hash_has_its_bits(void **state)
{
	(void)state;
	for (unsigned bits = 1; bits <= 12; bits++) {
		for (size_t i = 0; i < 100; i++)
			assert_true(api_schema_hash(json_array_get(schemas, i), bits) <
				    UINT64_C(1) << bits);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_fill_it),
		cmocka_unit_test(hash_has_its_bits),
	};
	schemas = json_array();
	for (size_t i = 0; i < MANY; i++)
		json_array_append_new(schemas, json_object());
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	for (size_t i = 0; i < ARRAY_LEN(cache.buckets); i++) {
		for (struct api_schema_entry *entry = cache.buckets[i], *next; entry != NULL;
		     entry = next) {
			next = entry->next;
			free(entry);
		}
	}
	json_decref(schemas);
	return failed;
}
