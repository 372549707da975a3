/* readfile: all of it, or an error; never more than the limit. */
#include "base/readfile.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_up_to_the_limit),
		cmocka_unit_test(refuses_more),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
