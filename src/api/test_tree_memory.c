/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pieces of trees: kept by the thread that frees them, for trees of any shape, up to the limit, and
 * released at its end. */
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "api/tree_memory.h"
#include "api/tree_memory_test.h"

enum { OTHERS = 4, ROUNDS = 200, LARGEST = 400 };

static void reuses_pieces(void **state)
{
	json_malloc_t take;
	json_free_t keep;
	(void)state;
	json_get_alloc_funcs(&take, &keep);
	for (size_t n = 1; n <= LARGEST; n++) {
		void *first = take(n);
		assert_non_null(first);
		assert_true(malloc_usable_size(first) >= n);
		memset(first, 0xa5, n);
		size_t before = api_tree_memory_kept();
		keep(first);
		void *again = take(n);
		if (api_tree_memory_kept() == before && n <= 100 && api_tree_memory_works())
			assert_ptr_equal(again, first);
		assert_true(malloc_usable_size(again) >= n);
		keep(again);
	}
	keep(NULL);
	assert_true((api_tree_memory_kept() > 0) == api_tree_memory_works());
}

/* So many texts, each of another length, and read back. */
static json_t *make_tree(size_t n)
{
	json_t *list = json_array();
	char text[300];
	for (size_t i = 0; i < n; i++) {
		size_t length = i % sizeof(text);
		memset(text, 'a' + (int)(i % 26), length);
		json_array_append_new(
			list, json_pack("{s:s#, s:i}", "text", text, (int)length, "i", (int)i));
	}
	return list;
}

static void check_tree(const json_t *list, size_t n)
{
	assert_int_equal(json_array_size(list), n);
	for (size_t i = 0; i < n; i++) {
		const json_t *item = json_array_get(list, i);
		const json_t *text = json_object_get(item, "text");
		assert_int_equal(json_integer_value(json_object_get(item, "i")), i);
		assert_int_equal(json_string_length(text), i % 300);
		assert_true(i % 300 == 0 ||
			    json_string_value(text)[i % 300 - 1] == (char)('a' + (int)(i % 26)));
	}
}

static void holds_its_limit(void **state)
{
	(void)state;
	json_t *large = make_tree(5000), *other = make_tree(2000);
	check_tree(large, 5000);
	json_decref(large);
	assert_true(api_tree_memory_kept() <= API_TREE_KEPT_BYTES);
	check_tree(other, 2000);
	json_t *next = make_tree(3000);
	check_tree(next, 3000);
	check_tree(other, 2000);
	json_decref(next);
	json_decref(other);
	assert_true(api_tree_memory_kept() <= API_TREE_KEPT_BYTES);
}

static void frees_text_by_free(void **state)
{
	(void)state;
	json_t *tree = make_tree(3);
	char *text = json_dumps(tree, JSON_COMPACT);
	json_decref(tree);
	free(text);
	tree = make_tree(3);
	check_tree(tree, 3);
	json_decref(tree);
}

/* ---- threads ---- */

static json_t *handed_over[OTHERS];

static void *make_and_free(void *arg)
{
	json_t **slot = arg;
	for (size_t i = 0; i < ROUNDS; i++) {
		json_t *tree = make_tree(i);
		check_tree(tree, i);
		json_decref(tree);
	}
	json_decref(*slot); /* of another thread */
	*slot = make_tree(ROUNDS);
	return NULL;
}

static void crosses_threads(void **state)
{
	pthread_t thread[OTHERS];
	(void)state;
	for (size_t i = 0; i < OTHERS; i++) {
		handed_over[i] = make_tree(ROUNDS);
		assert_int_equal(pthread_create(&thread[i], NULL, make_and_free, &handed_over[i]),
				 0);
	}
	for (size_t i = 0; i < OTHERS; i++) {
		pthread_join(thread[i], NULL);
		check_tree(handed_over[i], ROUNDS);
		json_decref(handed_over[i]);
	}
}

static void *free_large(void *arg)
{
	(void)arg;
	json_decref(make_tree(5000));
	return NULL;
}

/* A hundred threads that keep all they may would hold 3 MB. */
static void ends_with_its_thread(void **state)
{
	pthread_t thread;
	(void)state;
	free_large(NULL);
	size_t before = mallinfo2().uordblks;
	for (size_t i = 0; i < 100; i++) {
		assert_int_equal(pthread_create(&thread, NULL, free_large, NULL), 0);
		pthread_join(thread, NULL);
	}
	assert_true(mallinfo2().uordblks < before + 20 * API_TREE_KEPT_BYTES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reuses_pieces),	cmocka_unit_test(holds_its_limit),
		cmocka_unit_test(frees_text_by_free),	cmocka_unit_test(crosses_threads),
		cmocka_unit_test(ends_with_its_thread),
	};
	mallopt(M_ARENA_MAX, 1); /* mallinfo2 sees only the first */
	api_tree_memory_keep();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
