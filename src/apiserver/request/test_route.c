/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parsing of request paths. */
#include "apiserver/request/route.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"

/* group, plural, namespace, name ("-" where there is none), subresource, what is below it */
static void parts(void **state)
{
	static const struct {
		const char *path, *group, *plural, *ns, *name, *subresource, *below;
		bool served;
	} rows[] = {
		{ "/api/v1/pods", "", "pods", "-", "-", "", "", true },
		{ "/api/v1/namespaces", "", "namespaces", "-", "-", "", "", true },
		{ "/api/v1/namespaces/a", "", "namespaces", "-", "a", "", "", true },
		{ "/api/v1/namespaces/a/status", "", "namespaces", "-", "a", "status", "", true },
		{ "/api/v1/namespaces/a/finalize", "", "namespaces", "-", "a", "finalize", "",
		  true },
		{ "/api/v1/namespaces/a/pods", "", "pods", "a", "-", "", "", true },
		{ "/api/v1/namespaces/a/pods/", "", "pods", "a", "-", "", "", true },
		{ "/api/v1/namespaces/a/pods/b", "", "pods", "a", "b", "", "", true },
		{ "/api/v1/namespaces/a/pods/b/log", "", "pods", "a", "b", "log", "", true },
		{ "/api/v1/namespaces/a/pods/b/proxy/x/y", "", "pods", "a", "b", "proxy", "x/y",
		  true },
		{ "/api/v1/namespaces/a/things/b", "", "things", "a", "b", "", "", false },
		{ "/api/v2/pods", "", "pods", "-", "-", "", "", false },
		{ "/apis/k8s.ovn.org/v1/dnsnames", "k8s.ovn.org", "dnsnames", "-", "-", "", "",
		  true },
		{ "/apis/operator.openshift.io/v1/dnses/a/status", "operator.openshift.io", "dnses",
		  "-", "a", "status", "", true },
		{ "/apis/k8s.ovn.org/v1/namespaces/a/egressfirewalls/default/status", "k8s.ovn.org",
		  "egressfirewalls", "a", "default", "status", "", true },
		{ "/apis/k8s.ovn.org/v1/namespaces/a/egressfirewalls/default/status/",
		  "k8s.ovn.org", "egressfirewalls", "a", "default", "status", "", true },
		{ "/apis/k8s.ovn.org/v1/namespaces/a/egressfirewalls/default/status//",
		  "k8s.ovn.org", "egressfirewalls", "a", "default", "status", "", false },
		{ "/apis/k8s.ovn.org/v1/namespaces/a/egressfirewalls/default/status/x",
		  "k8s.ovn.org", "egressfirewalls", "a", "default", "status", "x", true },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct apiserver_route r;
		assert_true(apiserver_route_parse(rows[i].path, &r));
		assert_string_equal(r.group, rows[i].group);
		assert_string_equal(r.plural, rows[i].plural);
		assert_string_equal(r.ns != NULL ? r.ns : "-", rows[i].ns);
		assert_string_equal(r.name != NULL ? r.name : "-", rows[i].name);
		assert_string_equal(r.subresource, rows[i].subresource);
		assert_string_equal(r.below, rows[i].below);
		assert_int_equal(r.resource != NULL, rows[i].served);
	}
}

static void no_paths(void **state)
{
	static const char *const rows[] = { "",	       "/",	     "/api",	 "/api/v1",
					    "/apis/a", "/apis/a/v1", "/version", "api/v1/pods" };
	char deep[64] = "/api/v1", wide[APISERVER_PATH_MAX_BYTES + 10] = "/api/v1/";
	struct apiserver_route r;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_false(apiserver_route_parse(rows[i], &r));
	for (int i = 0; i < APISERVER_PATH_PARTS_MAX - 1; i++)
		strncat(deep, "/a", sizeof(deep) - strlen(deep) - 1);
	assert_false(apiserver_route_parse(deep, &r));
	memset(wide + 8, 'a', APISERVER_PATH_MAX_BYTES - 8);
	assert_false(apiserver_route_parse(wide, &r));
	wide[APISERVER_PATH_MAX_BYTES - 1] = '\0';
	assert_true(apiserver_route_parse(wide, &r));
}

/* Valid paths without a resource; errors name only the name. */
static void odd_parts(void **state)
{
	static const struct {
		const char *path;
		bool known;
	} rows[] = {
		{ "/api/v1//pods", false },
		{ "/api/v1/../pods", false },
		{ "/api/v1/./pods", false },
		{ "/api/v1/namespaces//pods", false },
		{ "/api/v1/namespaces/../pods/a", false },
		{ "/api/v1/namespaces/x/pods/..", true },
		{ "/api/v1/namespaces/x/pods/.", true },
		{ "/api/v1/namespaces/x/pods/../pods", true },
	};
	struct apiserver_route r;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_true(apiserver_route_parse(rows[i].path, &r));
		assert_int_equal(r.resource != NULL, rows[i].known);
	}
}

static void groups(void **state)
{
	struct apiserver_route r;
	(void)state;
	assert_true(apiserver_route_parse("/apis/k8s.ovn.org/v9/things", &r));
	assert_true(r.group_known && r.custom);
	assert_true(apiserver_route_parse("/apis/discovery.k8s.io/v9/things", &r));
	assert_true(r.group_known && !r.custom);
	assert_true(apiserver_route_parse("/apis/nothing.example/v1/things", &r));
	assert_false(r.group_known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts),
		cmocka_unit_test(no_paths),
		cmocka_unit_test(odd_parts),
		cmocka_unit_test(groups),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
