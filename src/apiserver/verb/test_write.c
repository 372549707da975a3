/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All ways to write an object, with a failure at each step. */
#include "apiserver/verb/write.h"

#include "api/apply/managed.h"
#include "apiserver/test_api.h"

enum { KEYS = API_MANAGED_FIELDS_MAX + 10 };

#define CMS	 "/api/v1/namespaces/default/configmaps"
#define CLUSTERS "/apis/extensions.gardener.cloud/v1alpha1/clusters"

static const struct {
	const char *method, *type;
	bool built_in; /* for built-in kinds; a PUT to others must name a version */
	bool makes;    /* missing objects */
} paths[] = {
	{ "POST", "application/json", false, true },
	{ "PUT", "application/json", true, false },
	{ "PATCH", "application/merge-patch+json", false, false },
	{ "PATCH", "application/strategic-merge-patch+json", true, false },
	{ "PATCH", "application/apply-patch+yaml", false, true },
};

/* A ConfigMap with more keys than managedFields name. */
static char *wide_body(const char *name)
{
	struct strbuf text = STRBUF_INIT;
	strbuf_addf(&text,
		    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"%s\"},"
		    "\"data\":{",
		    name);
	for (int i = 0; i < KEYS; i++)
		strbuf_addf(&text, "%s\"%x\":\"\"", i != 0 ? "," : "", i);
	strbuf_adds(&text, "}}");
	return strbuf_take(&text);
}

/* A custom resource whose open part is nested deeper than managedFields go. */
static char *deep_body(const char *name)
{
	struct strbuf text = STRBUF_INIT;
	strbuf_addf(&text,
		    "{\"apiVersion\":\"extensions.gardener.cloud/v1alpha1\",\"kind\":\"Cluster\","
		    "\"metadata\":{\"name\":\"%s\"},\"spec\":{\"cloudProfile\":{},\"seed\":{},"
		    "\"shoot\":",
		    name);
	for (int i = 0; i < API_MANAGED_DEPTH_MAX; i++)
		strbuf_adds(&text, "{\"a\":");
	strbuf_adds(&text, "1");
	for (int i = 0; i < API_MANAGED_DEPTH_MAX + 2; i++)
		strbuf_addc(&text, '}');
	return strbuf_take(&text);
}

/* `exists`: an object of the name exists. */
static void refuse_on_all_paths(struct fixture *f, const char *collection, const char *body,
				bool exists)
{
	const bool built_in = strncmp(collection, "/api/", 5) == 0;
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		const char *name = strcmp(paths[i].method, "POST") == 0 ? "" : "/a";
		CLEANUP(freep)
		char *target =
			xasprintf("%s %s%s?fieldManager=m", paths[i].method, collection, name);
		if ((!built_in && paths[i].built_in) || (!exists && !paths[i].makes))
			continue;
		json_t *o = ask_type(f, 413, target, paths[i].type, body);
		assert_non_null(strstr(api_get_string(o, "message"), "more than 100000 fields"));
		json_decref(o);
	}
}

/* The object that cannot be managed is released once, whichever way it came. */
static void too_many_fields(void **state)
{
	struct fixture *f = *state;
	CLEANUP(freep) char *body = wide_body("a");
	refuse_on_all_paths(f, CMS, body, false);
	does(f, 201, "POST " CMS, "{\"metadata\":{\"name\":\"a\"}}");
	refuse_on_all_paths(f, CMS, body, true);
	does(f, 200, "GET " CMS "/a", NULL);
}

static void too_deep(void **state)
{
	struct fixture *f = *state;
	CLEANUP(freep) char *body = deep_body("a");
	refuse_on_all_paths(f, CLUSTERS, body, false);
	does(f, 201, "POST " CLUSTERS,
	     "{\"apiVersion\":\"extensions.gardener.cloud/v1alpha1\",\"kind\":\"Cluster\","
	     "\"metadata\":{\"name\":\"a\"},\"spec\":{\"cloudProfile\":{},\"seed\":{},"
	     "\"shoot\":{}}}");
	refuse_on_all_paths(f, CLUSTERS, body, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(too_many_fields, setup, teardown),
		cmocka_unit_test_setup_teardown(too_deep, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
