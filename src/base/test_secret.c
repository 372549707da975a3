/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Base64, files, wiping. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <errno.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/secret.h"

static void base64(void **state)
{
	static const struct {
		const char *text, *bytes; /* NULL: refused */
	} rows[] = {
		{ "", "" },
		{ "Zg==", "f" },
		{ "Zm8=", "fo" },
		{ "Zm9v", "foo" },
		{ "Zm9vYg==", "foob" },
		{ " Zm\n9v\t", "foo" },
		{ "Z", NULL },
		{ "Zg", NULL },
		{ "Zg=", NULL },
		{ "Zg===", NULL },
		{ "Zm9v=", NULL },
		{ "=", NULL },
		{ "Zg==Zg==", NULL },
		{ "Zm-v", NULL },
		{ "Zm9vZ", NULL },
		{ "+/+/", "\xfb\xff\xbf" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct secret s = { 0 };
		int r = secret_base64(slice_of(rows[i].text), &s);
		if ((r == 0) != (rows[i].bytes != NULL))
			fail_msg("'%s'", rows[i].text);
		if (r == 0)
			assert_string_equal(s.p, rows[i].bytes);
		secret_done(&s);
	}
}

static void files(void **state)
{
	char path[] = "/tmp/fairlead-secret-XXXXXX";
	int fd = mkstemp(path);
	struct secret s = { 0 };
	CLEANUP(freep) char *big = xcalloc(1, SECRET_MAX_BYTES + 1);
	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(secret_read(path, &s), 0);
	assert_int_equal(s.n, 0);
	assert_int_equal(write(fd, "token", 5), 5);
	assert_int_equal(secret_read(path, &s), 0);
	assert_string_equal(s.p, "token");
	assert_int_equal(pwrite(fd, big, SECRET_MAX_BYTES, 0), SECRET_MAX_BYTES);
	assert_int_equal(secret_read(path, &s), 0);
	assert_int_equal(s.n, SECRET_MAX_BYTES);
	assert_int_equal(pwrite(fd, big, SECRET_MAX_BYTES + 1, 0), SECRET_MAX_BYTES + 1);
	assert_int_equal(secret_read(path, &s), ERR_LIMIT);
	assert_int_equal(s.n, SECRET_MAX_BYTES); /* what was there stays */
	secret_done(&s);
	close(fd);
	unlink(path);
	assert_int_equal(secret_read(path, &s), -ENOENT);
	/* A file without a size: its room grows. */
	assert_int_equal(secret_read("/proc/self/limits", &s), 0);
	assert_true(s.n > 512);
	secret_done(&s);
}

/* Equal, of another length, and different in each one byte. */
static void compares(void **state)
{
	struct secret left = { 0 }, right = { 0 };
	(void)state;
	assert_true(secret_eq(&left, &right));
	secret_set(&left, SLICE("token"));
	assert_false(secret_eq(&left, &right));
	secret_set(&right, SLICE("token"));
	assert_true(secret_eq(&left, &right));
	for (size_t i = 0; i < left.n; i++) {
		left.p[i] ^= 0x20;
		assert_false(secret_eq(&left, &right));
		left.p[i] ^= 0x20;
	}
	secret_set(&right, SLICE("toke"));
	assert_false(secret_eq(&left, &right));
	secret_done(&left);
	secret_done(&right);
	assert_null(left.p);
	secret_done(&left);
}

static void wipes_buffers(void **state)
{
	struct strbuf out = STRBUF_INIT;
	(void)state;
	secret_wipe_strbuf(&out); /* one that never held anything */
	strbuf_adds(&out, "s3cret");
	secret_wipe_strbuf(&out);
	assert_int_equal(out.n, 0);
	assert_string_equal(out.s, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(base64),
		cmocka_unit_test(files),
		cmocka_unit_test(compares),
		cmocka_unit_test(wipes_buffers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
