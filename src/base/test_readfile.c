/* SPDX-License-Identifier: GPL-3.0-or-later */
/* readfile: all of it, or an error; never more than the limit. */
#include "base/readfile.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"

static int file_of(size_t n)
{
	static const char block[1000];
	int fd = memfd_create("file", MFD_CLOEXEC);
	assert_true(fd >= 0);
	for (; n > 0; n -= MIN(n, sizeof(block)))
		assert_true(write(fd, block, MIN(n, sizeof(block))) > 0);
	lseek(fd, 0, SEEK_SET);
	return fd;
}

static void reads_up_to_the_limit(void **state)
{
	(void)state;
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	strbuf_adds(&b, "kept");
	int fd = file_of(20000);
	assert_int_equal(readfile_fd(fd, 20000, &b), 0);
	assert_int_equal(b.n, 20004);
	close(fd);
}

static void refuses_more(void **state)
{
	(void)state;
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	int fd = file_of(20001);
	assert_int_equal(readfile_fd(fd, 20000, &b), ERR_LIMIT);
	close(fd);
	assert_int_equal(readfile_fd(-1, 20000, &b), -EBADF);
}

/* Opening or reading a pipe must not wait for a writer that may never come. */
static void waits_for_no_pipe(void **state)
{
	(void)state;
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	char folder[] = "/tmp/test-readfile-XXXXXX";
	char path[64];
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/pipe", folder);
	assert_int_equal(readfile_path(path, 100, 0, &b), -ENOENT);
	assert_int_equal(readfile_path(folder, 100, 0, &b), -EISDIR);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(readfile_path(path, 100, 1, &b), -ETIMEDOUT);
	int fd = open(path, O_RDWR | O_CLOEXEC); /* a writer that does not end */
	assert_int_equal(write(fd, "text", 4), 4);
	assert_int_equal(readfile_path(path, 100, 1, &b), -ETIMEDOUT);
	assert_int_equal(b.n, 4);
	close(fd);
	unlink(path);
	rmdir(folder);
}

static void *write_pipe(void *path)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	return write(fd, "text", 4) == 4 && close(fd) == 0 ? NULL : path;
}

static void reads_a_pipe(void **state)
{
	(void)state;
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	char folder[] = "/tmp/test-readfile-XXXXXX";
	char path[64];
	pthread_t writer;
	void *failed;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/pipe", folder);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(pthread_create(&writer, NULL, write_pipe, path), 0);
	assert_int_equal(readfile_path(path, 4, 60000, &b), 0);
	assert_int_equal(b.n, 4);
	assert_int_equal(pthread_join(writer, &failed), 0);
	assert_null(failed);
	unlink(path);
	rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_up_to_the_limit),
		cmocka_unit_test(refuses_more),
		cmocka_unit_test(waits_for_no_pipe),
		cmocka_unit_test(reads_a_pipe),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
