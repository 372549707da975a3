/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which objects are served: the oldest of a name and type, valid ones, up to the limit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/rcu/rcu.h"
#include "dns/types.h"
#include "plugin/records/claimed_names.h"

static struct records_claims *claims;

static void set_json(const char *object, const char *text)
{
	json_t *tree = json_loads(text, 0, NULL);
	assert_non_null(tree);
	records_claims_set(claims, object, tree);
	json_decref(tree);
}

/* Created in that second of a minute; the UID is the object's name. */
static void apply(const char *object, int created_s, const char *name, const char *type,
		  const char *value)
{
	char text[1024];
	snprintf(text, sizeof(text),
		 "{\"metadata\":{\"uid\":\"%s\",\"creationTimestamp\":\"2026-11-17T00:00:%02dZ\"},"
		 "\"spec\":{\"type\":\"local\",\"name\":\"%s\",\"recordType\":\"%s\","
		 "\"secretRef\":{\"name\":\"s\"},\"values\":[\"%s\"]}}",
		 object, created_s, name, type, value);
	set_json(object, text);
}

static const struct records_sets *find(const char *name)
{
	uint8_t wire[DNS_NAME_MAX];
	struct dns_qname qname;
	struct records_hit hit;
	assert_true(dns_name_from_text(slice_of(name), wire) > 0);
	dns_qname_set(&qname, wire);
	return records_table_find(records_claims_table(claims), &qname, &hit) ? hit.sets : NULL;
}

/* The last byte of the first address; -1: none. */
static int last_byte(const char *name, uint16_t type)
{
	const struct records_sets *sets = find(name);
	for (unsigned i = 0; sets != NULL && i < sets->n; i++) {
		if (sets->v[i].type == type)
			return sets->v[i].data[sets->v[i].data_n - 1];
	}
	return -1;
}

static void assert_counts(size_t served, size_t shadowed, size_t invalid, size_t over_limit)
{
	assert_int_equal(records_claims_count(claims, RECORDS_SERVED), served);
	assert_int_equal(records_claims_count(claims, RECORDS_SHADOWED), shadowed);
	assert_int_equal(records_claims_count(claims, RECORDS_INVALID), invalid);
	assert_int_equal(records_claims_count(claims, RECORDS_OVER_LIMIT), over_limit);
}

static int start_claims(void **state)
{
	(void)state;
	claims = records_claims_new(4);
	return 0;
}

static int end_claims(void **state)
{
	(void)state;
	records_claims_free(claims);
	return 0;
}

static void the_oldest_is_served(void **state)
{
	(void)state;
	apply("n/young", 30, "a.example.com", "A", "192.0.2.3");
	assert_int_equal(last_byte("a.example.com", DNS_TYPE_A), 3);
	apply("n/b", 20, "a.example.com", "A", "192.0.2.2");
	apply("n/a", 20, "a.example.com", "A", "192.0.2.1"); /* the lower UID */
	assert_int_equal(last_byte("a.example.com", DNS_TYPE_A), 1);
	assert_counts(1, 2, 0, 0);
	records_claims_remove(claims, "n/a");
	assert_int_equal(last_byte("a.example.com", DNS_TYPE_A), 2);
	apply("n/b", 20, "b.example.com", "A", "192.0.2.2");
	assert_int_equal(last_byte("a.example.com", DNS_TYPE_A), 3);
	assert_int_equal(last_byte("b.example.com", DNS_TYPE_A), 2);
	assert_counts(2, 0, 0, 0);
}

/* RFC 1034 §3.6.2: an alias has nothing beside it. */
static void the_oldest_decides_on_aliases(void **state)
{
	(void)state;
	apply("n/a", 10, "a.example.com", "A", "192.0.2.1");
	apply("n/c", 20, "a.example.com", "CNAME", "b.example.com");
	apply("n/t", 30, "a.example.com", "TXT", "x");
	assert_counts(2, 1, 0, 0);
	assert_int_equal(last_byte("a.example.com", DNS_TYPE_CNAME), -1);
	apply("n/c", 5, "a.example.com", "CNAME", "b.example.com");
	assert_counts(1, 2, 0, 0);
	assert_int_equal(last_byte("a.example.com", DNS_TYPE_CNAME), 0);
	assert_int_equal(last_byte("a.example.com", DNS_TYPE_A), -1);
}

static void a_wildcard_is_no_rival_of_its_name(void **state)
{
	(void)state;
	apply("n/a", 10, "a.example.com", "A", "192.0.2.1");
	apply("n/w", 10, "*.a.example.com", "CNAME", "a.example.com");
	assert_counts(2, 0, 0, 0);
	apply("n/a", 10, "*.a.example.com", "A", "192.0.2.1"); /* the name becomes a wildcard's */
	assert_null(find("a.example.com"));
	assert_counts(1, 1, 0, 0);
}

static void others_are_not_served(void **state)
{
	(void)state;
	set_json(
		"n/r",
		"{\"spec\":{\"type\":\"aws-route53\",\"name\":\"a.example.com\","
		"\"recordType\":\"A\",\"secretRef\":{\"name\":\"s\"},\"values\":[\"192.0.2.1\"]}}");
	set_json("n/e", "{}");
	assert_null(find("a.example.com"));
	assert_counts(0, 0, 0, 0);
	apply("n/a", 10, "a.example.com", "A", "192.0.2.1");
	set_json("n/a", "{\"metadata\":{\"deletionTimestamp\":\"2026-11-17T00:00:00Z\"},\"spec\":{"
			"\"type\":\"local\",\"name\":\"a.example.com\",\"recordType\":\"A\","
			"\"secretRef\":{\"name\":\"s\"},\"values\":[\"192.0.2.1\"]}}");
	assert_null(find("a.example.com"));
	assert_counts(0, 0, 0, 0);
	apply("n/a", 10, "a.example.com", "A", "192.0.2.1");
	set_json("n/a", "{\"spec\":{\"type\":\"other\"}}");
	assert_null(find("a.example.com"));
}

/* Gardener's protocol: the controller's status decides (DR-35, DR-50). */
static void the_status_of_gardener_counts(void **state)
{
	(void)state;
	static const struct {
		const char *operation, *status; /* the annotation; the rest of the status */
		int last_byte;
	} cases[] = {
		{ "reconcile", "{}", 1 },
		{ "wait-for-state", "{}", -1 },
		{ "wait-for-state",
		  "{\"state\":{\"published\":{\"name\":\"a.example.com\","
		  "\"recordType\":\"A\",\"values\":[\"192.0.2.7\"]}}}",
		  -1 },
		{ "wait-for-state", "{\"lastOperation\":{\"type\":\"Create\"}}", 1 },
		{ "", "{\"lastOperation\":{\"type\":\"Migrate\",\"state\":\"Succeeded\"}}", -1 },
		{ "restore", "{\"lastOperation\":{\"type\":\"Migrate\"}}", -1 },
		{ "restore", "{\"lastOperation\":{\"type\":\"Restore\"}}", 1 },
		{ "",
		  "{\"state\":{\"published\":{\"name\":\"a.example.com\",\"recordType\":\"A\","
		  "\"values\":[\"192.0.2.7\"],\"ttl\":null}}}",
		  7 },
		{ "", "{\"state\":{\"published\":{\"name\":\"a.example.com\"}}}", -1 },
		{ "", "{\"state\":{\"published\":7}}", 1 },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char text[1024];
		snprintf(text, sizeof(text),
			 "{\"metadata\":{\"annotations\":{\"gardener.cloud/operation\":\"%s\"}},"
			 "\"spec\":{\"type\":\"local\",\"name\":\"a.example.com\",\"recordType\":"
			 "\"A\",\"secretRef\":{\"name\":\"s\"},\"values\":[\"192.0.2.1\"]},"
			 "\"status\":%s}",
			 cases[i].operation, cases[i].status);
		set_json("n/a", text);
		assert_int_equal(last_byte("a.example.com", DNS_TYPE_A), cases[i].last_byte);
	}
}

static void invalid_objects(void **state)
{
	(void)state;
	static const char *const bad[] = {
		"{\"spec\":{\"type\":\"local\"}}",
		"{\"spec\":{\"type\":\"local\",\"name\":17,\"recordType\":{},\"values\":\"x\"}}",
		"{\"spec\":{\"type\":\"local\",\"name\":\"com\",\"recordType\":\"A\",\"secretRef\":"
		"{\"name\":\"s\"},\"values\":[\"192.0.2.1\"]}}",
		"{\"spec\":{\"type\":\"local\",\"name\":\"a..com\",\"recordType\":\"A\","
		"\"secretRef\":"
		"{\"name\":\"s\"},\"values\":[\"192.0.2.1\"]}}",
		"{\"spec\":{\"type\":\"local\",\"name\":\"a.com\",\"recordType\":\"A\","
		"\"secretRef\":"
		"{\"name\":\"s\"},\"values\":[\"::1\"]}}",
		"{\"spec\":{\"type\":\"local\",\"name\":\"a.com\",\"recordType\":\"MX\","
		"\"secretRef\":"
		"{\"name\":\"s\"},\"values\":[\"a.com\"]}}",
		"{\"spec\":{\"type\":\"local\",\"name\":\"*.a.com\",\"recordType\":\"TXT\","
		"\"secretRef\":"
		"{\"name\":\"s\"},\"values\":[\"x\"]}}",
		"{\"spec\":{\"type\":\"local\",\"name\":\"a.com\",\"recordType\":\"A\",\"ttl\":-1,"
		"\"secretRef\":{\"name\":\"s\"},\"values\":[\"192.0.2.1\"]}}",
	};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		apply("n/a", 10, "a.com", "A", "192.0.2.1");
		assert_counts(1, 0, 0, 0);
		set_json("n/a", bad[i]);
		assert_counts(0, 0, 1, 0);
		assert_null(find("a.com"));
		set_json("n/a", bad[i]);
		assert_counts(0, 0, 1, 0);
	}
	records_claims_remove(claims, "n/a");
	assert_counts(0, 0, 0, 0);
}

static void too_many_values(void **state)
{
	(void)state;
	json_t *values = json_array();
	for (int i = 0; i < 1001; i++) {
		char text[32];
		snprintf(text, sizeof(text), "10.0.%d.%d", i / 250, i % 250);
		json_array_append_new(values, json_string(text));
	}
	json_t *tree =
		json_pack("{s:{s:s,s:s,s:s,s:{s:s},s:o}}", "spec", "type", "local", "name", "a.com",
			  "recordType", "A", "secretRef", "name", "s", "values", values);
	records_claims_set(claims, "n/a", tree);
	assert_counts(0, 0, 1, 0);
	json_array_remove(values, 0);
	records_claims_set(claims, "n/a", tree);
	assert_counts(1, 0, 0, 0);
	json_decref(tree);
}

static void objects_over_the_limit(void **state)
{
	(void)state;
	char object[16], name[32];
	for (int i = 0; i < 6; i++) {
		snprintf(object, sizeof(object), "n/%d", i);
		snprintf(name, sizeof(name), "a%d.example.com", i);
		apply(object, 10, name, "A", "192.0.2.1");
	}
	assert_counts(4, 0, 0, 2);
	assert_null(find("a5.example.com"));
	apply("n/0", 10, "a0.example.com", "A", "192.0.2.7"); /* those that are served may change */
	assert_int_equal(last_byte("a0.example.com", DNS_TYPE_A), 7);
	records_claims_remove(claims, "n/0");
	apply("n/5", 10, "a5.example.com", "A", "192.0.2.1");
	assert_counts(4, 0, 0, 1);
	assert_non_null(find("a5.example.com"));
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, start_claims, end_claims)
	const struct CMUnitTest tests[] = {
		TEST(the_oldest_is_served),   TEST(the_oldest_decides_on_aliases),
		TEST(others_are_not_served),  TEST(a_wildcard_is_no_rival_of_its_name),
		TEST(invalid_objects),	      TEST(too_many_values),
		TEST(objects_over_the_limit), TEST(the_status_of_gardener_counts),
	};
	int r = cmocka_run_group_tests(tests, NULL, NULL);
	rcu_barrier_all();
	return r;
}
