/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A DNSRecord's view: Gardener's example, missing and invalid fields (DR-2, DR-3, DR-4). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/dnsrecord.h"
#include "api/yaml/yaml.h"
#include "base/err.h"
#include "base/mem.h"

struct loaded {
	struct arena arena;
	json_t *o;
	struct api_dnsrecord r;
	struct api_errors errs;
	int code;
};

static void load(struct loaded *l, const char *yaml)
{
	struct srcerr err = { 0 };
	*l = (struct loaded){ 0 };
	arena_init(&l->arena);
	assert_int_equal(api_yaml_parse_one("f", slice_of(yaml), &l->o, &err), 0);
	l->code = api_view_fill(&api_dnsrecord_view, l->o, &l->arena, &l->r, &l->errs);
}

static void unload(struct loaded *l)
{
	api_errors_done(&l->errs);
	arena_done(&l->arena);
	json_decref(l->o);
}

static void example_of_the_seed(void **state)
{
	struct loaded l;
	(void)state;
	load(&l, "apiVersion: extensions.gardener.cloud/v1alpha1\n"
		 "kind: DNSRecord\n"
		 "metadata: {name: dnsrecord-external, namespace: default}\n"
		 "spec:\n"
		 "  type: aws-route53\n"
		 "  secretRef: {name: dnsrecord-bar-external, namespace: shoot--foo--bar}\n"
		 "  name: api.bar.foo.my-fancy-domain.com\n"
		 "  recordType: A\n"
		 "  values: [1.2.3.4]\n");
	assert_int_equal(l.code, 0);
	assert_string_equal(l.r.type, "aws-route53");
	assert_string_equal(l.r.secret_name, "dnsrecord-bar-external");
	assert_string_equal(l.r.secret_namespace, "shoot--foo--bar");
	assert_string_equal(l.r.name, "api.bar.foo.my-fancy-domain.com");
	assert_int_equal(l.r.record_type, API_RECORD_A);
	assert_int_equal(l.r.values.n, 1);
	assert_string_equal(l.r.values.v[0], "1.2.3.4");
	assert_int_equal(l.r.ttl_s, 120); /* DR-4 */
	assert_string_equal(l.r.class, "");
	assert_string_equal(l.r.region, "");
	assert_string_equal(l.r.zone, "");
	assert_string_equal(l.r.status_zone, "");
	assert_null(l.r.provider_config);
	unload(&l);
}

static void everything(void **state)
{
	struct loaded l;
	(void)state;
	load(&l, "spec: {type: t, class: seed, providerConfig: {a: 1}, secretRef: {name: s}, "
		 "region: r,\n"
		 "  zone: z, name: n.example, recordType: TXT, values: ['', b], ttl: 0}\n"
		 "status: {zone: Z, observedGeneration: 3, lastOperation: {type: Create, state: "
		 "Error},\n"
		 "  conditions: [{type: Created, status: 'False', reason: Error, message: m}]}\n");
	assert_int_equal(l.code, 0);
	assert_int_equal(l.r.ttl_s, 0); /* DR-4: not 120 */
	assert_int_equal(l.r.record_type, API_RECORD_TXT);
	assert_int_equal(l.r.values.n, 2);
	assert_string_equal(l.r.class, "seed");
	assert_non_null(json_object_get(l.r.provider_config, "a"));
	assert_string_equal(l.r.status_zone, "Z");
	assert_int_equal(l.r.observed_generation, 3);
	assert_string_equal(l.r.operation_state, "Error");
	assert_int_equal(l.r.conditions.n, 1);
	const struct api_dnsrecord_condition *c = l.r.conditions.v;
	assert_string_equal(c->type, "Created");
	assert_string_equal(c->status, "False");
	unload(&l);
}

static void wrong(void **state)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	struct loaded l;
	(void)state;
	load(&l, "spec: {type: '', secretRef: {}, name: n.example, recordType: MX, values: [], "
		 "ttl: -1}\n");
	assert_int_equal(l.code, ERR_CONFIG);
	api_errors_text(&l.errs, "DNSRecord.extensions.gardener.cloud", "x", &text);
	assert_string_equal(
		text.s,
		"DNSRecord.extensions.gardener.cloud \"x\" is invalid: [spec.type: Required value, "
		"spec.secretRef.name: Required value, spec.recordType: Unsupported value: \"MX\": "
		"supported values: \"A\", \"AAAA\", \"CNAME\", \"TXT\", spec.values: Invalid "
		"value: 0: must "
		"be at least 1, spec.ttl: Invalid value: -1: must be between 0 and 2147483647]");
	unload(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(example_of_the_seed),
		cmocka_unit_test(everything),
		cmocka_unit_test(wrong),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
