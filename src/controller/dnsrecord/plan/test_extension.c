/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Deployments of extensions: which classes of DNSRecords they publish (DR-R1). */
#include "controller/dnsrecord/plan/extension.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/mem.h"
#include "provider/provider.h"

#define POD(containers)  \
	"\"template\":{" \
	"\"spec\":{\"containers\":[" containers "]}}"

static const struct {
	const char *spec, *status, *classes;
} rows[] = {
	{ POD(""), "", "shoot" },
	{ POD("{\"args\":[\"--heartbeat-namespace=x\"]}"), "", "shoot" },
	{ POD("{\"args\":[\"--extension-classes=seed,shoot\"]}"), "", "seed,shoot" },
	{ POD("{\"command\":[\"/x\",\"--extension-classes\",\"garden\"]}"), "", "garden" },
	{ POD("{\"args\":[\"--extension-classes=seed\",\"--extension-classes=shoot\"]}"), "",
	  "seed,shoot" },
	{ POD("{},{\"args\":[\"--extension-classes=garden\"]}"), "", "garden" },
	{ POD("{\"args\":[\"--disable-controllers=worker\"]}"), "", "shoot" },
	{ POD("{\"args\":[\"--disable-controllers=\"]}"), "", "shoot" },
	{ POD("{\"args\":[\"--disable-controllers=worker,dnsrecord\"]}"), "", "" },
	{ POD("{\"args\":[\"--disable-controllers\",\"dnsrecord\"]}"), "", "" },
	{ POD("{\"args\":[\"--disable-controllers-too=dnsrecord\"]}"), "", "shoot" },
	{ POD("{\"args\":[\"--controllers=worker\"]}"), "", "" },
	{ POD("{\"args\":[\"--controllers=worker,dnsrecord\"]}"), "", "shoot" },
	{ POD("{\"args\":[\"--disable-controllers\"]}"), "", "shoot" },
	{ POD("{\"args\":[3,null]}"), "", "shoot" },
	{ "\"replicas\":0," POD(""), "", "" },
	{ "\"replicas\":0," POD(""), "\"replicas\":1", "shoot" }, /* its pods are ending */
};

static void classes(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(freep)
		char *text =
			xasprintf("{\"spec\":{%s},\"status\":{%s}}", rows[i].spec, rows[i].status);
		json_t *deployment = json_loads(text, 0, NULL);
		assert_non_null(deployment);
		CLEANUP(freep) char *found = dnsrecord_extension_classes(deployment);
		if (strcmp(found, rows[i].classes) != 0)
			fail_msg("%s: '%s'", text, found);
		json_decref(deployment);
	}
	CLEANUP(freep) char *any = dnsrecord_extension_classes(NULL);
	assert_string_equal(any, "garden,seed,shoot");
}

/* One Lease must not stop us for years. */
static void durations(void **state)
{
	static const struct {
		const char *spec;
		uint64_t s;
	} cases[] = {
		{ "", 30 },
		{ "\"leaseDurationSeconds\":\"5\"", 30 },
		{ "\"leaseDurationSeconds\":-1", 30 },
		{ "\"leaseDurationSeconds\":0", 30 },
		{ "\"leaseDurationSeconds\":1", 1 },
		{ "\"leaseDurationSeconds\":60", 60 },
		{ "\"leaseDurationSeconds\":61", 60 },
		{ "\"leaseDurationSeconds\":2000000000", 60 },
		{ "\"leaseDurationSeconds\":9223372036854775807", 60 },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		CLEANUP(freep) char *text = xasprintf("{\"spec\":{%s}}", cases[i].spec);
		json_t *lease = json_loads(text, 0, NULL);
		assert_non_null(lease);
		if (dnsrecord_extension_duration_ns(lease) != cases[i].s * NS_PER_S)
			fail_msg("%s", text);
		json_decref(lease);
	}
}

static bool has_extension(const char *type)
{
	static const char *const names[] = { "provider-local", "dns-powerdns", "dns-rfc2136" };
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (strcmp(dnsrecord_extension_find(names[i])->type, type) == 0)
			return true;
	}
	return false;
}

/* Whoever adds a provider adds the extension that has its type, here and to deploy/rbac/dnsrecord.yaml. */
static void types(void **state)
{
	(void)state;
	assert_null(dnsrecord_extension_find("provider-unknown"));
	assert_null(dnsrecord_extension_find(""));
	for (size_t i = 0; provider_list[i] != NULL; i++)
		assert_true(provider_list[i]->caps.is_for_tests ||
			    has_extension(provider_list[i]->type));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(classes),
		cmocka_unit_test(durations),
		cmocka_unit_test(types),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
