/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kinds by name, by word and by object, and their paths. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/kind.h"

static void rows_are_sound(void **state)
{
	(void)state;
	for (size_t i = 0; i < api_n_kinds; i++) {
		const struct api_kind *k = &api_kinds[i];
		assert_ptr_equal(api_kind_find(k->group, k->kind), k); /* no row twice */
		assert_true(k->plural[0] != '\0' && k->singular[0] != '\0');
		assert_true(!k->ours || k->group[0] != '\0');
	}
	assert_null(api_kind_find("", "Nothing"));
	assert_null(api_kind_find("x", "Pod"));
}

static void words(void **state)
{
	static const struct {
		const char *word, *kind, *group; /* NULL: none */
		bool ambiguous;
	} rows[] = {
		{ "po", "Pod", "", false },
		{ "Pods", "Pod", "", false },
		{ "svc", "Service", "", false },
		{ "dnses", "DNS", "operator.openshift.io", false },
		{ "dns.operator.openshift.io", "DNS", "operator.openshift.io", false },
		{ "dns", "DNS", "operator.openshift.io", false }, /* also a short name of another */
		{ "events", "Event", "events.k8s.io", false },
		{ "events.", "Event", "", false },
		{ "clusters", NULL, NULL, true },
		{ "clusters.cluster.x-k8s.io", "Cluster", "cluster.x-k8s.io", false },
		{ "crds", "CustomResourceDefinition", "apiextensions.k8s.io", false },
		{ "po.x", NULL, NULL, false },
		{ "", NULL, NULL, false },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		bool ambiguous;
		const struct api_kind *k = api_kind_by_word(rows[i].word, &ambiguous);
		if ((k == NULL) != (rows[i].kind == NULL) || ambiguous != rows[i].ambiguous)
			fail_msg("%s", rows[i].word);
		if (k != NULL) {
			assert_string_equal(k->kind, rows[i].kind);
			assert_string_equal(k->group, rows[i].group);
		}
	}
}

static void objects_and_paths(void **state)
{
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	json_t *o = json_pack("{ss,ss}", "apiVersion", "operator.openshift.io/v1", "kind", "DNS");
	json_t *pod = json_pack("{ss,ss}", "apiVersion", "v1", "kind", "Pod");
	(void)state;
	assert_string_equal(api_kind_of(o)->plural, "dnses");
	assert_string_equal(api_kind_of(pod)->plural, "pods");
	api_kind_path(&b, api_kind_of(o), "ignored", "default", "status");
	assert_string_equal(b.s, "/apis/operator.openshift.io/v1/dnses/default/status");
	strbuf_reset(&b);
	api_kind_path(&b, api_kind_of(pod), "ns", NULL, NULL);
	assert_string_equal(b.s, "/api/v1/namespaces/ns/pods");
	strbuf_reset(&b);
	api_kind_path(&b, api_kind_of(pod), NULL, NULL, NULL);
	assert_string_equal(b.s, "/api/v1/pods");
	strbuf_reset(&b);
	api_kind_path(&b, api_kind_of(pod), "a/b", "c d%", NULL);
	assert_string_equal(b.s, "/api/v1/namespaces/a%2Fb/pods/c%20d%25");
	json_decref(o);
	json_decref(pod);
	o = json_pack("{ss}", "kind", "Pod");
	assert_null(api_kind_of(o));
	json_decref(o);
}

/* What kube-apiserver takes for a name in a path. */
static void names_in_paths(void **state)
{
	(void)state;
	assert_true(api_name_is_path_segment("a"));
	assert_true(api_name_is_path_segment("system:node:x..y"));
	assert_true(api_name_is_path_segment("..."));
	assert_false(api_name_is_path_segment(""));
	assert_false(api_name_is_path_segment("."));
	assert_false(api_name_is_path_segment(".."));
	assert_false(api_name_is_path_segment("a/b"));
	assert_false(api_name_is_path_segment("%2e%2e"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_sound),
		cmocka_unit_test(words),
		cmocka_unit_test(objects_and_paths),
		cmocka_unit_test(names_in_paths),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
