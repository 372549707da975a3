/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The list of storage folders. */
#include "hook/storage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static bool has_root(const struct hook_storage *storage, const char *path)
{
	for (size_t i = 0; i < storage->n_roots; i++) {
		if (strcmp(storage->root[i], path) == 0)
			return true;
	}
	return false;
}

static void defaults(void **state)
{
	(void)state;
	struct hook_storage storage = { 0 };
	hook_storage_use_defaults(&storage);
	assert_true(has_root(&storage, "/run/containers"));
	assert_true(has_root(&storage, "/var/lib/containerd"));
	assert_true(has_root(&storage, storage.user_root));
	unsigned uid = 0;
	int n = 0;
	assert_int_equal(sscanf(storage.user_root, "/run/user/%u/containers%n", &uid, &n), 1);
	assert_int_equal(n, strlen(storage.user_root));
	/* kubelet keeps what pods write and mount, and no sandbox's files. */
	assert_false(has_root(&storage, "/var/lib/kubelet"));
}

static void paths_that_are_none(void **state)
{
	(void)state;
	struct hook_storage storage = { 0 };
	assert_false(hook_storage_add(&storage, ""));
	assert_false(hook_storage_add(&storage, "run"));
	assert_false(hook_storage_add(&storage, "/"));
	assert_false(hook_storage_add(&storage, "/./"));
	assert_int_equal(storage.n_roots, 0);
	for (int i = 0; i < HOOK_STORAGE_ROOTS_MAX; i++)
		assert_true(hook_storage_add(&storage, "/run/a"));
	assert_false(hook_storage_add(&storage, "/run/b"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults),
		cmocka_unit_test(paths_that_are_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
