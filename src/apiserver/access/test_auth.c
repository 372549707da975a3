/* auth: tokens that last, who is who, and what the user may not write. */
#include "apiserver/access/auth.h"

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
#include "base/mem.h"

static const char *const files[] = { "admin.token", "system.token" };

static void dir_init(char dir[64])
{
	snprintf(dir, 64, "/tmp/test_auth.XXXXXX");
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
	struct apiserver_auth *a, *b;
	char dir[64], err[256];
	struct stat st;
	(void)state;
	dir_init(dir);
	assert_int_equal(apiserver_auth_open(dir, &a, err, sizeof(err)), 0);
	assert_int_equal(strlen(apiserver_auth_user_token(a)), 64);
	assert_string_not_equal(apiserver_auth_user_token(a), apiserver_auth_system_token(a));
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		CLEANUP(freep) char *path = xasprintf("%s/%s", dir, files[i]);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_mode & 0777, 0600);
	}
	assert_int_equal(apiserver_auth_open(dir, &b, err, sizeof(err)), 0);
	assert_string_equal(apiserver_auth_user_token(a), apiserver_auth_user_token(b));
	assert_string_equal(apiserver_auth_system_token(a), apiserver_auth_system_token(b));
	apiserver_auth_free(b);
	/* One that is cut off is no token any more. */
	CLEANUP(freep) char *path = xasprintf("%s/%s", dir, files[0]);
	assert_int_equal(truncate(path, 10), 0);
	assert_int_equal(apiserver_auth_open(dir, &b, err, sizeof(err)), 0);
	assert_int_equal(strlen(apiserver_auth_user_token(b)), 64);
	assert_string_not_equal(apiserver_auth_user_token(a), apiserver_auth_user_token(b));
	apiserver_auth_free(a);
	apiserver_auth_free(b);
	apiserver_auth_free(NULL);
	dir_done(dir);
	assert_true(apiserver_auth_open("/nonexistent", &a, err, sizeof(err)) < 0);
	assert_string_equal(err,
			    "cannot write '/nonexistent/admin.token': No such file or directory");
}

static void who_is_who(void **state)
{
	struct apiserver_auth *a;
	char dir[64], err[256];
	(void)state;
	dir_init(dir);
	assert_int_equal(apiserver_auth_open(dir, &a, err, sizeof(err)), 0);
	const char *user = apiserver_auth_user_token(a), *own = apiserver_auth_system_token(a);
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
		const struct apiserver_identity *who = apiserver_auth_who(a, header);
		if (rows[i].who == NULL)
			assert_null(who);
		else
			assert_string_equal(who->user, rows[i].who);
		if (who != NULL)
			assert_int_equal(who->system, who->user[0] == 's');
	}
	CLEANUP(freep) char *longer = xasprintf("Bearer %sx", user);
	assert_null(apiserver_auth_who(a, longer));
	assert_null(apiserver_auth_who(a, NULL));
	apiserver_auth_free(a);
	dir_done(dir);
}

static const char *const no_groups[] = { NULL };
static const struct apiserver_identity admin = { .user = "admin", .groups = no_groups };
static const struct apiserver_identity self = { .user = "s", .groups = no_groups, .system = true };

static struct apiserver_action action(const char *verb, const char *group, const char *resource,
				      const char *sub, const char *ns)
{
	return (struct apiserver_action){ verb, group, resource, sub, ns, "", "" };
}

static void what_the_user_may(void **state)
{
	static const struct {
		const char *verb, *group, *resource, *sub;
		bool may;
	} rows[] = {
		{ "create", "", "configmaps", "", true },
		{ "deletecollection", "k8s.ovn.org", "egressfirewalls", "", true },
		{ "get", "k8s.ovn.org", "dnsnames", "", true },
		{ "watch", "k8s.ovn.org", "dnsnames", "", true },
		{ "create", "k8s.ovn.org", "dnsnames", "", false },
		{ "delete", "k8s.ovn.org", "dnsnames", "", false },
		{ "get", "", "pods", "status", true },
		{ "patch", "", "pods", "status", true },
		{ "update", "", "services", "status", true },
		{ "update", "", "nodes", "status", true },
		{ "update", "", "namespaces", "status", false },
		{ "update", "", "*", "status", false },
		{ "update", "*", "pods", "status", false },
		{ "update", "operator.openshift.io", "dnses", "status", false },
		{ "create", "", "pods", "exec", true }, /* refused elsewhere, with a sentence */
		{ "*", "", "pods", "", true },
		{ "*", "*", "*", "", false },
		{ "list", "*", "*", "", true },
		{ "update", "*", "dnsnames", "", false },
		{ "impersonate", "", "users", "", false },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct apiserver_action a = action(rows[i].verb, rows[i].group,
							 rows[i].resource, rows[i].sub, "default");
		if (apiserver_may(&admin, &a) != rows[i].may)
			fail_msg("%s %s", a.verb, a.resource);
		assert_int_equal(apiserver_may_user(NULL, "admin", &a), rows[i].may);
		assert_true(apiserver_may(&self, &a));
		assert_true(apiserver_may_user(NULL, "system:fairlead", &a));
		assert_false(apiserver_may_user(NULL, "eve", &a));
	}
	struct apiserver_action path = action("get", "", "", "", "");
	path.path = "/metrics";
	assert_true(apiserver_may(&admin, &path));
	path.verb = "create";
	assert_false(apiserver_may(&admin, &path));
}

static void refusals_as_rbac_words_them(void **state)
{
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	struct apiserver_action a = action("create", "k8s.ovn.org", "dnsnames", "", "default");
	(void)state;
	apiserver_may_text(&admin, &a, &b);
	assert_string_equal(b.s, "User \"admin\" cannot create resource \"dnsnames\" in API group "
				 "\"k8s.ovn.org\" in the namespace \"default\"");
	strbuf_reset(&b);
	a = action("update", "", "nodes", "status", "");
	apiserver_may_text(&admin, &a, &b);
	assert_string_equal(b.s, "User \"admin\" cannot update resource \"nodes/status\" in API "
				 "group \"\" at the cluster scope");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tokens_last),
		cmocka_unit_test(who_is_who),
		cmocka_unit_test(what_the_user_may),
		cmocka_unit_test(refusals_as_rbac_words_them),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
