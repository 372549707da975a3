/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The Accept header: the choices of kube-apiserver 1.37 for the same headers. */
#include "apiserver/codec/accept.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/err.h"

#define META  ";v=v1;g=meta.k8s.io"
#define JSON  "application/json"
#define YAML  "application/yaml"
#define PROTO "application/vnd.kubernetes.protobuf"

enum { NONE = -1 };

static const struct {
	const char *accept;
	int form, as; /* form NONE: refused */
	const char *version;
	int watch; /* form when it is a watch */
} rows[] = {
	{ "", APISERVER_FORM_JSON, APISERVER_AS_OBJECT, "v1", APISERVER_FORM_JSON },
	{ "  ", APISERVER_FORM_JSON, APISERVER_AS_OBJECT, "v1", APISERVER_FORM_JSON },
	{ "*/*", APISERVER_FORM_JSON, APISERVER_AS_OBJECT, "v1", APISERVER_FORM_JSON },
	{ "*", APISERVER_FORM_JSON, APISERVER_AS_OBJECT, "v1", APISERVER_FORM_JSON },
	{ JSON, APISERVER_FORM_JSON, APISERVER_AS_OBJECT, "v1", APISERVER_FORM_JSON },
	{ JSON ";q=0", APISERVER_FORM_JSON, APISERVER_AS_OBJECT, "v1", APISERVER_FORM_JSON },
	{ JSON ";foo=bar", APISERVER_FORM_JSON, APISERVER_AS_OBJECT, "v1", APISERVER_FORM_JSON },
	{ JSON ";stream=watch", APISERVER_FORM_JSON, APISERVER_AS_OBJECT, "v1",
	  APISERVER_FORM_JSON },
	{ JSON ";stream=other", NONE, 0, NULL, NONE },
	{ YAML, APISERVER_FORM_YAML, APISERVER_AS_OBJECT, "v1", NONE },
	{ YAML "," JSON, APISERVER_FORM_YAML, APISERVER_AS_OBJECT, "v1", NONE },
	{ YAML ";q=0.5," JSON, APISERVER_FORM_JSON, APISERVER_AS_OBJECT, "v1",
	  APISERVER_FORM_JSON },
	{ PROTO, NONE, 0, NULL, NONE },
	{ PROTO "," JSON, APISERVER_FORM_JSON, APISERVER_AS_OBJECT, "v1", APISERVER_FORM_JSON },
	{ PROTO ",*/*", APISERVER_FORM_JSON, APISERVER_AS_OBJECT, "v1", APISERVER_FORM_JSON },
	{ "text/html,*/*;q=0.1", APISERVER_FORM_JSON, APISERVER_AS_OBJECT, "v1",
	  APISERVER_FORM_JSON },
	{ "text/plain", NONE, 0, NULL, NONE },
	{ "text/*", NONE, 0, NULL, NONE },
	{ "application/*", NONE, 0, NULL, NONE },
	{ "garbage", NONE, 0, NULL, NONE },
	{ ",;=,", NONE, 0, NULL, NONE },
	/* kubectl get */
	{ JSON ";as=Table" META "," JSON ";as=Table;v=v1beta1;g=meta.k8s.io," JSON,
	  APISERVER_FORM_JSON, APISERVER_AS_TABLE, "v1", APISERVER_FORM_JSON },
	{ JSON ";as=Table;v=v1beta1;g=meta.k8s.io", APISERVER_FORM_JSON, APISERVER_AS_TABLE,
	  "v1beta1", APISERVER_FORM_JSON },
	{ JSON "; g = meta.k8s.io ; as = Table; v=v1 ", APISERVER_FORM_JSON, APISERVER_AS_TABLE,
	  "v1", APISERVER_FORM_JSON },
	{ "*/*;as=Table" META, APISERVER_FORM_JSON, APISERVER_AS_TABLE, "v1", APISERVER_FORM_JSON },
	{ YAML ";as=Table" META, APISERVER_FORM_YAML, APISERVER_AS_TABLE, "v1", NONE },
	{ JSON ";as=Table;v=v2;g=meta.k8s.io", NONE, 0, NULL, NONE },
	{ JSON ";as=Table;v=v2;g=meta.k8s.io," JSON, APISERVER_FORM_JSON, APISERVER_AS_OBJECT, "v1",
	  APISERVER_FORM_JSON },
	{ JSON ";as=Table;v=v1;g=foo", NONE, 0, NULL, NONE },
	{ JSON ";as=Table", NONE, 0, NULL, NONE },
	{ JSON ";as=Other" META, NONE, 0, NULL, NONE },
	{ PROTO ";as=Table" META, NONE, 0, NULL, NONE },
	{ JSON ";as=Table" META ";q=0.5," YAML ";q=0.9", APISERVER_FORM_YAML, APISERVER_AS_OBJECT,
	  "v1", NONE },
	{ JSON ";as=PartialObjectMetadata" META, APISERVER_FORM_JSON, APISERVER_AS_PARTIAL, "v1",
	  APISERVER_FORM_JSON },
	{ PROTO ";as=PartialObjectMetadataList" META "," JSON
		";as=PartialObjectMetadataList;v=v1beta1;g=meta.k8s.io," JSON,
	  APISERVER_FORM_JSON, APISERVER_AS_PARTIAL_LIST, "v1beta1", APISERVER_FORM_JSON },
	/* aggregated discovery is not spoken: plain JSON */
	{ JSON ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList," JSON, APISERVER_FORM_JSON,
	  APISERVER_AS_OBJECT, "v1", APISERVER_FORM_JSON },
};

static void chooses(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct apiserver_accept a;
		CLEANUP(strbuf_done) struct strbuf err = STRBUF_INIT;
		int r = apiserver_accept_parse(rows[i].accept, APISERVER_ACCEPT_REPLY, &a, &err);
		if ((r < 0) != (rows[i].form == NONE))
			fail_msg("%s: %d", rows[i].accept, r);
		if (r == 0 && ((int)a.form != rows[i].form || (int)a.as != rows[i].as ||
			       strcmp(a.meta_version, rows[i].version) != 0))
			fail_msg("%s: %d %d %s", rows[i].accept, a.form, a.as, a.meta_version);
		if (r < 0)
			assert_string_equal(err.s, "only the following media types are accepted: "
						   "application/json, application/yaml");
		r = apiserver_accept_parse(rows[i].accept, APISERVER_ACCEPT_WATCH, &a, &err);
		if ((r < 0) != (rows[i].watch == NONE))
			fail_msg("watch %s: %d", rows[i].accept, r);
	}
}

static void the_refusal_speaks_the_clients_form(void **state)
{
	struct apiserver_accept a;
	CLEANUP(strbuf_done) struct strbuf err = STRBUF_INIT;
	(void)state;
	assert_int_equal(apiserver_accept_parse(YAML, APISERVER_ACCEPT_WATCH, &a, &err),
			 ERR_UNSUPPORTED);
	assert_int_equal(a.form, APISERVER_FORM_YAML);
	assert_string_equal(
		err.s,
		"only the following media types are accepted: application/json;stream=watch");
	assert_string_equal(apiserver_accept_type(&a), YAML);
	assert_int_equal(apiserver_accept_parse(JSON ";pretty=1", APISERVER_ACCEPT_REPLY, &a, &err),
			 0);
	assert_true(a.pretty);
	assert_string_equal(apiserver_accept_type(&a), JSON);
}

/* Only the choice counts, and only this value. */
static void omits_managed_fields(void **state)
{
	static const struct {
		const char *accept;
		bool omit;
	} headers[] = {
		{ JSON, false },
		{ JSON ";omit=managedFields", true },
		{ JSON "; omit = managedFields ;q=0.9", true },
		{ YAML ";omit=managedFields," JSON, true },
		{ JSON "," YAML ";omit=managedFields", false },
		{ JSON ";omit=managedFields;q=0.1," JSON, false },
		{ JSON ";omit=managedfields", false },
		{ JSON ";omit=metadata", false },
		{ JSON ";omit", false },
		{ PROTO ";omit=managedFields," JSON, false },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(headers); i++) {
		struct apiserver_accept a;
		CLEANUP(strbuf_done) struct strbuf err = STRBUF_INIT;
		assert_int_equal(
			apiserver_accept_parse(headers[i].accept, APISERVER_ACCEPT_REPLY, &a, &err),
			0);
		if (a.omit_managed != headers[i].omit)
			fail_msg("%s: %d", headers[i].accept, a.omit_managed);
	}
}

static void lists_are_no_objects(void **state)
{
	struct apiserver_accept a = { .as = APISERVER_AS_PARTIAL };
	CLEANUP(strbuf_done) struct strbuf err = STRBUF_INIT;
	(void)state;
	assert_int_equal(apiserver_accept_check(&a, false, "ConfigMap", &err), 0);
	assert_int_equal(apiserver_accept_check(&a, true, "ConfigMapList", &err), ERR_UNSUPPORTED);
	assert_string_equal(err.s, "you requested PartialObjectMetadata, but the requested object "
				   "is a list (ConfigMapList)");
	strbuf_reset(&err);
	a.as = APISERVER_AS_PARTIAL_LIST;
	assert_int_equal(apiserver_accept_check(&a, true, "ConfigMapList", &err), 0);
	assert_int_equal(apiserver_accept_check(&a, false, "ConfigMap", &err), ERR_UNSUPPORTED);
	assert_string_equal(err.s, "you requested PartialObjectMetadataList, but the requested "
				   "object is not a list (ConfigMap)");
	a.as = APISERVER_AS_TABLE;
	assert_int_equal(apiserver_accept_check(&a, true, "ConfigMapList", &err), 0);
}

static void clauses_are_limited(void **state)
{
	struct apiserver_accept a;
	CLEANUP(strbuf_done) struct strbuf accept = STRBUF_INIT;
	CLEANUP(strbuf_done) struct strbuf err = STRBUF_INIT;
	(void)state;
	for (int i = 0; i < APISERVER_ACCEPT_CLAUSES_MAX - 1; i++)
		strbuf_adds(&accept, "text/plain,");
	size_t n = accept.n;
	strbuf_adds(&accept, JSON);
	assert_int_equal(apiserver_accept_parse(accept.s, APISERVER_ACCEPT_REPLY, &a, &err), 0);
	accept.n = n;
	strbuf_adds(&accept, "text/plain," JSON);
	assert_int_equal(apiserver_accept_parse(accept.s, APISERVER_ACCEPT_REPLY, &a, &err),
			 ERR_UNSUPPORTED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chooses),
		cmocka_unit_test(the_refusal_speaks_the_clients_form),
		cmocka_unit_test(omits_managed_fields),
		cmocka_unit_test(lists_are_no_objects),
		cmocka_unit_test(clauses_are_limited),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
