/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Data directories of controllers: made when needed, private, and absent in a cluster. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "controller/controller.h"
#include "controller/data_dir.h"

static char base[64];

static int setup(void **state)
{
	(void)state;
	snprintf(base, sizeof(base), "/tmp/data_dir-XXXXXX");
	return mkdtemp(base) != NULL ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	static const char *const below[] = { "/c/one/file", "/c/one", "/c/two", "/c", "" };
	for (size_t i = 0; i < ARRAY_LEN(below); i++) {
		char path[128];
		snprintf(path, sizeof(path), "%s%s", base, below[i]);
		remove(path);
	}
	return 0;
}

static void is_created_once(void **state)
{
	(void)state;
	CLEANUP(freep) char *parent = xasprintf("%s/c", base);
	struct controller_options options = { .data_dir = parent };
	struct controller_ctx ctx = { .name = "one", .options = &options };
	char err[200] = "";
	struct stat st;
	umask(0);
	int fd = controller_data_dir(&ctx, ERR_TEXT(err));
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	int file = openat(fd, "file", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_true(file >= 0);
	close(file);
	close(fd);
	assert_int_equal(stat(parent, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	fd = controller_data_dir(&ctx, ERR_TEXT(err)); /* what is in it stays */
	assert_int_equal(fstatat(fd, "file", &st, 0), 0);
	close(fd);
}

static void none_in_a_cluster(void **state)
{
	(void)state;
	struct controller_options options = { .platform = "kubernetes" };
	struct controller_ctx ctx = { .name = "one", .options = &options };
	char err[200] = "";
	assert_int_equal(controller_data_dir(&ctx, ERR_TEXT(err)), ERR_NOTFOUND);
	assert_non_null(strstr(err, "no data directory"));
	ctx.options = NULL;
	assert_int_equal(controller_data_dir(&ctx, ERR_TEXT(err)), ERR_NOTFOUND);
}

static void errors_name_the_path(void **state)
{
	(void)state;
	CLEANUP(freep) char *deep = xasprintf("%s/missing/c", base);
	CLEANUP(freep) char *parent = xasprintf("%s/c", base);
	CLEANUP(freep) char *link = xasprintf("%s/two", parent);
	struct controller_options options = { .data_dir = deep };
	struct controller_ctx ctx = { .name = "two", .options = &options };
	char err[200] = "";
	assert_int_equal(controller_data_dir(&ctx, ERR_TEXT(err)), -ENOENT);
	assert_non_null(strstr(err, deep));
	/* a link is somebody else's place */
	options.data_dir = parent;
	IGNORE(mkdir(parent, 0700));
	assert_int_equal(symlink("/tmp", link), 0);
	assert_true(controller_data_dir(&ctx, ERR_TEXT(err)) < 0);
	assert_non_null(strstr(err, link));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_created_once),
		cmocka_unit_test(none_in_a_cluster),
		cmocka_unit_test(errors_name_the_path),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
