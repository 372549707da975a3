/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tokens survive restarts and identify their users. */
#include "apiserver/access/authenticate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"

static const char *const files[] = { "admin.token", "system.token" };

static void dir_init(char dir[64])
{
	snprintf(dir, 64, "/tmp/test_authenticate.XXXXXX");
	assert_non_null(mkdtemp(dir));
}

static void dir_done(const char *dir)
{
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		CLEANUP(freep) char *path = xasprintf("%s/%s", dir, files[i]);
		unlink(path);
	}
	assert_int_equal(rmdir(dir), 0);
}

static void tokens_last(void **state)
{
	struct apiserver_authenticator *a, *b;
	char dir[64], err[256];
	struct stat st;
	(void)state;
	dir_init(dir);
	assert_int_equal(apiserver_authenticator_open(dir, &a, ERR_TEXT(err)), 0);
	assert_int_equal(strlen(apiserver_authenticator_user_token(a)), 64);
	assert_string_not_equal(apiserver_authenticator_user_token(a),
				apiserver_authenticator_system_token(a));
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		CLEANUP(freep) char *path = xasprintf("%s/%s", dir, files[i]);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_mode & 0777, 0600);
	}
	assert_int_equal(apiserver_authenticator_open(dir, &b, ERR_TEXT(err)), 0);
	assert_string_equal(apiserver_authenticator_user_token(a),
			    apiserver_authenticator_user_token(b));
	assert_string_equal(apiserver_authenticator_system_token(a),
			    apiserver_authenticator_system_token(b));
	apiserver_authenticator_free(b);
	/* One that is cut off is no token any more. */
	CLEANUP(freep) char *path = xasprintf("%s/%s", dir, files[0]);
	assert_int_equal(truncate(path, 10), 0);
	assert_int_equal(apiserver_authenticator_open(dir, &b, ERR_TEXT(err)), 0);
	assert_int_equal(strlen(apiserver_authenticator_user_token(b)), 64);
	assert_string_not_equal(apiserver_authenticator_user_token(a),
				apiserver_authenticator_user_token(b));
	apiserver_authenticator_free(a);
	apiserver_authenticator_free(b);
	apiserver_authenticator_free(NULL);
	dir_done(dir);
	assert_true(apiserver_authenticator_open("/nonexistent", &a, ERR_TEXT(err)) < 0);
	assert_string_equal(err,
			    "cannot write '/nonexistent/admin.token': No such file or directory");
}

static void who_is_who(void **state)
{
	struct apiserver_authenticator *a;
	char dir[64], err[256];
	(void)state;
	dir_init(dir);
	assert_int_equal(apiserver_authenticator_open(dir, &a, ERR_TEXT(err)), 0);
	const char *user = apiserver_authenticator_user_token(a),
		   *own = apiserver_authenticator_system_token(a);
	const struct {
		const char *format, *token, *who;
	} rows[] = {
		{ "Bearer ", user, "admin" },
		{ "bearer ", user, "admin" },
		{ "Bearer  ", user, "admin" },
		{ "Bearer ", own, "system:fairlead" },
		{ "Basic ", user, NULL },
		{ "", user, NULL },
		{ "Bearer", "", NULL },
		{ "Bearer ", "", NULL },
		{ "Bearer ", user + 1, NULL },
		{ "Bearer x", user, NULL },
		{ "", "", NULL },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(freep) char *header = xasprintf("%s%s", rows[i].format, rows[i].token);
		const struct apiserver_identity *who = apiserver_authenticator_identify(a, header);
		if (rows[i].who == NULL)
			assert_null(who);
		else
			assert_string_equal(who->user, rows[i].who);
		if (who != NULL)
			assert_int_equal(who->system, who->user[0] == 's');
	}
	CLEANUP(freep) char *longer = xasprintf("Bearer %sx", user);
	assert_null(apiserver_authenticator_identify(a, longer));
	assert_null(apiserver_authenticator_identify(a, NULL));
	apiserver_authenticator_free(a);
	dir_done(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tokens_last),
		cmocka_unit_test(who_is_who),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
