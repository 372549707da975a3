/* SPDX-License-Identifier: GPL-3.0-or-later */
/* TSIG keys from text and from a file that changes. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock_test.h"
#include "base/compiler.h"

#include "base/err.h"
#include "base/rcu/rcu.h"
#include "plugin/egressfirewall/keys_test.h"
#include "net/task_test.h"

static const struct {
	const char *text;
	int result;
	size_t n;
	const char *error;
} rows[] = {
	{ "", 0, 0, "" },
	{ "\n# nothing\n  \n", 0, 0, "" },
	{ "hmac-sha256:k.example:c2VjcmV0\n", 0, 1, "" },
	{ "a:c2VjcmV0\r\n# old\n b:c2VjcmV0", 0, 2, "" },
	{ "a:c2VjcmV0\nb:%%%\n", ERR_PARSE, 0, "line 2: " },
	{ "hmac-md5:a:c2VjcmV0", ERR_PARSE, 0, "line 1: " },
	{ "a:cA==\na:cA==\na:cA==\na:cA==\na:cA==\na:cA==\na:cA==\na:cA==\na:cA==", ERR_LIMIT, 0,
	  "line 9: more than 8 keys" },
};

static void reads_lines(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct egressfirewall_keys keys = { 0 };
		char error[256] = "";
		int r = egressfirewall_keys_parse(slice_of(rows[i].text), &keys, ERR_TEXT(error));
		assert_int_equal(r, rows[i].result);
		assert_int_equal(keys.n, rows[i].n);
		assert_int_equal(strncmp(error, rows[i].error, strlen(rows[i].error)), 0);
		assert_null(strstr(error, "c2VjcmV0"));
		egressfirewall_keys_done(&keys);
	}
}

static _Atomic uint64_t now_ns = NS_PER_S;

static uint64_t fake_now(void)
{
	return now_ns;
}

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static size_t keys_after(const struct egressfirewall_keyfile *file, uint64_t seconds)
{
	now_ns += seconds * NS_PER_S;
	task_sync();
	rcu_enter();
	const struct egressfirewall_keys *keys = egressfirewall_keyfile_hold(file);
	rcu_leave();
	size_t n = keys->n;
	egressfirewall_keys_put(keys);
	return n;
}

/* A rotation: keys that a transfer holds stay until it ends. */
static void follows_the_file(void **state)
{
	(void)state;
	static const struct clock_source fake = { .mono_ns = fake_now, .wall_ns = fake_now };
	char path[] = "/tmp/egressfirewall-keys-XXXXXX", error[256] = "";
	struct egressfirewall_keyfile *file;
	struct task_owner tasks = { 0 };
	close(mkstemp(path));
	unlink(path);
	clock_set_source(&fake);
	rcu_thread_register();
	assert_int_equal(egressfirewall_keyfile_new(path, &file, ERR_TEXT(error)), 0);
	egressfirewall_keyfile_watch(file, &tasks);
	assert_int_equal(keys_after(file, 6), 0);
	/* The first key is seen soon, others when the file is read again. */
	write_file(path, "a:c2VjcmV0\n");
	assert_int_equal(keys_after(file, 1), 1);
	rcu_enter();
	const struct egressfirewall_keys *held = egressfirewall_keyfile_hold(file);
	rcu_leave();
	write_file(path, "a:c2VjcmV0\nb:c2VjcmV0\n");
	assert_int_equal(keys_after(file, 2), 1);
	assert_int_equal(keys_after(file, 4), 2);
	write_file(path, "what\n");
	assert_int_equal(keys_after(file, 6), 2);
	rcu_barrier_all();
	assert_int_equal(held->n, 1);
	assert_memory_equal(held->v[0].secret.p, "secret", 6);
	egressfirewall_keys_put(held);
	task_owner_stop(&tasks);
	egressfirewall_keyfile_free(file);
	rcu_barrier_all();
	rcu_thread_unregister();
	clock_set_source(NULL);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_lines),
		cmocka_unit_test(follows_the_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
