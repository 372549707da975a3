/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which bundles a spec names, which are good, and what becomes of them. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/meta.h"
#include "base/err.h"
#include "base/err_text.h"
#include "controller/dnsoperator/plan/ca_bundle.h"
#include "net/certgen.h"

static json_t *transport(const char *kind, const char *name)
{
	return json_pack("{ss,s{ss,s{ss}}}", "transport", kind, "tls", "serverName", "s.example",
			 "caBundle", "name", name);
}

static json_t *server(const char *kind, const char *name)
{
	return json_pack("{s{so}}", "forwardPlugin", "transportConfig", transport(kind, name));
}

/* OP-D5: CA bundles are named by upstreams over TLS only, each once, and only by valid names of
 * ConfigMaps. */
static void names(void **state)
{
	(void)state;
	json_t *spec = json_pack("{s[ooooo],s{so}}", "servers", server("TLS", "a"),
				 server("Cleartext", "b"), server("TLS", "../c"), server("TLS", ""),
				 server("TLS", "d"), "upstreamResolvers", "transportConfig",
				 transport("TLS", "a"));
	dnsoperator_names got = { 0 };
	dnsoperator_ca_names(spec, &got);
	assert_int_equal(got.n, 2);
	assert_true(dnsoperator_ca_has(&got, "a") && dnsoperator_ca_has(&got, "d"));
	assert_false(dnsoperator_ca_has(&got, "b"));
	dnsoperator_ca_names(NULL, &got);
	dnsoperator_ca_names(json_object_get(spec, "servers"), &got);
	assert_int_equal(got.n, 2);
	vec_done(&got);
	json_decref(spec);
}

static json_t *source(const char *key, const char *text)
{
	return json_pack("{s{ss,ss},s{ss}}", "metadata", "name", "corp", "namespace",
			 DNSOPERATOR_CA_NS, "data", key, text);
}

static const char *error_of(const char *key, const char *text)
{
	json_t *o = source(key, text);
	const char *why = dnsoperator_ca_error(o);
	json_decref(o);
	return why != NULL ? why : "";
}

static void authority(struct strbuf *cert)
{
	struct strbuf key = STRBUF_INIT;
	char err[200];
	const struct net_certgen g = { .cn = "corp", .not_after_s = 1u << 30, .ca = true };
	assert_int_equal(net_certgen(&g, cert, &key, ERR_TEXT(err)), 0);
	strbuf_done(&key);
}

/* 1.5: a missing one is a sentence; so is what would make servers refuse the whole text. */
static void good_and_bad(void **state)
{
	(void)state;
	struct strbuf pem = STRBUF_INIT;
	authority(&pem);
	assert_string_equal(dnsoperator_ca_error(NULL), "is missing");
	assert_string_equal(error_of("ca.crt", pem.s), "has no key ca-bundle.crt");
	assert_non_null(strstr(error_of(DNSOPERATOR_CA_KEY, "hello"), "PEM"));
	assert_non_null(strstr(error_of(DNSOPERATOR_CA_KEY, ""), "PEM"));
	assert_string_equal(error_of(DNSOPERATOR_CA_KEY, pem.s), "");
	authority(&pem);
	assert_int_equal(net_certs_count(strbuf_slice(&pem)), 2);
	assert_string_equal(error_of(DNSOPERATOR_CA_KEY, pem.s), "");
	/* one of them cut short */
	strbuf_adds(&pem, "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n");
	assert_non_null(strstr(error_of(DNSOPERATOR_CA_KEY, pem.s), "PEM"));
	strbuf_done(&pem);
}

static void copies(void **state)
{
	(void)state;
	json_t *dns = json_pack("{ss,ss,s{ss,ss}}", "apiVersion", "operator.openshift.io/v1",
				"kind", "DNS", "metadata", "name", "default", "uid", "u-1");
	json_t *o = source(DNSOPERATOR_CA_KEY, "pem");
	json_t *copy = dnsoperator_ca_copy(o, dns, "openshift-dns");
	assert_non_null(copy);
	assert_string_equal(api_name(copy), "ca-corp");
	assert_string_equal(api_namespace(copy), "openshift-dns");
	assert_true(dnsoperator_ca_is_copy(copy));
	assert_false(dnsoperator_ca_is_copy(o));
	assert_string_equal(api_get_string(copy, "metadata.ownerReferences[0].uid"), "u-1");
	/* the label alone is not enough to be deleted */
	json_object_set_new(json_object_get(copy, "metadata"), "name", json_string("corp"));
	assert_false(dnsoperator_ca_is_copy(copy));
	json_decref(copy);
	json_decref(o);
	json_decref(dns);
}

/* Where nothing mounts them they are refused, with the field. */
static void platforms(void **state)
{
	(void)state;
	json_t *spec =
		json_pack("{s[oo],s{so}}", "servers", server("Cleartext", "a"), server("TLS", "b"),
			  "upstreamResolvers", "transportConfig", transport("TLS", "c"));
	for (int p = 0; p < DNSOPERATOR_PLATFORM_COUNT; p++) {
		struct dnsoperator_problems problems = { 0 };
		struct dnsoperator_routes routes;
		struct api_errors errs = { 0 };
		struct arena a;
		arena_init(&a);
		dnsoperator_routes_read(spec, &a, &routes, &errs);
		int r = dnsoperator_ca_check(&routes, (enum dnsoperator_platform)p, &problems);
		if (dnsoperator_sites[p].bundles) {
			assert_int_equal(r, 0);
			assert_int_equal(problems.n, 0);
		} else {
			assert_int_equal(r, ERR_CONFIG);
			assert_int_equal(problems.n, 2);
			assert_string_equal(problems.v[0].field,
					    "spec.servers[1].forwardPlugin.transportConfig.tls."
					    "caBundle.name");
			assert_string_equal(problems.v[1].value, "\"c\"");
		}
		dnsoperator_problems_done(&problems);
		api_errors_done(&errs);
		arena_done(&a);
	}
	json_decref(spec);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(good_and_bad),
		cmocka_unit_test(copies),
		cmocka_unit_test(platforms),
	};
	return cmocka_run_group_tests_name("controller/dnsoperator/cabundle", tests, NULL, NULL);
}
