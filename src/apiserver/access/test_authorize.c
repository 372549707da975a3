/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Authorization: the action that a request asks for, who may do it, and that no spelling of a path
 * gets around a rule. */
#include "apiserver/access/authorize.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/meta.h"
#include "base/compiler.h"

#define FIREWALL "/apis/k8s.ovn.org/v1/namespaces/a/egressfirewalls/default"
#define NODE	 "/api/v1/nodes/n"

static const struct apiserver_identity user = { .user = "admin" };

/* verb, group, resource, subresource, namespace, name in one text */
static void actions(void **state)
{
	static const struct {
		enum http_method method;
		const char *path, *action;
	} rows[] = {
		{ HTTP_GET, "/api/v1/namespaces", "list||namespaces|||" },
		{ HTTP_GET, "/api/v1/namespaces/a", "get||namespaces||a|a" },
		{ HTTP_PUT, "/api/v1/namespaces/a/status", "update||namespaces|status|a|a" },
		{ HTTP_PUT, "/api/v1/namespaces/a/finalize/", "update||namespaces|finalize|a|a" },
		{ HTTP_GET, "/api/v1/namespaces/a/pods", "list||pods||a|" },
		{ HTTP_POST, "/api/v1/namespaces/a/pods/", "create||pods||a|" },
		{ HTTP_DELETE, "/api/v1/namespaces/a/pods", "deletecollection||pods||a|" },
		{ HTTP_DELETE, "/api/v1/namespaces/a/pods/b", "delete||pods||a|b" },
		{ HTTP_GET, "/api/v1/namespaces/a/pods/b/proxy/x/y", "get||pods|proxy|a|b" },
		{ HTTP_PATCH, NODE "/status", "patch||nodes|status||n" },
		{ HTTP_PATCH, NODE "/status/", "patch||nodes|status||n" },
		{ HTTP_PATCH, FIREWALL "/status",
		  "patch|k8s.ovn.org|egressfirewalls|status|a|default" },
		{ HTTP_PATCH, FIREWALL "/status/",
		  "patch|k8s.ovn.org|egressfirewalls|status|a|default" },
		{ HTTP_PATCH, FIREWALL "/status//",
		  "patch|k8s.ovn.org|egressfirewalls|status|a|default" },
		{ HTTP_PATCH, FIREWALL "/status/x/y/z",
		  "patch|k8s.ovn.org|egressfirewalls|status|a|default" },
	};
	struct apiserver_attributes attributes;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct apiserver_call call = { .method = rows[i].method,
						     .path = rows[i].path };
		const struct apiserver_action *a = &attributes.action;
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
		assert_true(apiserver_authorize_read_call(&call, &attributes));
		strbuf_addf(&text, "%s|%s|%s|%s|%s|%s", a->verb, a->group, a->resource,
			    a->subresource, a->ns, a->name);
		assert_string_equal(text.s, rows[i].action);
	}
}

/* Whatever is put before, between or behind the parts: what is then routed to a status is what
 * the user may not write. */
static void one_meaning(void **state)
{
	static const char *const objects[] = { FIREWALL, "/api/v1/namespaces/a",
					       "/apis/operator.openshift.io/v1/dnses/default" };
	static const char *const between[] = { "/", "//", "/./", "/../", "/status/", "/x/" };
	static const char *const behind[] = { "", "/", "//", "/.", "/..", "/status", "/x", "/x/" };
	struct apiserver_attributes attributes;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(objects) * ARRAY_LEN(between) * ARRAY_LEN(behind); i++) {
		const size_t k = i / ARRAY_LEN(objects);
		CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
		strbuf_addf(&path, "%s%sstatus%s", objects[i % ARRAY_LEN(objects)],
			    between[k % ARRAY_LEN(between)], behind[k / ARRAY_LEN(between)]);
		const struct apiserver_call call = { .method = HTTP_PATCH, .path = path.s };
		if (!apiserver_authorize_read_call(&call, &attributes))
			continue;
		const struct apiserver_route *route = &attributes.route;
		bool writes = route->resource != NULL && route->name != NULL &&
			      strcmp(route->subresource, "status") == 0;
		if (writes && apiserver_authorize(&user, &attributes.action))
			fail_msg("%s is allowed", path.s);
		assert_string_equal(attributes.action.subresource, route->subresource);
	}
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
		const char *verb, *group, *resource, *subresource;
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
		{ "*", "", "*", "", false },
		{ "patch", "", "*", "", false },
		{ "list", "*", "*", "", true },
		{ "update", "*", "dnsnames", "", false },
		{ "impersonate", "", "users", "", false },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct apiserver_action a =
			action(rows[i].verb, rows[i].group, rows[i].resource, rows[i].subresource,
			       "default");
		if (apiserver_authorize(&admin, &a) != rows[i].may)
			fail_msg("%s %s", a.verb, a.resource);
		assert_int_equal(apiserver_authorize_user(NULL, "admin", &a), rows[i].may);
		assert_true(apiserver_authorize(&self, &a));
		assert_true(apiserver_authorize_user(NULL, "system:fairlead", &a));
		assert_false(apiserver_authorize_user(NULL, "eve", &a));
	}
	struct apiserver_action path = action("get", "", "", "", "");
	path.path = "/metrics";
	assert_true(apiserver_authorize(&admin, &path));
	path.verb = "create";
	assert_false(apiserver_authorize(&admin, &path));
}

static void expect_refusal(const struct apiserver_action *a, const char *want)
{
	struct apiserver_answer answer;
	apiserver_answer_init(&answer);
	apiserver_authorize_refuse(&admin, a, &answer);
	assert_int_equal(answer.status, 403);
	json_t *status = json_loads(answer.body.s, 0, NULL);
	assert_string_equal(api_get_string(status, "message"), want);
	json_decref(status);
	apiserver_answer_done(&answer);
}

static void refusals_as_rbac_words_them(void **state)
{
	struct apiserver_action a = action("create", "k8s.ovn.org", "dnsnames", "", "default");
	(void)state;
	expect_refusal(&a,
		       "dnsnames.k8s.ovn.org is forbidden: User \"admin\" cannot create resource "
		       "\"dnsnames\" in API group \"k8s.ovn.org\" in the namespace "
		       "\"default\"");
	a = action("update", "", "nodes", "status", "");
	a.name = "n";
	expect_refusal(&a, "nodes \"n\" is forbidden: User \"admin\" cannot update resource "
			   "\"nodes/status\" in API group \"\" at the cluster scope");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(actions),
		cmocka_unit_test(one_meaning),
		cmocka_unit_test(what_the_user_may),
		cmocka_unit_test(refusals_as_rbac_words_them),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
