/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Of two DNSRecords that ask for one name, which has it. */
#include "controller/dnsrecord/plan/claim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/meta.h"
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

/* One of several; `second` is its age and its name. */
struct claimant {
	int second;
	const char *type;
	bool is_published;
};

static json_t *make_claimant(const struct claimant *claimant)
{
	CLEANUP(freep) char *name = xasprintf("%d", claimant->second);
	json_t *object = make_object(claimant->second, "",
				     claimant->is_published ? APPLIED("a.example.com") : "");
	json_object_set_new(json_object_get(object, "spec"), "recordType",
			    json_string(claimant->type));
	json_object_set_new(json_object_get(object, "metadata"), "name", json_string(name));
	return object;
}

/* Who waits for the name keeps it from no other. */
static void several(void **state)
{
	enum { MOST = 4 };
	static const struct {
		const char *what;
		struct claimant others[MOST];
		struct claimant mine;
		int first; /* whose name it is; 0: mine */
	} rows[] = {
		{ "CNAME goes first", { { 1, "CNAME", false } }, { 5, "TXT", false }, 1 },
		{ "CNAME is blocked by a published A",
		  { { 1, "CNAME", false }, { 2, "A", true } },
		  { 5, "TXT", false },
		  0 },
		{ "CNAME is blocked by an older A",
		  { { 2, "CNAME", false }, { 1, "A", false } },
		  { 5, "TXT", false },
		  0 },
		{ "A is blocked by an older CNAME",
		  { { 1, "CNAME", false }, { 2, "A", false } },
		  { 5, "TXT", false },
		  1 },
		{ "two CNAMEs are blocked",
		  { { 1, "CNAME", false }, { 2, "CNAME", false }, { 3, "AAAA", true } },
		  { 5, "TXT", false },
		  0 },
		{ "of its own type, blocked by a CNAME",
		  { { 3, "TXT", false }, { 1, "CNAME", true } },
		  { 5, "TXT", false },
		  1 },
		{ "of its own type, not blocked, since the CNAME is",
		  { { 3, "TXT", false }, { 2, "CNAME", false }, { 1, "A", false } },
		  { 5, "TXT", false },
		  3 },
		{ "a CNAME for itself",
		  { { 3, "TXT", false }, { 2, "CNAME", false }, { 1, "A", false } },
		  { 5, "CNAME", false },
		  1 },
		{ "published ones that collide",
		  { { 3, "CNAME", true }, { 2, "A", true } },
		  { 5, "TXT", false },
		  3 },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct dnsrecord records[MOST + 1];
		const struct dnsrecord *others[MOST];
		json_t *objects[MOST + 1];
		struct arena arena;
		size_t n = 0;
		arena_init(&arena);
		for (; n < MOST && rows[i].others[n].second != 0; n++) {
			objects[n] = make_claimant(&rows[i].others[n]);
			dnsrecord_read(objects[n], &arena, &records[n]);
			others[n] = &records[n];
		}
		objects[n] = make_claimant(&rows[i].mine);
		dnsrecord_read(objects[n], &arena, &records[n]);
		const struct dnsrecord *found = dnsrecord_find_claimant(&records[n], others, n);
		int first = found != NULL ? api_name(found->object)[0] - '0' : 0;
		if (first != rows[i].first)
			fail_msg("%s: %d", rows[i].what, first);
		for (size_t j = 0; j <= n; j++)
			json_decref(objects[j]);
		arena_done(&arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(order), cmocka_unit_test(several) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
