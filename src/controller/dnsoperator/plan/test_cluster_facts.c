/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Facts read from the cluster's objects: gate, families, and whether the CRD keeps
 * templates. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/err.h"
#include "controller/dnsoperator/plan/cluster_facts.h"
#include "controller/shared/feature_gate.h"

static const struct {
	enum dnsoperator_platform p;
	const char *flag, *object, *version;
	enum dnsoperator_gate want;
} gates[] = {
	{ DNSOPERATOR_OPENSHIFT, "", NULL, "", DNSOPERATOR_GATE_OFF },
	{ DNSOPERATOR_KUBERNETES, "", NULL, "", DNSOPERATOR_GATE_ON },
	{ DNSOPERATOR_MICROSHIFT, "", NULL, "", DNSOPERATOR_GATE_ON },
	{ DNSOPERATOR_MACHINE, "", NULL, "", DNSOPERATOR_GATE_ON },
	{ DNSOPERATOR_OPENSHIFT, "DNSTemplatePlugin=true", NULL, "", DNSOPERATOR_GATE_ON },
	{ DNSOPERATOR_OPENSHIFT, "DNSTemplatePlugins=true", NULL, "", DNSOPERATOR_GATE_OFF },
	{ DNSOPERATOR_KUBERNETES, "A=true, DNSTemplatePlugin = False", NULL, "",
	  DNSOPERATOR_GATE_OFF },
	{ DNSOPERATOR_KUBERNETES, "DNSTemplatePlugin=false,DNSTemplatePlugin=true", NULL, "",
	  DNSOPERATOR_GATE_ON },
	{ DNSOPERATOR_OPENSHIFT, "",
	  "{\"status\":{\"featureGates\":[{\"version\":\"1\",\"enabled\":[{\"name\":"
	  "\"DNSTemplatePlugin\"}]}]}}",
	  "", DNSOPERATOR_GATE_ON },
	{ DNSOPERATOR_OPENSHIFT, "",
	  "{\"status\":{\"featureGates\":[{\"version\":\"1\",\"enabled\":[{\"name\":"
	  "\"DNSTemplatePlugin\"}]}]}}",
	  "2", DNSOPERATOR_GATE_OFF },
	{ DNSOPERATOR_OPENSHIFT, "",
	  "{\"spec\":{\"featureSet\":\"CustomNoUpgrade\",\"customNoUpgrade\":{\"enabled\":["
	  "\"DNSTemplatePlugin\"]}},\"status\":{\"featureGates\":[{\"version\":\"1\"}]}}",
	  "1", DNSOPERATOR_GATE_ON },
	/* the gate belongs to the feature set, whose list is the operator's own */
	{ DNSOPERATOR_OPENSHIFT, "", "{\"spec\":{\"featureSet\":\"TechPreviewNoUpgrade\"}}", "",
	  DNSOPERATOR_GATE_ON },
	{ DNSOPERATOR_OPENSHIFT, "", "{\"spec\":{\"featureSet\":\"DevPreviewNoUpgrade\"}}", "",
	  DNSOPERATOR_GATE_ON },
	{ DNSOPERATOR_OPENSHIFT, "",
	  "{\"spec\":{\"featureSet\":\"TechPreviewNoUpgrade\"},\"status\":{\"featureGates\":[{"
	  "\"version\":\"1\",\"enabled\":[{\"name\":\"Other\"}]}]}}",
	  "1", DNSOPERATOR_GATE_ON },
	{ DNSOPERATOR_OPENSHIFT, "",
	  "{\"spec\":{\"featureSet\":\"TechPreviewNoUpgrade\"},\"status\":{\"featureGates\":[{"
	  "\"version\":\"1\",\"disabled\":[{\"name\":\"DNSTemplatePlugin\"}]}]}}",
	  "1", DNSOPERATOR_GATE_OFF },
	{ DNSOPERATOR_OPENSHIFT, "DNSTemplatePlugin=false",
	  "{\"spec\":{\"featureSet\":\"TechPreviewNoUpgrade\"}}", "", DNSOPERATOR_GATE_OFF },
	{ DNSOPERATOR_OPENSHIFT, "", "{\"spec\":{\"featureSet\":\"LatencySensitive\"}}", "",
	  DNSOPERATOR_GATE_OFF },
	/* lists of another feature set are not read */
	{ DNSOPERATOR_OPENSHIFT, "",
	  "{\"spec\":{\"featureSet\":\"OKD\",\"customNoUpgrade\":{\"enabled\":["
	  "\"DNSTemplatePlugin\"]}}}",
	  "", DNSOPERATOR_GATE_OFF },
	{ DNSOPERATOR_KUBERNETES, "",
	  "{\"spec\":{\"featureSet\":\"CustomNoUpgrade\",\"customNoUpgrade\":{\"disabled\":["
	  "\"DNSTemplatePlugin\"]}}}",
	  "", DNSOPERATOR_GATE_OFF },
};

static void gate(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(gates); i++) {
		json_t *o = gates[i].object != NULL ? json_loads(gates[i].object, 0, NULL) : NULL;
		assert_int_equal(o != NULL, gates[i].object != NULL);
		enum dnsoperator_gate_source source;
		assert_int_equal(dnsoperator_gate_of(gates[i].p, gates[i].flag, o, gates[i].version,
						     &source),
				 gates[i].want);
		if (feature_gate_by_flag(gates[i].flag, "DNSTemplatePlugin") >= 0)
			assert_int_equal(source, DNSOPERATOR_GATE_BY_FLAG);
		else if (o == NULL)
			assert_int_equal(source, DNSOPERATOR_GATE_BY_PLATFORM);
		json_decref(o);
	}
}

static const struct {
	const char *spec;
	enum dnsoperator_keeps want;
} crds[] = {
	{ "{\"properties\":{\"templates\":{}}}", DNSOPERATOR_KEEPS },
	{ "{\"properties\":{\"servers\":{}}}", DNSOPERATOR_PRUNES },
	{ "{\"x-kubernetes-preserve-unknown-fields\":true}", DNSOPERATOR_KEEPS },
};

static void crd_keeps(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(crds); i++) {
		json_t *crd = json_pack("{s{s[{ss}{ss,s{s{s{so}}}}]}}", "spec", "versions", "name",
					"v0", "name", "v1", "schema", "openAPIV3Schema",
					"properties", "spec", json_loads(crds[i].spec, 0, NULL));
		assert_non_null(crd);
		assert_int_equal(dnsoperator_keeps_of(crd), crds[i].want);
		json_decref(crd);
	}
	assert_int_equal(dnsoperator_keeps_of(NULL), DNSOPERATOR_KEEPS_UNKNOWN);
}

/* On OpenShift only the object Network is used; elsewhere it is one of several. */
static void families(void **state)
{
	(void)state;
	json_t *node = json_pack("[{s{s[s]}}]", "spec", "podCIDRs", "fd00::/64");
	json_t *service = json_pack("{s{s[s]}}", "spec", "clusterIPs", "None");
	struct dnsoperator_network n = { .nodes = node, .service = service };
	struct dnsoperator_families f = dnsoperator_families_of(DNSOPERATOR_OPENSHIFT, &n);
	assert_true(!f.known && f.v4 && f.v6);
	f = dnsoperator_families_of(DNSOPERATOR_KUBERNETES, &n);
	assert_true(f.known && !f.v4 && f.v6);
	n.nodes = NULL;
	f = dnsoperator_families_of(DNSOPERATOR_KUBERNETES, &n);
	assert_true(!f.known && f.v4 && f.v6);
	json_decref(node);
	json_decref(service);
}

static void platforms(void **state)
{
	(void)state;
	assert_int_equal(dnsoperator_platform_find("openshift"), DNSOPERATOR_OPENSHIFT);
	assert_int_equal(dnsoperator_platform_find("machine"), DNSOPERATOR_MACHINE);
	assert_int_equal(dnsoperator_platform_find("gardener"), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gate),
		cmocka_unit_test(crd_keeps),
		cmocka_unit_test(families),
		cmocka_unit_test(platforms),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
