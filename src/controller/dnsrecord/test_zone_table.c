/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Record sets of settled objects by their zones: which objects share a zone, and what was found to differ. */
#include "controller/dnsrecord/zone_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"

struct rig {
	struct dnsrecord_zone_table table;
	struct arena arena;
	json_t *object;
	struct dnsrecord record;
};

static void rig_open(struct rig *rig)
{
	*rig = (struct rig){ 0 };
	dnsrecord_zone_table_init(&rig->table);
	arena_init(&rig->arena);
}

static void rig_close(struct rig *rig)
{
	json_decref(rig->object);
	arena_done(&rig->arena);
	dnsrecord_zone_table_done(&rig->table);
}

/* An object "NAMESPACE/NAME" with that value in a zone. True: the zone is new. */
static const char *add_set(struct rig *rig, const char *key, const char *secret_ns,
			   const char *zone, const char *value)
{
	struct slice name = slice_of(key), ns = slice_cut(&name, '/');
	CLEANUP(freep)
	char *text = xasprintf(
		"{\"metadata\":{\"name\":\"%.*s\",\"namespace\":\"%.*s\",\"uid\":\"u\"},"
		"\"spec\":{\"type\":\"memory\",\"secretRef\":{\"name\":\"s\",\"namespace\":\"%s\"},"
		"\"name\":\"a.example.com\",\"recordType\":\"A\",\"values\":[\"%s\"]},\"status\":"
		"{\"state\":{\"applied\":{\"zone\":\"%s\",\"name\":\"a.example.com\","
		"\"recordType\":\"A\",\"ttl\":120,\"values\":[\"%s\"]}}}}",
		(int)name.n, name.p, (int)ns.n, ns.p, secret_ns, value, zone, value);
	json_decref(rig->object);
	rig->object = json_loads(text, 0, NULL);
	assert_non_null(rig->object);
	dnsrecord_read(rig->object, &rig->arena, &rig->record);
	assert_non_null(rig->record.applied);
	return dnsrecord_zone_table_add(&rig->table, key, &rig->record, provider_find("memory"));
}

static void count_set(void *ctx, const char *key, const struct provider_rrset *set)
{
	(void)key;
	(void)set;
	++*(size_t *)ctx;
}

static size_t count_sets(struct rig *rig, const char *zone_key)
{
	size_t n = 0;
	dnsrecord_zone_table_each(&rig->table, dnsrecord_zone_table_get(&rig->table, zone_key),
				  count_set, &n);
	return n;
}

static void zones_are_shared(void **state)
{
	struct rig rig;
	(void)state;
	rig_open(&rig);
	const char *first = add_set(&rig, "a/one", "a", "Z1", "192.0.2.1");
	assert_string_equal(first, "zone:memory - a/s  Z1");
	assert_null(add_set(&rig, "a/two", "a", "Z1", "192.0.2.1"));
	assert_null(add_set(&rig, "a/two", "a", "Z1", "192.0.2.2"));
	assert_non_null(add_set(&rig, "a/three", "a", "Z2", "192.0.2.1"));
	/* Another namespace may lose the permission to use the Secret. */
	assert_string_equal(add_set(&rig, "b/one", "a", "Z1", "192.0.2.1"),
			    "zone:memory b a/s  Z1");
	assert_int_equal(count_sets(&rig, first), 2);
	/* An object moves to another zone. */
	assert_null(add_set(&rig, "a/two", "a", "Z2", "192.0.2.2"));
	assert_int_equal(count_sets(&rig, first), 1);
	assert_false(
		dnsrecord_zone_table_end(&rig.table, dnsrecord_zone_table_get(&rig.table, first)));
	dnsrecord_zone_table_drop(&rig.table, "a/one");
	dnsrecord_zone_table_drop(&rig.table, "a/one");
	assert_true(
		dnsrecord_zone_table_end(&rig.table, dnsrecord_zone_table_get(&rig.table, first)));
	assert_null(dnsrecord_zone_table_get(&rig.table, "zone:memory - a/s  Z1"));
	rig_close(&rig);
}

static bool mark_set(struct rig *rig, const char *key, const char *compared, const char *found)
{
	struct provider_rrset sets[] = {
		{ .name = "a.example.com",
		  .type = 1,
		  .ttl_s = 120,
		  .values = &compared,
		  .n_values = 1 },
		{ .name = "a.example.com",
		  .type = 1,
		  .ttl_s = 120,
		  .values = &found,
		  .n_values = found != NULL },
	};
	return dnsrecord_zone_table_mark(&rig->table, key, &sets[0], &sets[1]);
}

static void drift_is_told_once(void **state)
{
	struct rig rig;
	(void)state;
	rig_open(&rig);
	add_set(&rig, "a/one", "a", "Z1", "192.0.2.1");
	assert_null(dnsrecord_zone_table_take_drift(&rig.table, "a/one"));
	assert_null(dnsrecord_zone_table_take_drift(&rig.table, "a/unknown"));
	assert_true(mark_set(&rig, "a/one", "192.0.2.1", NULL));
	add_set(&rig, "a/one", "a", "Z1", "192.0.2.1"); /* the same pass */
	CLEANUP(freep) char *drift = dnsrecord_zone_table_take_drift(&rig.table, "a/one");
	assert_string_equal(drift, "zone 'Z1' was changed by another writer; the provider does not "
				   "have the record set: it is published again");
	assert_null(dnsrecord_zone_table_take_drift(&rig.table, "a/one"));
	/* Not of a set that the object had before, and not of an object that is gone. */
	assert_false(mark_set(&rig, "a/one", "192.0.2.9", "192.0.2.1"));
	assert_false(mark_set(&rig, "a/gone", "192.0.2.1", NULL));
	assert_true(mark_set(&rig, "a/one", "192.0.2.1", "192.0.2.9"));
	add_set(&rig, "a/one", "a", "Z1", "192.0.2.9");
	assert_null(dnsrecord_zone_table_take_drift(&rig.table, "a/one"));
	rig_close(&rig);
}

static void count_key(void *arg, const char *key)
{
	assert_int_equal(strncmp(key, DNSRECORD_ZONE_PREFIX, strlen(DNSRECORD_ZONE_PREFIX)), 0);
	++*(unsigned *)arg;
}

static void notifies_are_coalesced(void **state)
{
	unsigned n_emitted = 0;
	struct rig rig;
	(void)state;
	rig_open(&rig);
	const char *key = add_set(&rig, "a/one", "a", "Example.COM.", "192.0.2.1");
	add_set(&rig, "b/one", "b", "example.com", "192.0.2.1"); /* of another Secret */
	add_set(&rig, "c/one", "c", "other.example.com", "192.0.2.1");
	struct dnsrecord_zone *zone = dnsrecord_zone_table_get(&rig.table, key);
	assert_true(dnsrecord_zone_table_has_name(&rig.table, "example.com"));
	assert_false(dnsrecord_zone_table_has_name(&rig.table, "com"));
	assert_int_equal(dnsrecord_zone_table_take_notified(&rig.table, zone), 0);
	for (unsigned i = 0; i < 1000; i++)
		dnsrecord_zone_table_notify(&rig.table, "example.com", 1000 + i, count_key,
					    &n_emitted);
	assert_int_equal(n_emitted, 2);
	/* Nothing older than the last one will do. */
	assert_int_equal(dnsrecord_zone_table_take_notified(&rig.table, zone), 1999);
	assert_int_equal(dnsrecord_zone_table_take_notified(&rig.table, zone), 0);
	dnsrecord_zone_table_notify(&rig.table, "example.com", 3000, count_key, &n_emitted);
	assert_int_equal(n_emitted, 3);
	dnsrecord_zone_table_notify(&rig.table, "nowhere.test", 3000, count_key, &n_emitted);
	assert_int_equal(n_emitted, 3);
	rig_close(&rig);
}

/* A NOTIFY that came while the server could not be asked is not lost until the next interval. */
static void notified_checks_are_repeated(void **state)
{
	static const unsigned pauses_s[] = { 1, 2, 4, 8, 16, 32, 60, 60 };
	const uint64_t interval_ns = 600 * NS_PER_S;
	struct dnsrecord_zone zone = { .due_ns = interval_ns };
	(void)state;
	dnsrecord_zone_failed(&zone, 0);
	assert_int_equal(zone.due_ns, interval_ns);
	zone.is_notified = true;
	for (size_t i = 0; i < ARRAY_LEN(pauses_s); i++) {
		zone.due_ns = interval_ns;
		dnsrecord_zone_failed(&zone, 0);
		assert_int_equal(zone.due_ns, pauses_s[i] * NS_PER_S);
	}
	/* The interval may be shorter. */
	zone.due_ns = 2 * NS_PER_S;
	dnsrecord_zone_failed(&zone, 0);
	assert_int_equal(zone.due_ns, 2 * NS_PER_S);
	/* One that came during a check asks for the next one. */
	zone.asked_ns = 1;
	zone.since_ns = 2;
	dnsrecord_zone_checked(&zone);
	assert_true(zone.is_notified);
	zone.asked_ns = 2;
	dnsrecord_zone_checked(&zone);
	zone.due_ns = interval_ns;
	dnsrecord_zone_failed(&zone, 0);
	assert_int_equal(zone.due_ns, interval_ns);
	zone.is_notified = true;
	dnsrecord_zone_failed(&zone, 0);
	assert_int_equal(zone.due_ns, NS_PER_S);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(zones_are_shared),
		cmocka_unit_test(drift_is_told_once),
		cmocka_unit_test(notifies_are_coalesced),
		cmocka_unit_test(notified_checks_are_repeated),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
