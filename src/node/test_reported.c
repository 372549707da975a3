/* SPDX-License-Identifier: GPL-3.0-or-later */
/* status.items of DNSName objects as pairs: under which names, until when, and what is passed over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "node/firewall.h"
#include "node/reported.h"

#define UNTIL (100 * NS_PER_S)

#define OBJECT(name, flags, annotations, items)                                    \
	"{\"metadata\":{\"name\":\"" name "\",\"annotations\":{" annotations "}}," \
	"\"spec\":{" flags "},\"status\":{\"items\":[" items "]}}"
#define ITEM(host, info) "{\"dnsname\":\"" host "\",\"info\":[" info "]}"
#define INFO(ip, ttl, next) \
	"{\"ip\":\"" ip "\",\"ttl\":\"" ttl "\",\"nextlookuptime\":\"2026-01-01T" next "Z\"}"
#define REGULAR	 "\"isregular\":true"
#define WILDCARD "\"iswildcard\":true"
#define ANY	 "\"egress.fairlead.dev/wildcard-depth\":\"any\""

static node_pairs read_pairs(const char *text)
{
	node_pairs pairs = { 0 };
	json_t *object = json_loads(text, 0, NULL);
	assert_non_null(object);
	node_reported_pairs(object, UNTIL, &pairs);
	json_decref(object);
	return pairs;
}

static void as_long_as_it_is_listed(void **state UNUSED)
{
	node_pairs pairs =
		read_pairs(OBJECT("www.example", REGULAR, "",
				  ITEM("www.example", INFO("192.0.2.1", "30", "00:01:00"))));
	struct addrset_id name = node_firewall_name_id("www.example", false, false);
	assert_int_equal(pairs.n, 1);
	assert_memory_equal(&pairs.v[0].name, &name, sizeof(name));
	assert_int_equal(pairs.v[0].until_ns, UNTIL);
	vec_done(&pairs);
}

/* A wildcard of one label, and of any depth: each has an id of its own. */
static void under_each_name(void **state UNUSED)
{
	static const struct {
		const char *object;
		size_t n;
	} rows[] = {
		{ OBJECT("wildcard.example", WILDCARD, "",
			 ITEM("a.example", INFO("192.0.2.1", "30", "00:01:00"))),
		  1 },
		{ OBJECT("wildcard.example", WILDCARD, "",
			 ITEM("b.a.example", INFO("192.0.2.1", "30", "00:01:00"))),
		  0 },
		{ OBJECT("wildcard.example", WILDCARD, ANY,
			 ITEM("b.a.example", INFO("192.0.2.1", "30", "00:01:00"))),
		  1 },
		{ OBJECT("wildcard.example", WILDCARD, ANY,
			 ITEM("a.example", INFO("192.0.2.1", "30", "00:01:00"))),
		  2 },
		{ OBJECT("wildcard.example", REGULAR "," WILDCARD, "",
			 ITEM("wildcard.example", INFO("192.0.2.1", "30", "00:01:00"))),
		  2 },
		{ OBJECT("wildcard.example", REGULAR, "",
			 ITEM("a.example", INFO("192.0.2.1", "30", "00:01:00"))),
		  0 },
		{ OBJECT("www.example", WILDCARD, "",
			 ITEM("www.example", INFO("192.0.2.1", "30", "00:01:00"))),
		  0 },
		{ OBJECT("www.example", REGULAR, "",
			 ITEM("other.example", INFO("192.0.2.1", "30", "00:01:00"))),
		  0 },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		node_pairs pairs = read_pairs(rows[i].object);
		assert_int_equal(pairs.n, rows[i].n);
		vec_done(&pairs);
	}
}

static void passed_over(void **state UNUSED)
{
	static const char *const infos[] = {
		INFO("169.254.169.254", "30", "00:01:00"),
		INFO("127.0.0.1", "30", "00:01:00"),
		INFO("fe80::1", "30", "00:01:00"),
		INFO("::ffff:127.0.0.1", "30", "00:01:00"),
		INFO("no address", "30", "00:01:00"),
		"{}",
		"7",
	};
	for (size_t i = 0; i < ARRAY_LEN(infos); i++) {
		char text[1024];
		snprintf(text, sizeof(text),
			 OBJECT("www.example", REGULAR, "", ITEM("www.example", "%s")), infos[i]);
		node_pairs pairs = read_pairs(text);
		assert_int_equal(pairs.n, 0);
		vec_done(&pairs);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_long_as_it_is_listed),
		cmocka_unit_test(under_each_name),
		cmocka_unit_test(passed_over),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
