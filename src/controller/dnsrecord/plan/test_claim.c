/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Of two DNSRecords that ask for one name, which has it. */
#include "controller/dnsrecord/plan/claim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"

#define SPEC                                                                             \
	"\"type\":\"memory\",\"secretRef\":{\"name\":\"s\"},\"name\":\"a.example.com\"," \
	"\"recordType\":\"A\",\"values\":[\"192.0.2.1\"]"
#define APPLIED(name)                                                                   \
	"\"state\":{\"applied\":{\"zone\":\"Z1\",\"name\":\"" name "\",\"recordType\":" \
	"\"A\",\"ttl\":120,\"values\":[\"192.0.2.1\"]}}"
#define REFUSED(code)                                                  \
	"\"lastOperation\":{\"type\":\"Create\",\"state\":\"Error\"}," \
	"\"lastError\":{\"codes\":[\"" code "\"]}"
#define OWNED(reason) \
	",\"conditions\":[{\"type\":\"Owned\",\"status\":\"False\",\"reason\":\"" reason "\"}]"

enum { OLDER = 1, MINE = 2, YOUNGER = 3 };

static json_t *make_object(int second, const char *spec, const char *status)
{
	CLEANUP(freep)
	char *text =
		xasprintf("{\"metadata\":{\"name\":\"x\",\"uid\":\"u%d\",\"creationTimestamp\":"
			  "\"2027-01-15T08:00:0%dZ\"},\"spec\":{" SPEC "%s},\"status\":{%s}}",
			  second, second, spec, status);
	json_t *object = json_loads(text, 0, NULL);
	assert_non_null(object);
	return object;
}

static void order(void **state)
{
	static const struct {
		const char *what;
		int second;
		const char *spec, *status;
		bool goes_first;
	} rows[] = {
		{ "the older one", OLDER, "", "", true },
		{ "the younger one", YOUNGER, "", "", false },
		{ "published", YOUNGER, "", APPLIED("a.example.com"), true },
		{ "published under another name, asks for this one since", YOUNGER, "",
		  APPLIED("b.example.com"), false },
		{ "the same, older", OLDER, "", APPLIED("b.example.com"), true },
		{ "invalid", OLDER, ",\"ttl\":-1", "", false },
		{ "invalid since it was published", OLDER, ",\"ttl\":-1", APPLIED("a.example.com"),
		  true },
		{ "another's record set is there", OLDER, "",
		  REFUSED("ERR_CONFIGURATION_PROBLEM") OWNED("NotOurs"), false },
		{ "refused values", OLDER, "", REFUSED("ERR_CONFIGURATION_PROBLEM"), false },
		{ "waits for the name itself", OLDER, "",
		  REFUSED("ERR_CONFIGURATION_PROBLEM") OWNED("NameTaken"), true },
		{ "refused credentials", OLDER, "", REFUSED("ERR_INFRA_UNAUTHENTICATED"), true },
		{ "refused change, published", OLDER, "",
		  REFUSED("ERR_CONFIGURATION_PROBLEM") "," APPLIED("a.example.com"), true },
		{ "migrated", OLDER, "",
		  "\"lastOperation\":{\"type\":\"Migrate\",\"state\":\"Succeeded\"}," APPLIED(
			  "a.example.com"),
		  false },
	};
	struct dnsrecord mine, other;
	struct arena arena;
	(void)state;
	arena_init(&arena);
	json_t *object = make_object(MINE, "", "");
	dnsrecord_read(object, &arena, &mine);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		json_t *rival = make_object(rows[i].second, rows[i].spec, rows[i].status);
		dnsrecord_read(rival, &arena, &other);
		if (dnsrecord_goes_first(&other, &mine) != rows[i].goes_first)
			fail_msg("%s", rows[i].what);
		json_decref(rival);
	}
	json_decref(object);
	arena_done(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(order) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
