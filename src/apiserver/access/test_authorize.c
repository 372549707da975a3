/* Requests as actions, and which of them are allowed: a path has one meaning, however it is
 * spelled.
 */
#include "apiserver/access/authorize.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

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
	struct apiserver_wish wish;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct apiserver_call call = { .method = rows[i].method,
						     .path = rows[i].path };
		const struct apiserver_action *a = &wish.action;
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
		assert_true(apiserver_wish_read(&call, &wish));
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
	struct apiserver_wish wish;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(objects) * ARRAY_LEN(between) * ARRAY_LEN(behind); i++) {
		const size_t k = i / ARRAY_LEN(objects);
		CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
		strbuf_addf(&path, "%s%sstatus%s", objects[i % ARRAY_LEN(objects)],
			    between[k % ARRAY_LEN(between)], behind[k / ARRAY_LEN(between)]);
		const struct apiserver_call call = { .method = HTTP_PATCH, .path = path.s };
		if (!apiserver_wish_read(&call, &wish))
			continue;
		const struct apiserver_route *route = &wish.route;
		bool writes = route->r != NULL && route->name != NULL &&
			      strcmp(route->sub, "status") == 0;
		if (writes && apiserver_may(&user, &wish.action))
			fail_msg("%s is allowed", path.s);
		assert_string_equal(wish.action.subresource, route->sub);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(actions),
		cmocka_unit_test(one_meaning),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
