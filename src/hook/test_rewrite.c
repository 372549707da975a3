/* SPDX-License-Identifier: GPL-3.0-or-later */
/* In-place changes, with a limit on the file's size as the failure half-way. */
#include "hook/rewrite.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "hook/resolv_text.h"

static char path[64];

static int make_file(const char *content)
{
	snprintf(path, sizeof(path), "/tmp/fairlead-rewrite-XXXXXX");
	int fd = mkostemp(path, O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, content, strlen(content)), (ssize_t)strlen(content));
	return fd;
}

static void assert_content(int fd, const char *want)
{
	char why[128];
	struct strbuf got = STRBUF_INIT;
	assert_int_equal(hook_rewrite_read(fd, &got, ERR_TEXT(why)), 0);
	assert_string_equal(got.s, want);
	strbuf_done(&got);
}

static void keeps_the_inode(void **state)
{
	(void)state;
	static const char *const texts[] = { "short\n", "a longer text than before\n", "", "x\n",
					     "y\n" };
	struct stat before, after;
	const char *now = "first\n";
	int fd = make_file(now);
	assert_int_equal(fchmod(fd, 0444), 0);
	assert_int_equal(stat(path, &before), 0);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		char why[128] = "";
		assert_int_equal(
			hook_rewrite_content(fd, slice_of(now), slice_of(texts[i]), ERR_TEXT(why)),
			0);
		now = texts[i];
		assert_content(fd, now);
	}
	assert_int_equal(stat(path, &after), 0);
	assert_int_equal(after.st_ino, before.st_ino);
	assert_int_equal(after.st_mode, before.st_mode);
	assert_int_equal(after.st_nlink, 1);
	unlink(path);
	close(fd);
}

/* The kernel writes up to the limit and then fails: the beginning of the file is new. */
static void a_failed_write_is_undone(void **state)
{
	(void)state;
	static const char old[] = "nameserver 192.0.2.1\n";
	struct rlimit limit, small;
	char why[256] = "";
	signal(SIGXFSZ, SIG_IGN);
	int fd = make_file(old);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	small = limit;
	small.rlim_cur = 30;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	int r = hook_rewrite_content(fd, SLICE("nameserver 192.0.2.1\n"),
				     SLICE("search a.example b.example c.example d.example\n"),
				     ERR_TEXT(why));
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_true(r < 0);
	assert_content(fd, old);
	assert_non_null(strstr(why, strerror(-r)));
	unlink(path);
	close(fd);
}

static void too_long_a_file(void **state)
{
	(void)state;
	struct strbuf text = STRBUF_INIT, got = STRBUF_INIT;
	char why[128] = "";
	for (int i = 0; i < HOOK_RESOLV_BYTES_MAX; i++)
		strbuf_addc(&text, '\n');
	int fd = make_file(text.s);
	assert_int_equal(hook_rewrite_read(fd, &got, ERR_TEXT(why)), 0);
	assert_int_equal(got.n, HOOK_RESOLV_BYTES_MAX);
	assert_int_equal(hook_rewrite_content(fd, strbuf_slice(&got), SLICE("x\n"), ERR_TEXT(why)),
			 0);
	assert_content(fd, "x\n");
	assert_int_equal(ftruncate(fd, HOOK_RESOLV_BYTES_MAX + 1), 0);
	strbuf_reset(&got);
	assert_int_equal(hook_rewrite_read(fd, &got, ERR_TEXT(why)), ERR_LIMIT);
	assert_string_equal(why, "the file has more than 4096 bytes");
	assert_int_equal(got.n, 0);
	unlink(path);
	close(fd);
	strbuf_done(&text);
	strbuf_done(&got);
}

static void a_lock_that_stays(void **state)
{
	(void)state;
	char why[128] = "";
	int fd = make_file("");
	int other = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(flock(other, LOCK_SH), 0);
	assert_int_equal(hook_rewrite_lock(fd, ERR_TEXT(why)), ERR_BUSY);
	assert_string_equal(why, "another process keeps the file locked");
	close(other);
	assert_int_equal(hook_rewrite_lock(fd, ERR_TEXT(why)), 0);
	unlink(path);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_the_inode),
		cmocka_unit_test(a_failed_write_is_undone),
		cmocka_unit_test(too_long_a_file),
		cmocka_unit_test(a_lock_that_stays),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
