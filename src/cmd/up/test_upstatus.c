/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The socket of `fairlead up`: who answers, who does not, and what is left behind. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/meta.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "cmd/up/upstatus.h"

static char dir[256], path[300];

static int setup(void **state)
{
	(void)state;
	/* longer than the path of a socket may be */
	snprintf(dir, sizeof(dir), "/tmp/upstatus-%0130d-XXXXXX", 0);
	if (mkdtemp(dir) == NULL)
		return -1;
	snprintf(path, sizeof(path), "%s/up.sock", dir);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(dir);
}

static void collect(void *ctx, json_t *lines)
{
	unsigned *asked = ctx;
	++*asked;
	upstatus_add(lines, "child one", false, "ended \"badly\"\n");
	upstatus_add(lines, "controllers", true, "dnsoperator");
}

static void answers_each_time(void **state)
{
	(void)state;
	struct upstatus *upstatus = NULL;
	unsigned asked = 0;
	char err[400] = "";
	struct stat st;
	assert_int_equal(upstatus_start(dir, collect, &asked, &upstatus, ERR_TEXT(err)), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	for (int i = 0; i < 3; i++) {
		json_t *lines = NULL;
		assert_int_equal(upstatus_ask(dir, &lines), 0);
		assert_int_equal(json_array_size(lines), 2);
		const json_t *one = json_array_get(lines, 0);
		assert_string_equal(api_get_string(one, "what"), "child one");
		assert_string_equal(api_get_string(one, "text"), "ended \"badly\"\n");
		assert_true(json_is_false(json_object_get(one, "well")));
		assert_true(json_is_true(json_object_get(json_array_get(lines, 1), "well")));
		json_decref(lines);
	}
	upstatus_stop(upstatus);
	assert_int_equal(asked, 3);
	assert_int_equal(stat(path, &st), -1);
}

static void nobody_answers(void **state)
{
	(void)state;
	json_t *lines = NULL;
	assert_int_equal(upstatus_ask(dir, &lines), ERR_NOTFOUND);
	assert_int_equal(upstatus_ask("/nonexistent", &lines), ERR_NOTFOUND);
	upstatus_stop(NULL);
}

/* A file of a killed process is replaced. */
static void old_socket_is_replaced(void **state)
{
	(void)state;
	struct upstatus *upstatus = NULL;
	unsigned asked = 0;
	char err[400] = "";
	json_t *lines = NULL;
	FILE *left = fopen(path, "we");
	assert_non_null(left);
	fclose(left);
	assert_int_equal(upstatus_ask(dir, &lines), ERR_NOTFOUND);
	assert_int_equal(upstatus_start(dir, collect, &asked, &upstatus, ERR_TEXT(err)), 0);
	assert_int_equal(upstatus_ask(dir, &lines), 0);
	json_decref(lines);
	upstatus_stop(upstatus);
}

static void start_without_a_directory(void **state)
{
	(void)state;
	struct upstatus *upstatus = NULL;
	char err[400] = "";
	assert_true(upstatus_start("/nonexistent", collect, NULL, &upstatus, ERR_TEXT(err)) < 0);
	assert_non_null(strstr(err, "/nonexistent/up.sock"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(answers_each_time, setup, teardown),
		cmocka_unit_test_setup_teardown(nobody_answers, setup, teardown),
		cmocka_unit_test_setup_teardown(old_socket_is_replaced, setup, teardown),
		cmocka_unit_test(start_without_a_directory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
