/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When an object counts as settled, and when as failed. */
#include "cmd/objects/settled.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/kind.h"
#include "base/clock.h"
#include "base/compiler.h"

#define OPERATION(state)                                                             \
	"\"status\":{\"observedGeneration\":2,\"lastOperation\":{\"state\":\"" state \
	"\",\"description\":\"d\"}"
#define CONDITION(type, status, generation)                                       \
	"\"status\":{\"conditions\":[{\"type\":\"" type "\",\"status\":\"" status \
	"\",\"reason\":\"R\",\"message\":\"m\"" generation "}]}"

static void judges_objects(void **state)
{
	static const struct {
		const char *metadata, *status;
		enum settled_state state;
		const char *why;
	} rows[] = {
		{ "", "\"x\":1", SETTLED_WAITING, "no controller has reported" },
		{ "", "\"status\":{}", SETTLED_WAITING, "no controller has reported" },
		{ "\"generation\":2", OPERATION("Succeeded") "}", SETTLED_DONE, "" },
		{ "\"generation\":3", OPERATION("Succeeded") "}", SETTLED_WAITING, "has not seen" },
		{ "\"generation\":2,\"annotations\":{\"gardener.cloud/operation\":\"reconcile\"}",
		  OPERATION("Succeeded") "}", SETTLED_WAITING, "has not seen" },
		{ "\"generation\":3", OPERATION("Error") "}", SETTLED_WAITING, "has not seen" },
		{ "\"generation\":2", OPERATION("Error") "}", SETTLED_FAILED, "d" },
		{ "\"generation\":2", OPERATION("Error") ",\"lastError\":{\"description\":\"e\"}}",
		  SETTLED_FAILED, "e" },
		{ "\"generation\":3", OPERATION("Processing") "}", SETTLED_WAITING, "d" },
		{ "\"generation\":1,\"annotations\":{\"dnsrecord.fairlead.dev/dry-run\":\"true\"}",
		  "\"status\":{\"providerStatus\":{\"dryRun\":{\"result\":\"Changes\"}}}",
		  SETTLED_DONE, "" },
		{ "", CONDITION("Ready", "True", ""), SETTLED_DONE, "" },
		{ "", CONDITION("Ready", "False", ""), SETTLED_WAITING, "Ready is False (R): m" },
		{ "", CONDITION("Degraded", "True", ""), SETTLED_WAITING, "Degraded is True" },
		{ "", CONDITION("Degraded", "False", ""), SETTLED_DONE, "" },
		{ "", CONDITION("Progressing", "True", ""), SETTLED_WAITING,
		  "Progressing is True" },
		{ "", CONDITION("Enforced", "Unknown", ""), SETTLED_DONE, "" },
		{ "\"generation\":2", CONDITION("Ready", "True", ",\"observedGeneration\":1"),
		  SETTLED_WAITING, "Ready is True" },
		{ "\"generation\":2", CONDITION("Ready", "True", ",\"observedGeneration\":2"),
		  SETTLED_DONE, "" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT, why = STRBUF_INIT;
		strbuf_addf(&text, "{\"metadata\":{%s},%s}", rows[i].metadata, rows[i].status);
		strbuf_adds(&why, "");
		json_t *object = json_loads(text.s, 0, NULL);
		assert_non_null(object);
		assert_int_equal(settled_state_of(object, &why), rows[i].state);
		assert_non_null(strstr(why.s, rows[i].why));
		assert_int_equal(why.n == 0, rows[i].why[0] == '\0');
		json_decref(object);
	}
}

static void short_waits(void **state)
{
	static const uint64_t since_ns = 1800000000 * NS_PER_S; /* 2027-01-15T08:00:00Z */
	json_t *condition =
		json_pack("{s:s, s:s, s:s, s:s}", "type", "InSync", "status", "False", "reason",
			  "Waiting", "lastTransitionTime", "2027-01-15T08:00:00Z");
	(void)state;
	assert_true(settled_is_short_wait(condition, since_ns + 59 * NS_PER_S));
	assert_false(settled_is_short_wait(condition, since_ns + 60 * NS_PER_S));
	json_object_set_new(condition, "reason", json_string("NotPublished"));
	assert_false(settled_is_short_wait(condition, since_ns));
	json_decref(condition);
}

static void waits_for_kinds_that_report(void **state)
{
	(void)state;
	assert_true(settled_is_reported(api_kind_find("extensions.gardener.cloud", "DNSRecord")));
	assert_false(settled_is_reported(api_kind_find("extensions.gardener.cloud", "Cluster")));
	assert_false(settled_is_reported(api_kind_find("", "ConfigMap")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(judges_objects),
		cmocka_unit_test(short_waits),
		cmocka_unit_test(waits_for_kinds_that_report),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
