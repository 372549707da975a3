/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The merge: order, duplicates, precedence, limits, where each list is written, and DHCP. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/machine/test_machine.h"
#include "base/mem.h"
#include "base/readfile.h"

enum { POOLS = 4, ORDERS = 24 };

/* The n-th order of four things. */
static void permute(size_t n, size_t order[POOLS])
{
	size_t left[POOLS] = { 0, 1, 2, 3 }, count = POOLS;
	for (size_t i = 0; i < POOLS; i++) {
		size_t at = n % count;
		n /= count;
		order[i] = left[at];
		memmove(&left[at], &left[at + 1], (count - at - 1) * sizeof(left[0]));
		count--;
	}
}

static struct strbuf read_example(const char *name)
{
	struct strbuf text = STRBUF_INIT;
	CLEANUP(freep) char *path = xasprintf(SOURCE_DIR "/../../../examples/machines/%s", name);
	if (readfile_path(path, 1 << 20, 1000, &text) < 0)
		fail_msg("%s", path);
	return text;
}

/* IP-6: three devices, four pools, whatever the order in which the addresses were assigned. */
static void example_in_every_order(void **state)
{
	(void)state;
	struct strbuf machine_text = read_example("template.yaml");
	struct strbuf address_text = read_example("addresses.yaml");
	struct srcerr where;
	struct api_docs machines, addresses;
	assert_int_equal(api_yaml_parse("m", strbuf_slice(&machine_text), &machines, &where), 0);
	assert_int_equal(api_yaml_parse("a", strbuf_slice(&address_text), &addresses, &where), 0);
	assert_int_equal(addresses.n, POOLS);
	for (size_t i = 0; i < ORDERS; i++) {
		size_t order[POOLS];
		json_t *objects[POOLS];
		struct arena arena;
		struct machine machine;
		struct machine_merged merged;
		permute(i, order);
		for (size_t j = 0; j < POOLS; j++)
			objects[j] = addresses.v[order[j]];
		arena_init(&arena);
		struct machine_problems problems = { .arena = &arena };
		machine_read(machines.v[0], "example", &problems, &machine);
		machine_bind(&machine, &(struct machine_objects){ .v = objects, .n = POOLS }, false,
			     &problems);
		machine_merge(&machine, &(struct machine_merge_opts){ 0 }, &arena, &merged);
		assert_int_equal(problems.n, 0);
		assert_list(&merged.all.search, "corp.domain alternate.domain yet.another.domain");
		assert_list(&merged.all.addresses, "10.0.0.1 10.100.0.1 10.200.0.1");
		assert_list(&merged.devices[0].search, "");
		assert_list(&merged.devices[1].addresses, "10.0.0.1");
		assert_list(&merged.devices[2].search, "alternate.domain yet.another.domain");
		assert_list(&machine.devices[2].addresses, "10.0.2.10/24 10.0.3.10/24");
		assert_int_equal(merged.n_cut, 0);
		arena_done(&arena);
	}
	api_docs_done(&machines);
	api_docs_done(&addresses);
	strbuf_done(&machine_text);
	strbuf_done(&address_text);
}

/* Lists are written as words with blanks between them. */
struct merge_case {
	const char *label;
	/* Of three devices: their own, and those of their addresses. Device 1 has the gateway. */
	const char *own[3], *from[3];
	const char *machine;
	bool flat, prepend;
	const char *all, *devices[3];
};

static const struct merge_case servers[] = {
	{ .label = "nothing", .all = "", .devices = { "", "", "" } },
	{ .label = "order of devices",
	  .from = { "10.0.0.3", "10.0.0.1", "10.0.0.2" },
	  .all = "10.0.0.3 10.0.0.1 10.0.0.2",
	  .devices = { "10.0.0.3", "10.0.0.1", "10.0.0.2" } },
	{ .label = "a gap moves nothing",
	  .from = { NULL, NULL, "10.0.0.2 10.0.0.1" },
	  .all = "10.0.0.2 10.0.0.1",
	  .devices = { "", "", "10.0.0.2 10.0.0.1" } },
	{ .label = "repeated inside a device, and on another one",
	  .from = { "10.0.0.1 10.0.0.2 10.0.0.1", NULL, "10.0.0.2 10.0.0.3" },
	  .all = "10.0.0.1 10.0.0.2 10.0.0.3",
	  .devices = { "10.0.0.1 10.0.0.2", "", "10.0.0.2 10.0.0.3" } },
	{ .label = "a device's own replace",
	  .own = { "10.9.0.1" },
	  .from = { "10.0.0.1", "10.0.0.2" },
	  .all = "10.9.0.1 10.0.0.2",
	  .devices = { "10.9.0.1", "10.0.0.2", "" } },
	{ .label = "a device's own come first",
	  .own = { "10.9.0.1" },
	  .from = { "10.0.0.1", "10.0.0.2" },
	  .prepend = true,
	  .all = "10.9.0.1 10.0.0.1 10.0.0.2",
	  .devices = { "10.9.0.1 10.0.0.1", "10.0.0.2", "" } },
	{ .label = "the machine's replace all, on the device with the default route",
	  .own = { "10.9.0.1" },
	  .from = { "10.0.0.1", NULL, "10.0.0.2" },
	  .machine = "10.8.0.1 10.8.0.2",
	  .all = "10.8.0.1 10.8.0.2",
	  .devices = { "", "10.8.0.1 10.8.0.2", "" } },
	{ .label = "the machine's come first",
	  .from = { "10.0.0.1", "10.0.0.2" },
	  .machine = "10.8.0.1",
	  .prepend = true,
	  .all = "10.8.0.1 10.0.0.1 10.0.0.2",
	  .devices = { "10.0.0.1", "10.8.0.1 10.0.0.2", "" } },
	{ .label = "flat",
	  .from = { "10.0.0.1", NULL, "10.0.0.2" },
	  .flat = true,
	  .all = "10.0.0.1 10.0.0.2",
	  .devices = { "", "10.0.0.1 10.0.0.2", "" } },
	{ .label = "the fourth server is cut from its device",
	  .from = { "10.0.0.1", "10.0.0.2 10.0.0.1 10.0.0.3", "10.0.0.4 10.0.0.2" },
	  .all = "10.0.0.1 10.0.0.2 10.0.0.3",
	  .devices = { "10.0.0.1", "10.0.0.2 10.0.0.1 10.0.0.3", "10.0.0.2" } },
};

#define D50(letter)                                                                                \
	letter letter letter letter letter letter letter letter letter letter letter letter letter \
		letter letter letter letter letter letter letter letter letter letter letter       \
			letter "." letter letter letter letter letter letter letter letter letter  \
				letter letter letter letter letter letter letter letter letter     \
					letter letter letter letter letter letter

static const struct merge_case domains[] = {
	{ .label = "six domains",
	  .from = { "a b c", "d", "e f" },
	  .all = "a b c d e f",
	  .devices = { "a b c", "d", "e f" } },
	{ .label = "the seventh is cut",
	  .from = { "a b c", "d g.x", "e f a" },
	  .all = "a b c d g.x e",
	  .devices = { "a b c", "d g.x", "e a" } },
	{ .label = "256 characters",
	  .from = { D50("a") " " D50("b") " " D50("c") " " D50("d") " " D50("e") " f" },
	  .all = D50("a") " " D50("b") " " D50("c") " " D50("d") " " D50("e") " f",
	  .devices = { D50("a") " " D50("b") " " D50("c") " " D50("d") " " D50("e") " f", "",
		       "" } },
	{ .label = "257 characters",
	  .from = { D50("a") " " D50("b") " " D50("c") " " D50("d") " " D50("e") " ff" },
	  .all = D50("a") " " D50("b") " " D50("c") " " D50("d") " " D50("e"),
	  .devices = { D50("a") " " D50("b") " " D50("c") " " D50("d") " " D50("e"), "", "" } },
};

static void fill_list(struct arena *arena, const char *words, struct machine_list *ret)
{
	struct slice rest = slice_of(words);
	while (rest.n != 0) {
		struct slice word = slice_cut(&rest, ' ');
		machine_list_add(ret, arena, arena_strndup(arena, word.p, word.n));
	}
}

static struct machine_list *field_of(struct machine_nameservers *dns, bool search)
{
	return search ? &dns->search : &dns->addresses;
}

static void run_case(const struct merge_case *row, bool search)
{
	struct arena arena;
	struct machine_device devices[3] = { [1] = { .gateway4 = "10.0.0.254" } };
	struct machine machine = { .devices = devices, .n_devices = 3 };
	struct machine_merged merged;
	print_message("%s\n", row->label);
	arena_init(&arena);
	for (size_t i = 0; i < 3; i++) {
		fill_list(&arena, row->own[i], field_of(&devices[i].own, search));
		fill_list(&arena, row->from[i], field_of(&devices[i].from_addresses, search));
	}
	fill_list(&arena, row->machine, field_of(&machine.own, search));
	machine_merge(&machine,
		      &(struct machine_merge_opts){ .flat = row->flat, .prepend = row->prepend },
		      &arena, &merged);
	assert_list(field_of(&merged.all, search), row->all);
	for (size_t i = 0; i < 3; i++) {
		assert_list(field_of(&merged.devices[i], search), row->devices[i]);
		assert_list(field_of(&merged.devices[i], !search), "");
	}
	arena_done(&arena);
}

static void server_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(servers); i++)
		run_case(&servers[i], false);
}

static void domain_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(domains); i++)
		run_case(&domains[i], true);
}

#define POOL_REF "{apiGroup: ipam.cluster.x-k8s.io, kind: P, name: p}"
#define ADDRESS(claim, ip, servers, domains)                                           \
	"---\n{apiVersion: ipam.cluster.x-k8s.io/v1beta2, kind: IPAddress, metadata: " \
	"{name: " claim ", namespace: ns}, spec: {poolRef: " POOL_REF ", address: " ip \
	", prefix: 24, nameservers: "                                                  \
	"{addresses: [" servers "], search: [" domains "]}}}\n"

/* IP-7: what two addresses spell differently is still the same; the first stays, in its place. Two of the
 * addresses are of one device, the third is of another. */
static void spellings_are_one(void **state)
{
	(void)state;
	struct sample sample;
	struct machine_merged merged;
	sample_read(
		&sample,
		"{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: VSphereVM, "
		"metadata: {name: m, namespace: ns}, spec: {network: {devices: "
		"[{addressesFromPools: [" POOL_REF ", " POOL_REF "]}, {addressesFromPools: "
		"[" POOL_REF "]}]}}}\n" ADDRESS("m-0-0", "10.0.0.1", "\"2001:DB8::53\", 10.9.0.1",
						"Corp.Example, a.example")
			ADDRESS("m-0-1", "10.0.0.2", "\"2001:db8:0::53\"",
				"b.example, corp.example.")
				ADDRESS("m-1-0", "10.0.0.3", "10.9.0.2, \"2001:0db8:0:0:0:0:0:53\"",
					"CORP.EXAMPLE, c.example"),
		false);
	assert_int_equal(sample.problems.n, 0);
	machine_merge(&sample.machine, &(struct machine_merge_opts){ 0 }, &sample.arena, &merged);
	assert_list(&merged.all.addresses, "2001:db8::53 10.9.0.1 10.9.0.2");
	assert_list(&merged.all.search, "corp.example a.example b.example c.example");
	assert_list(&merged.devices[0].addresses, "2001:db8::53 10.9.0.1");
	assert_list(&merged.devices[0].search, "corp.example a.example b.example");
	assert_list(&merged.devices[1].addresses, "10.9.0.2 2001:db8::53");
	assert_list(&merged.devices[1].search, "corp.example c.example");
	assert_int_equal(merged.n_cut, 0);
	sample_done(&sample);
}

/* IP-15: what guests cannot hold is listed, domains before servers, in order. */
static void cuts_are_listed(void **state)
{
	(void)state;
	struct arena arena;
	struct machine_device device = { 0 };
	struct machine machine = { .devices = &device, .n_devices = 1 };
	struct machine_merged merged;
	arena_init(&arena);
	fill_list(&arena, "10.0.0.1 10.0.0.2 10.0.0.3 10.0.0.4 10.0.0.5",
		  &device.from_addresses.addresses);
	fill_list(&arena, "a b c d e f g", &device.from_addresses.search);
	machine_merge(&machine, &(struct machine_merge_opts){ 0 }, &arena, &merged);
	assert_int_equal(merged.n_cut, 3);
	assert_string_equal(merged.cut[0].text, "g");
	assert_true(merged.cut[0].is_domain);
	assert_string_equal(merged.cut[1].text, "10.0.0.4");
	assert_string_equal(merged.cut[2].text, "10.0.0.5");
	assert_false(merged.cut[2].is_domain);
	assert_list(&merged.devices[0].addresses, "10.0.0.1 10.0.0.2 10.0.0.3");
	arena_done(&arena);
}

/* Per field: a machine with servers of its own still gets the domains of its addresses. */
static void fields_are_independent(void **state)
{
	(void)state;
	struct arena arena;
	struct machine_device device = { 0 };
	struct machine machine = { .devices = &device, .n_devices = 1 };
	struct machine_merged merged;
	arena_init(&arena);
	fill_list(&arena, "10.0.0.1", &device.from_addresses.addresses);
	fill_list(&arena, "a.b", &device.from_addresses.search);
	fill_list(&arena, "10.8.0.1", &machine.own.addresses);
	machine_merge(&machine, &(struct machine_merge_opts){ 0 }, &arena, &merged);
	assert_list(&merged.all.addresses, "10.8.0.1");
	assert_list(&merged.all.search, "a.b");
	arena_done(&arena);
}

/* Domains of a device without servers: where they are written. A letter is a domain; `+` says that the
 * device has a server. */
static void lone_domains(void **state)
{
	(void)state;
	static const struct {
		const char *devices[4], *expected[4];
	} rows[] = {
		{ { "+a", "+b", "+c", "+d" }, { "a", "b", "c", "d" } },
		{ { "a", "b", "c", "d" }, { "a", "b", "c", "d" } },
		{ { "a", "b", "+c", "d" }, { "", "", "a b c d", "" } },
		{ { "+a", "b", "+c", "d" }, { "a", "", "b c d", "" } },
		{ { "+a", "b", "c", "d" }, { "a b c d", "", "", "" } },
		{ { "a", "+", "a", "+b" }, { "", "a", "", "a b" } },
	};
	static const char *const one_server[] = { "10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.1" };
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct arena arena;
		struct machine_device devices[4] = { 0 };
		struct machine machine = { .devices = devices, .n_devices = 4 };
		struct machine_merged merged;
		arena_init(&arena);
		for (size_t j = 0; j < 4; j++) {
			const char *text = rows[i].devices[j];
			if (text[0] == '+')
				fill_list(&arena, one_server[j], &devices[j].own.addresses);
			fill_list(&arena, text + (text[0] == '+'), &devices[j].own.search);
		}
		machine_merge(&machine, &(struct machine_merge_opts){ 0 }, &arena, &merged);
		for (size_t j = 0; j < 4; j++)
			assert_list(&merged.devices[j].search, rows[i].expected[j]);
		arena_done(&arena);
	}
}

/* IP-9: two devices with DHCP and one without; only device 0 has servers. */
static void dhcp_table(void **state)
{
	(void)state;
	static const struct {
		enum machine_dhcp_dns how;
		bool flat, servers, ignored[3];
	} rows[] = {
		{ MACHINE_DHCP_DNS_AUTO, false, true, { true, false, false } },
		{ MACHINE_DHCP_DNS_AUTO, true, true, { true, true, false } },
		{ MACHINE_DHCP_DNS_AUTO, false, false, { false, false, false } },
		{ MACHINE_DHCP_DNS_AUTO, true, false, { false, false, false } },
		{ MACHINE_DHCP_DNS_USE, true, true, { false, false, false } },
		{ MACHINE_DHCP_DNS_IGNORE, false, false, { true, true, false } },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct arena arena;
		struct machine_device devices[3] = { { .dhcp4 = true }, { .dhcp6 = true } };
		struct machine machine = { .devices = devices, .n_devices = 3 };
		struct machine_merged merged;
		arena_init(&arena);
		fill_list(&arena, "a.b", &devices[0].from_addresses.search);
		if (rows[i].servers)
			fill_list(&arena, "10.0.0.1", &devices[0].from_addresses.addresses);
		machine_merge(&machine,
			      &(struct machine_merge_opts){ .flat = rows[i].flat,
							    .dhcp_dns = rows[i].how },
			      &arena, &merged);
		for (size_t j = 0; j < 3; j++)
			assert_int_equal(merged.ignore_dhcp_dns[j], rows[i].ignored[j]);
		arena_done(&arena);
	}
}

static void default_device_is_found(void **state)
{
	(void)state;
	struct machine_route routes[] = { { .to = "0.0.0.0/0" } };
	struct machine_device devices[5] = { [1] = { .dhcp4 = true },
					     [2] = { .gateway6 = "fe80::1" },
					     [3] = { .routes = routes, .n_routes = 1 },
					     [4] = { .gateway4 = "10.0.0.1" } };
	static const size_t expected[] = { 0, 0, 1, 2, 3, 3 };
	for (size_t count = 0; count <= 5; count++) {
		struct machine machine = { .devices = devices, .n_devices = count };
		struct machine_merged merged;
		struct arena arena;
		arena_init(&arena);
		machine_merge(&machine, &(struct machine_merge_opts){ .flat = true }, &arena,
			      &merged);
		assert_int_equal(merged.default_device, expected[count]);
		arena_done(&arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(example_in_every_order),
		cmocka_unit_test(server_table),
		cmocka_unit_test(domain_table),
		cmocka_unit_test(spellings_are_one),
		cmocka_unit_test(cuts_are_listed),
		cmocka_unit_test(fields_are_independent),
		cmocka_unit_test(lone_domains),
		cmocka_unit_test(dhcp_table),
		cmocka_unit_test(default_device_is_found),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
