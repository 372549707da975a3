/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables of names: none, few, many, and names that have one hash. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/key_table.h"
#include "base/compiler.h"

static void finds_nothing_in_an_empty_one(void **state)
{
	struct api_key_table table = { 0 };
	(void)state;
	assert_null(api_key_table_get(&table, "a", 1));
	api_key_table_init(&table, 0);
	assert_null(api_key_table_get(&table, "", 0));
	free(table.slots);
}

static void finds_names_with_one_hash(void **state)
{
	static const char *const keys[] = { "abz", "acz", "adz", "aez", "" };
	struct api_key_table table;
	int value[ARRAY_LEN(keys)];
	(void)state;
	api_key_table_init(&table, ARRAY_LEN(keys));
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		api_key_table_add(&table, keys[i], strlen(keys[i]), &value[i]);
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		assert_ptr_equal(api_key_table_get(&table, keys[i], strlen(keys[i])), &value[i]);
	assert_null(api_key_table_get(&table, "afz", 3));
	assert_null(api_key_table_get(&table, "ab", 2)); /* the start of one */
	assert_null(api_key_table_get(&table, "abz0", 4));
	assert_null(api_key_table_get(&table, "a\0z", 3));
	free(table.slots);
}

static void finds_many(void **state)
{
	enum { MANY = 1000 };
	static char keys[MANY][8];
	struct api_key_table table;
	(void)state;
	api_key_table_init(&table, MANY);
	for (size_t i = 0; i < MANY; i++) {
		snprintf(keys[i], sizeof(keys[i]), "k%zu", i);
		api_key_table_add(&table, keys[i], strlen(keys[i]), keys[i]);
	}
	for (size_t i = 0; i < MANY; i++)
		assert_ptr_equal(api_key_table_get(&table, keys[i], strlen(keys[i])), keys[i]);
	assert_null(api_key_table_get(&table, "k1000", 5));
	free(table.slots);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_nothing_in_an_empty_one),
		cmocka_unit_test(finds_names_with_one_hash),
		cmocka_unit_test(finds_many),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
