/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a DNSRecord needs, by a table of objects: triggers and operation types (DR-35 to DR-37, DR-41,
 * DR-44a, DR-50, DR-51, DR-54). */
#include "controller/dnsrecord/plan/decide.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"

#define FINAL	       ",\"finalizers\":[\"extensions.gardener.cloud/dnsrecord\"]"
#define GONE	       ",\"deletionTimestamp\":\"2026-11-15T09:30:00Z\""
#define ASK(operation) ",\"annotations\":{\"gardener.cloud/operation\":\"" operation "\"}"
#define DONE(type, state)                                                    \
	"\"lastOperation\":{\"type\":\"" type "\",\"state\":\"" state "\"}," \
	"\"observedGeneration\":1"

static const struct {
	const char *what, *metadata, *status;
	int64_t generation;
	bool by_request;
	enum dnsrecord_task task;
	const char *operation;
	bool is_new;
} rows[] = {
	/* DR-35: on Gardener */
	{ "new", "", "", 1, true, DNSRECORD_PUBLISH, "Create", true },
	{ "asked", ASK("reconcile"), DONE("Create", "Succeeded"), 1, true, DNSRECORD_PUBLISH,
	  "Reconcile", true },
	{ "edit alone", "", DONE("Create", "Succeeded"), 2, true, DNSRECORD_NOTHING, NULL, false },
	{ "unfinished", "", DONE("Create", "Processing"), 1, true, DNSRECORD_PUBLISH, "Create",
	  false },
	{ "failed", "", DONE("Reconcile", "Error"), 1, true, DNSRECORD_PUBLISH, "Reconcile",
	  false },
	{ "failed restore", "", DONE("Restore", "Error"), 1, true, DNSRECORD_PUBLISH, "Restore",
	  false },
	/* elsewhere, and DR-37 */
	{ "edit", "", DONE("Create", "Succeeded"), 2, false, DNSRECORD_PUBLISH, "Reconcile", true },
	{ "settled", "", DONE("Create", "Succeeded"), 1, false, DNSRECORD_NOTHING, NULL, false },
	{ "edit of a failed one", "", DONE("Create", "Error"), 2, false, DNSRECORD_PUBLISH,
	  "Create", true },
	{ "asked elsewhere", ASK("reconcile"), DONE("Create", "Succeeded"), 1, false,
	  DNSRECORD_PUBLISH, "Reconcile", true },
	/* DR-36 */
	{ "waits", ASK("wait-for-state"), "", 1, true, DNSRECORD_NOTHING, NULL, false },
	{ "waits, deleted", ASK("wait-for-state") GONE FINAL, "", 1, true, DNSRECORD_NOTHING, NULL,
	  false },
	/* deletion: DR-45 */
	{ "deleted", GONE FINAL, DONE("Create", "Succeeded"), 1, true, DNSRECORD_WITHDRAW, "Delete",
	  true },
	{ "deleting", GONE FINAL, DONE("Delete", "Error"), 1, true, DNSRECORD_WITHDRAW, "Delete",
	  false },
	{ "without finalizer", GONE, DONE("Create", "Succeeded"), 1, true, DNSRECORD_NOTHING, NULL,
	  false },
	/* migration: DR-41, DR-50, DR-51, DR-44a */
	{ "migrate", ASK("migrate") FINAL, DONE("Create", "Succeeded"), 1, true,
	  DNSRECORD_HAND_OVER, "Migrate", true },
	{ "migrate wins", ASK("migrate") FINAL GONE, "", 1, true, DNSRECORD_HAND_OVER, "Migrate",
	  true },
	{ "migrating", "", DONE("Migrate", "Processing"), 1, true, DNSRECORD_HAND_OVER, "Migrate",
	  false },
	{ "migrated", "", DONE("Migrate", "Succeeded"), 2, false, DNSRECORD_NOTHING, NULL, false },
	{ "migrated, asked", ASK("reconcile"), DONE("Migrate", "Succeeded"), 1, true,
	  DNSRECORD_CLEAR_REQUEST, NULL, false },
	{ "restore", ASK("restore"), DONE("Migrate", "Succeeded"), 1, true, DNSRECORD_PUBLISH,
	  "Restore", true },
	{ "restore of a new one", ASK("restore"), "", 1, true, DNSRECORD_PUBLISH, "Restore", true },
	{ "restoring", ASK("restore"), DONE("Restore", "Processing"), 1, true, DNSRECORD_PUBLISH,
	  "Restore", false },
};

static json_t *make_object(const char *metadata, int64_t generation, const char *status)
{
	CLEANUP(freep)
	char *text = xasprintf("{\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"generation\":%d%s},"
			       "\"spec\":{\"type\":\"memory\",\"secretRef\":{\"name\":\"s\"},"
			       "\"name\":\"a.example.com\",\"recordType\":\"A\",\"values\":"
			       "[\"192.0.2.1\"]},\"status\":{%s}}",
			       (int)generation, metadata, status);
	json_error_t error;
	json_t *object = json_loads(text, 0, &error);
	if (object == NULL)
		fail_msg("%s: %s", text, error.text);
	return object;
}

static void table(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct arena arena;
		struct dnsrecord record;
		json_t *object = make_object(rows[i].metadata, rows[i].generation, rows[i].status);
		arena_init(&arena);
		dnsrecord_read(object, &arena, &record);
		assert_null(record.problem);
		struct dnsrecord_choice choice = dnsrecord_decide(&record, rows[i].by_request);
		if (choice.task != rows[i].task || choice.is_new != rows[i].is_new ||
		    (rows[i].operation != NULL && strcmp(choice.operation, rows[i].operation) != 0))
			fail_msg("%s: task %d, %s, new %d", rows[i].what, choice.task,
				 choice.operation, choice.is_new);
		arena_done(&arena);
		json_decref(object);
	}
}

static void classes(void **state)
{
	static const struct {
		const char *class, *served;
		bool want;
	} all[] = {
		{ "", NULL, true },
		{ "shoot", NULL, true },
		{ "seed", NULL, false },
		{ "seed", "garden, seed", true },
		{ "", "garden,seed", false },
		{ "", "shoot", true },
		{ "sho", "shoot,seed", false },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		struct dnsrecord record = { .spec = { .class = all[i].class } };
		assert_int_equal(dnsrecord_has_class(&record, all[i].served), all[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(table), cmocka_unit_test(classes) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
