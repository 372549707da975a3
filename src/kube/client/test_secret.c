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
#include "kube/client/secret.h"

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
		struct kube_secret s = { 0 };
		int r = kube_secret_base64(slice_of(rows[i].text), &s);
		if ((r == 0) != (rows[i].bytes != NULL))
			fail_msg("'%s'", rows[i].text);
		if (r == 0)
			assert_string_equal(s.p, rows[i].bytes);
		kube_secret_done(&s);
	}
}

static void files(void **state)
{
	char path[] = "/tmp/fairlead-secret-XXXXXX";
	int fd = mkstemp(path);
	struct kube_secret s = { 0 };
	CLEANUP(freep) char *big = xcalloc(1, KUBE_SECRET_MAX_BYTES + 1);
	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(kube_secret_read(path, &s), 0);
	assert_int_equal(s.n, 0);
	assert_int_equal(write(fd, "token", 5), 5);
	assert_int_equal(kube_secret_read(path, &s), 0);
	assert_string_equal(s.p, "token");
	assert_int_equal(pwrite(fd, big, KUBE_SECRET_MAX_BYTES, 0), KUBE_SECRET_MAX_BYTES);
	assert_int_equal(kube_secret_read(path, &s), 0);
	assert_int_equal(s.n, KUBE_SECRET_MAX_BYTES);
	assert_int_equal(pwrite(fd, big, KUBE_SECRET_MAX_BYTES + 1, 0), KUBE_SECRET_MAX_BYTES + 1);
	assert_int_equal(kube_secret_read(path, &s), ERR_LIMIT);
	assert_int_equal(s.n, KUBE_SECRET_MAX_BYTES); /* what was there stays */
	kube_secret_done(&s);
	close(fd);
	unlink(path);
	assert_int_equal(kube_secret_read(path, &s), -ENOENT);
	/* A file without a size: its room grows. */
	assert_int_equal(kube_secret_read("/proc/self/limits", &s), 0);
	assert_true(s.n > 512);
	kube_secret_done(&s);
}

static void trees(void **state)
{
	(void)state;
	json_t *o = json_pack("{s:{s:[s]}}", "users", "a", "s3cret");
	json_t *leaf = json_array_get(json_object_get(json_object_get(o, "users"), "a"), 0);
	json_incref(leaf); /* to look at it afterwards */
	kube_secret_wipe_tree(o);
	assert_int_equal(memcmp(json_string_value(leaf), "\0\0\0\0\0\0", 6), 0);
	json_decref(leaf);
	kube_secret_wipe_tree(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(base64),
		cmocka_unit_test(files),
		cmocka_unit_test(trees),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
