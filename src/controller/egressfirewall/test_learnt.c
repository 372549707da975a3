/* SPDX-License-Identifier: GPL-3.0-or-later */
/* EF-7, EF-8 (the controller's part), EF-P10: pairs that servers learnt reach each object that covers the
 * name, and nothing else. A list of pairs stands for the servers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/egress/name.h"
#include "api/meta.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "controller/egressfirewall/items.h"
#include "controller/egressfirewall/learnt.h"
#include "controller/egressfirewall/state.h"
#include "controller/egressfirewall/watches.h"

struct rig {
	struct egressfirewall_state *state;
	struct kube_store *stores[EGRESSFIREWALL_WATCHES];
	struct controller_ctx ctx;
	struct strbuf queued;
};

static void collect_key(void *arg, const char *key)
{
	strbuf_addf(arg, "%s ", key);
}

static void index_nothing(const struct kube_obj *obj, kube_index_emit emit, void *ctx)
{
	(void)obj;
	(void)emit;
	(void)ctx;
}

static void rig_init(struct rig *rig)
{
	static const kube_index_fn indexes[] = { index_nothing, index_nothing };
	void *state;
	char err[64];
	*rig = (struct rig){ .queued = STRBUF_INIT };
	assert_int_equal(egressfirewall_state_start(&state, ERR_TEXT(err)), 0);
	rig->state = state;
	for (size_t i = 0; i < EGRESSFIREWALL_WATCHES; i++)
		rig->stores[i] = kube_store_new(indexes, ARRAY_LEN(indexes));
	rig->ctx = (struct controller_ctx){ .ns = "fairlead",
					    .state = state,
					    .stores = rig->stores,
					    .emit = collect_key,
					    .emit_arg = &rig->queued };
}

static void rig_done(struct rig *rig)
{
	for (size_t i = 0; i < EGRESSFIREWALL_WATCHES; i++)
		kube_store_free(rig->stores[i]);
	egressfirewall_state_stop(rig->state);
	strbuf_done(&rig->queued);
}

static struct egressfirewall_object *add_object(struct rig *rig, const char *name, bool regular,
						bool wildcard)
{
	struct egressfirewall_object *object = xcalloc(1, sizeof(*object));
	object->regular = regular;
	object->wildcard = wildcard;
	map_set(&rig->state->objects, slice_of(name), object);
	return object;
}

static uint64_t learning_client; /* that asks */

static size_t learn(struct rig *rig, const char *name, const char *ip, uint32_t ttl_s)
{
	struct egressfirewall_pair pair = { .name = name,
					    .ttl_s = ttl_s,
					    .client = learning_client };
	assert_int_equal(net_addr_parse_ip(slice_of(ip), &pair.address), 0);
	strbuf_reset(&rig->queued);
	return egressfirewall_learn(&rig->ctx, &pair, 1);
}

/* "host ip ip, host ip" */
static char *items_of(const struct rig *rig, const char *name)
{
	struct strbuf out = STRBUF_INIT;
	const struct egressfirewall_object *object = map_get(&rig->state->objects, slice_of(name));
	json_t *items = egressfirewall_items_write(rig->state, name, object);
	strbuf_adds(&out, "");
	for (size_t i = 0; i < json_array_size(items); i++) {
		const json_t *item = json_array_get(items, i),
			     *info = json_object_get(item, "info");
		strbuf_addf(&out, "%s%s", i != 0 ? ", " : "",
			    api_text(json_object_get(item, "dnsname")));
		for (size_t k = 0; k < json_array_size(info); k++)
			strbuf_addf(&out, " %s",
				    api_text(json_object_get(json_array_get(info, k), "ip")));
	}
	json_decref(items);
	char *text = xstrdup(out.s);
	strbuf_done(&out);
	return text;
}

#define assert_items(rig, name, wanted)             \
	do {                                        \
		char *found = items_of(rig, name);  \
		assert_string_equal(found, wanted); \
		free(found);                        \
	} while (0)

static void each_object_that_covers(void **state)
{
	struct rig rig;
	(void)state;
	rig_init(&rig);
	add_object(&rig, "a.example.com", true, false);
	add_object(&rig, "wildcard.example.com", false, true);
	add_object(&rig, "wildcard.com", false, true)->any_depth = true;
	assert_int_equal(learn(&rig, "A.Example.com.", "192.0.2.1", 30), 1);
	assert_string_equal(rig.queued.s, "name/a.example.com name/wildcard.example.com "
					  "name/wildcard.com host/a.example.com ");
	assert_items(&rig, "a.example.com", "a.example.com 192.0.2.1");
	assert_items(&rig, "wildcard.example.com", "a.example.com 192.0.2.1");
	assert_items(&rig, "wildcard.com", "a.example.com 192.0.2.1");
	assert_int_equal(learn(&rig, "x.a.example.com", "192.0.2.2", 30), 1);
	assert_string_equal(rig.queued.s, "name/wildcard.com host/x.a.example.com ");
	assert_items(&rig, "wildcard.example.com", "a.example.com 192.0.2.1");
	assert_items(&rig, "wildcard.com", "a.example.com 192.0.2.1, x.a.example.com 192.0.2.2");
	/* The same again is no news. */
	assert_int_equal(learn(&rig, "a.example.com", "192.0.2.1", 30), 1);
	assert_string_equal(rig.queued.s, "");
	assert_int_equal(learn(&rig, "a.example.com", "192.0.2.3", 30), 1);
	assert_items(&rig, "a.example.com", "a.example.com 192.0.2.1 192.0.2.3");
	rig_done(&rig);
}

static void what_is_passed_over(void **state)
{
	static const struct {
		const char *name, *ip;
	} rows[] = {
		{ "a.example.net", "192.0.2.1" },
		{ "example.com", "192.0.2.1" },
		{ "x.a.example.com", "192.0.2.1" },
		{ "*.example.com", "192.0.2.1" },
		{ "", "192.0.2.1" },
		{ "a..example.com", "192.0.2.1" },
		{ "meta.example.com", "169.254.169.254" },
		{ "meta.example.com", "127.0.0.1" },
		{ "meta.example.com", "fe80::1" },
	};
	struct rig rig;
	(void)state;
	rig_init(&rig);
	add_object(&rig, "wildcard.example.com", false, true);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(learn(&rig, rows[i].name, rows[i].ip, 30), 0);
		assert_string_equal(rig.queued.s, "");
	}
	assert_int_equal(rig.state->hosts.by_name.n, 0);
	rig_done(&rig);
}

/* A pod that asks for very many names below an allowed domain. */
static void hostile_names(void **state)
{
	struct rig rig;
	size_t known = 0;
	(void)state;
	rig_init(&rig);
	add_object(&rig, "wildcard.example.com", false, true);
	for (unsigned i = 0; i < 20000; i++) {
		char name[64], ip[32];
		snprintf(name, sizeof(name), "random-%u.example.com", i);
		snprintf(ip, sizeof(ip), "203.0.%u.%u", i / 256 % 256, i % 256);
		known += learn(&rig, name, ip, 30 + i % 1000);
	}
	/* The newest names are there. */
	assert_int_equal(known, 20000);
	assert_int_equal(rig.state->hosts.by_name.n, SHARES_HOST_MAX);
	assert_non_null(tracked_find(&rig.state->hosts, "random-19999.example.com"));
	assert_null(tracked_find(&rig.state->hosts, "random-0.example.com"));
	json_t *items = egressfirewall_items_write(
		rig.state, "wildcard.example.com",
		map_get(&rig.state->objects, SLICE("wildcard.example.com")));
	assert_in_range(json_array_size(items), 650, EGRESSFIREWALL_ITEMS_MAX);
	char *text = json_dumps(items, JSON_COMPACT);
	assert_true(strlen(text) < 128 << 10); /* managedFields take more than that */
	free(text);
	json_decref(items);
	rig_done(&rig);
}

static void learn_many(struct rig *rig, const char *form_parent, unsigned from, unsigned to)
{
	for (unsigned i = from; i < to; i++) {
		char name[64], ip[32];
		snprintf(name, sizeof(name), "h.n%u.%s", i, form_parent);
		snprintf(ip, sizeof(ip), "203.%u.%u.%u", i / 65536, i / 256 % 256, i % 256);
		assert_int_equal(learn(rig, name, ip, 86400), 1);
	}
}

static unsigned count_known(const struct rig *rig, const char *parent, unsigned n)
{
	unsigned known = 0;
	for (unsigned i = 0; i < n; i++) {
		char name[64];
		snprintf(name, sizeof(name), "h.n%u.%s", i, parent);
		known += tracked_find(&rig->state->hosts, name) != NULL;
	}
	return known;
}

static void add_deep(struct rig *rig, const char *parent)
{
	char name[64];
	snprintf(name, sizeof(name), "wildcard.%s", parent);
	add_object(rig, name, false, true)->any_depth = true;
}

/* Names at all depths below one wildcard drive out no name of another one. */
static void hostile_depths(void **state)
{
	struct rig rig;
	(void)state;
	rig_init(&rig);
	add_deep(&rig, "hostile.test");
	add_deep(&rig, "good.test");
	add_object(&rig, "one.example.com", true, false);
	learn_many(&rig, "good.test", 0, 100);
	learn_many(&rig, "hostile.test", 0, 70000);
	assert_int_equal(rig.state->hosts.by_name.n, 100 + SHARES_HOST_MAX);
	assert_int_equal(count_known(&rig, "good.test", 100), 100);
	assert_null(tracked_find(&rig.state->hosts, "h.n0.hostile.test"));
	assert_non_null(tracked_find(&rig.state->hosts, "h.n69999.hostile.test"));
	learn_many(&rig, "good.test", 100, 200);
	assert_int_equal(count_known(&rig, "good.test", 200), 200);
	assert_int_equal(learn(&rig, "one.example.com", "192.0.2.1", 30), 1);
	rig_done(&rig);
}

/* When the table is full, the client that has most makes room. */
static void full_table(void **state)
{
	enum { WILDCARDS = 17 };
	struct rig rig;
	char parent[32];
	(void)state;
	rig_init(&rig);
	for (unsigned i = 0; i < WILDCARDS; i++) {
		snprintf(parent, sizeof(parent), "w%u.test", i);
		add_deep(&rig, parent);
		learn_many(&rig, parent, 0, SHARES_HOST_MAX);
	}
	assert_int_equal(rig.state->hosts.by_name.n, SHARES_HOSTS_MAX);
	/* The last one got its fair part, of what the others had too much. */
	assert_in_range(count_known(&rig, parent, SHARES_HOST_MAX), SHARES_HOSTS_MAX / WILDCARDS,
			SHARES_HOSTS_MAX / WILDCARDS + 1);
	add_deep(&rig, "small.test");
	learn_many(&rig, "small.test", 0, 50);
	learn_many(&rig, parent, SHARES_HOST_MAX, 3 * SHARES_HOST_MAX);
	assert_int_equal(count_known(&rig, "small.test", 50), 50);
	assert_int_equal(rig.state->hosts.by_name.n, SHARES_HOSTS_MAX);
	rig_done(&rig);
}

/* EF-P10: below one wildcard, too, a client that asks for very many names drives out its own; the report has all of
 * what others asked for, though it ends first. */
static void greedy_client_below_one_wildcard(void **state)
{
	struct rig rig;
	char name[64];
	(void)state;
	rig_init(&rig);
	struct egressfirewall_object *object = add_object(&rig, "wildcard.test", false, true);
	object->any_depth = true;
	learning_client = 1;
	learn_many(&rig, "test", 0, 2 * SHARES_HOST_MAX);
	learning_client = 2;
	for (unsigned i = 0; i < 50; i++) {
		snprintf(name, sizeof(name), "h.n%u.modest.test", i);
		assert_int_equal(learn(&rig, name, "192.0.2.1", 60), 1);
	}
	learning_client = 1;
	learn_many(&rig, "test", 2 * SHARES_HOST_MAX, 4 * SHARES_HOST_MAX);
	learning_client = 0;
	assert_int_equal(count_known(&rig, "modest.test", 50), 50);
	assert_int_equal(rig.state->hosts.by_name.n, SHARES_HOST_MAX);
	char *items = items_of(&rig, "wildcard.test");
	unsigned reported = 0;
	for (const char *at = items; (at = strstr(at, ".modest.test ")) != NULL; at++)
		reported++;
	assert_int_equal(reported, 50);
	free(items);
	rig_done(&rig);
}

/* A wildcard that goes leaves its hosts to the next one that covers them. */
static void hosts_change_their_share(void **state)
{
	struct shares shares;
	struct shares_place place[3] = { 0 };
	(void)state;
	shares_init(&shares);
	assert_null(shares_oldest_for(&shares, "a", 0));
	shares_join(&shares, &place[0], "a");
	shares_join(&shares, &place[1], "a");
	shares_join(&shares, &place[2], "b");
	assert_ptr_equal(shares_oldest_for(&shares, "c", 0), &place[0]);
	shares_use(&place[0], 0);
	assert_ptr_equal(shares_oldest_for(&shares, "c", 0), &place[1]);
	shares_join(&shares, &place[1], "b");
	assert_ptr_equal(shares_oldest_for(&shares, "c", 0), &place[2]);
	shares_leave(&shares, &place[2]);
	shares_leave(&shares, &place[2]);
	shares_leave(&shares, &place[1]);
	assert_int_equal(shares.by_wildcard.n, 1);
	assert_int_equal(shares.n_places, 1);
	shares_done(&shares);
}

/* Hosts with `labels` long labels and so many addresses each: below 256 KiB, of which managedFields take
 * more than half (tests/kube/test_egress_load.py). */
static size_t report_of(unsigned labels, unsigned addresses)
{
	struct rig rig;
	rig_init(&rig);
	add_object(&rig, "wildcard.example.com", false, true)->any_depth = true;
	for (unsigned i = 0; i < 1000 * addresses; i++) {
		char name[EGRESS_NAME_MAX + 1], ip[64];
		int n = snprintf(name, sizeof(name), "%057u", i / addresses);
		for (unsigned k = 1; k < labels; k++)
			n += snprintf(name + n, sizeof(name) - (size_t)n, ".%057u", k);
		snprintf(name + n, sizeof(name) - (size_t)n, ".example.com");
		snprintf(ip, sizeof(ip), "2001:db8:1111:2222:3333:4444:%x:%x",
			 i / addresses + 0x1000, i % addresses + 0x1000);
		assert_int_equal(learn(&rig, name, ip, 86400), 1);
	}
	const struct egressfirewall_object *object =
		map_get(&rig.state->objects, SLICE("wildcard.example.com"));
	json_t *items = egressfirewall_items_write(rig.state, "wildcard.example.com", object);
	size_t n_items = json_array_size(items);
	char *text = json_dumps(items, JSON_COMPACT);
	assert_true(strlen(text) < 128 << 10);
	free(text);
	json_decref(items);
	rig_done(&rig);
	return n_items;
}

/* status.addresses: each once, and not too many. */
static void addresses_in_one_line(void **state)
{
	json_t *items =
		json_pack("[{s:[{s:s},{s:s}]},{s:[{s:s},{s:s}]}]", "info", "ip", "192.0.2.1", "ip",
			  "2001:db8::1", "info", "ip", "192.0.2.1", "ip", "192.0.2.2");
	(void)state;
	char *text = egressfirewall_items_addresses(items);
	assert_string_equal(text, "192.0.2.1,2001:db8::1,192.0.2.2");
	free(text);
	json_t *info = json_object_get(json_array_get(items, 0), "info");
	for (unsigned i = 0; i < 10; i++) {
		char ip[32];
		snprintf(ip, sizeof(ip), "198.51.100.%u", i);
		json_array_append_new(info, json_pack("{s:s}", "ip", ip));
	}
	text = egressfirewall_items_addresses(items);
	assert_string_equal(text, "192.0.2.1,2001:db8::1,198.51.100.0,198.51.100.1,198.51.100.2,"
				  "198.51.100.3,198.51.100.4,198.51.100.5 + 5 more...");
	free(text);
	json_array_clear(items);
	text = egressfirewall_items_addresses(items);
	assert_string_equal(text, "");
	free(text);
	json_decref(items);
}

static void size_of_a_report(void **state)
{
	(void)state;
	assert_true(report_of(1, 1) > 450);
	assert_true(report_of(4, 1) > 280);
	assert_true(report_of(1, 4) > 170);
	assert_true(report_of(4, 2) > 170);
}

static void nobody_cares(void *ctx, const char *host)
{
	(void)ctx;
	(void)host;
}

static json_t *first_address(const json_t *items)
{
	return json_array_get(json_object_get(json_array_get(items, 0), "info"), 0);
}

/* EF-P11: when an address was first seen and where its chain ended then. Both stay as they were, also
 * over a restart, so that they cost no write. */
static void origin_of_an_address(void **state)
{
	struct rig rig, restarted;
	struct egressfirewall_pair pair = { .name = "a.example.com",
					    .owner = "CDN.example.net.",
					    .ttl_s = 30,
					    .first_ns = UINT64_C(1700000000) * NS_PER_S };
	(void)state;
	rig_init(&rig);
	struct egressfirewall_object *object =
		add_object(&rig, "wildcard.example.com", false, true);
	assert_int_equal(net_addr_parse_ip(SLICE("192.0.2.1"), &pair.address), 0);
	assert_int_equal(egressfirewall_learn(&rig.ctx, &pair, 1), 1);
	json_t *items = egressfirewall_items_write(rig.state, "wildcard.example.com", object);
	assert_string_equal(api_get_string(first_address(items), "firstseen"),
			    "2023-11-14T22:13:20Z");
	assert_string_equal(api_get_string(first_address(items), "canonicalname"),
			    "cdn.example.net");

	/* Another server saw it later, through another chain: no news. */
	pair.owner = "other.example.net";
	pair.first_ns += NS_PER_S;
	strbuf_reset(&rig.queued);
	assert_int_equal(egressfirewall_learn(&rig.ctx, &pair, 1), 1);
	assert_string_equal(rig.queued.s, "");
	json_t *again = egressfirewall_items_write(rig.state, "wildcard.example.com", object);
	assert_true(json_equal(items, again));
	json_decref(again);

	rig_init(&restarted);
	object = add_object(&restarted, "wildcard.example.com", false, true);
	egressfirewall_items_restore(restarted.state, "wildcard.example.com", object, items,
				     nobody_cares, NULL);
	again = egressfirewall_items_write(restarted.state, "wildcard.example.com", object);
	assert_true(json_equal(items, again));
	json_decref(again);
	json_decref(items);
	rig_done(&restarted);
	rig_done(&rig);
}

static json_t *items_with(const char *info)
{
	return json_pack("[{s:s, s:[o]}]", "dnsname", "a.example.com", "info",
			 json_loads(info, 0, NULL));
}

/* What an older CRD drops is not written again; every other difference is. */
static void dropped_fields(void **state)
{
	static const char wanted[] = "{\"ip\":\"192.0.2.1\",\"firstseen\":\"x\"}";
	static const struct {
		const char *now;
		bool equal;
	} rows[] = {
		{ wanted, true },
		{ "{\"ip\":\"192.0.2.1\"}", true },
		{ "{\"ip\":\"192.0.2.1\",\"firstseen\":\"y\"}", false },
		{ "{\"ip\":\"192.0.2.1\",\"firstseen\":\"x\",\"more\":\"y\"}", false },
		{ "{\"firstseen\":\"x\"}", false },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		json_t *now = items_with(rows[i].now), *items = items_with(wanted);
		assert_int_equal(egressfirewall_items_equal(now, items), rows[i].equal);
		json_decref(now);
		json_decref(items);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_object_that_covers),
		cmocka_unit_test(what_is_passed_over),
		cmocka_unit_test(hostile_names),
		cmocka_unit_test(addresses_in_one_line),
		cmocka_unit_test(size_of_a_report),
		cmocka_unit_test(hostile_depths),
		cmocka_unit_test(full_table),
		cmocka_unit_test(greedy_client_below_one_wildcard),
		cmocka_unit_test(hosts_change_their_share),
		cmocka_unit_test(origin_of_an_address),
		cmocka_unit_test(dropped_fields),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
