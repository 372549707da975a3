/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Paths of cgroups as people write them, and folders that are none. Cgroups that exist: tests/kube/test_node_machine.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "node/cgroup.h"
#include "node/cgroup_test.h"

static void paths(void **state UNUSED)
{
	static const struct {
		const char *path, *tidy; /* NULL: refused */
		uint32_t level;
	} rows[] = {
		{ "a", "a", 1 },      { "/system.slice/a.service", "system.slice/a.service", 2 },
		{ "a/b/", "a/b", 2 }, { "./a//./b", "a/b", 2 },
		{ "...", "...", 1 },  { "a..b", "a..b", 1 },
		{ "", NULL, 0 },      { "/", NULL, 0 },
		{ ".", NULL, 0 },     { "a/../b", NULL, 0 },
		{ "..", NULL, 0 },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
		assert_int_equal(node_cgroup_tidy_path(rows[i].path, &out), rows[i].level);
		if (rows[i].tidy != NULL)
			assert_string_equal(out.s, rows[i].tidy);
	}
}

static void too_deep(void **state UNUSED)
{
	CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT, out = STRBUF_INIT;
	for (size_t i = 0; i < NODE_CGROUP_LEVEL_MAX; i++)
		strbuf_adds(&path, "a/");
	assert_int_equal(node_cgroup_tidy_path(path.s, &out), NODE_CGROUP_LEVEL_MAX);
	strbuf_adds(&path, "a");
	assert_int_equal(node_cgroup_tidy_path(path.s, &out), 0);
}

/* A folder of another file system has a number, too, which is another cgroup's. */
static void other_file_systems(void **state UNUSED)
{
	struct node_cgroup found = { .id = 7 };
	assert_string_equal(node_cgroup_find("/tmp", "x", &found),
			    "this machine has no cgroups of version 2");
	assert_int_equal(found.id, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths),
		cmocka_unit_test(too_deep),
		cmocka_unit_test(other_file_systems),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
