/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One row per lint and per case in which it stays silent; AMP-9. What lints say about C libraries
 * is measured in tests/functional/test_resolvconf.py. */
#include "dns/podresolv/podresolv.h"

#include <stdio.h>

#include "dns/podresolv/test_podresolv.h"

struct row {
	const char *nameservers, *searches, *options; /* of the pod */
	enum podresolv_libc libc;
	const char *want; /* ids */
	enum podresolv_policy policy;
	const char *host_searches, *host_options;
};

static void print_ids(struct strbuf *out, const struct podresolv_result *result)
{
	for (size_t i = 0; i < result->n_findings; i++) {
		if (result->findings[i].severity == PODRESOLV_LINT)
			strbuf_addf(out, "%s%s", out->n > 0 ? " " : "", result->findings[i].reason);
	}
}

static const struct row rows[] = {
	{ "192.0.2.1", "a.b", "ndots:2", PODRESOLV_ANY_LIBC, "", PODRESOLV_NONE, "", "" },
	{ "192.0.2.1", ".", "", PODRESOLV_MUSL, "musl-root-search", PODRESOLV_NONE, "", "" },
	{ "192.0.2.1", ".", "", PODRESOLV_GLIBC, "", PODRESOLV_NONE, "", "" },
	{ "192.0.2.1", "ns.svc.z", "ndots:1", PODRESOLV_ANY_LIBC, "musl-ndots", PODRESOLV_NONE, "",
	  "" },
	{ "192.0.2.1", "ns.svc.z", "", PODRESOLV_MUSL, "musl-ndots", PODRESOLV_NONE, "", "" },
	{ "192.0.2.1", "ns.svc.z", "ndots:x", PODRESOLV_MUSL, "musl-ndots option-value",
	  PODRESOLV_NONE, "", "" },
	{ "192.0.2.1", "ns.svc.z", "ndots:2", PODRESOLV_MUSL, "", PODRESOLV_NONE, "", "" },
	{ "192.0.2.1", "ns.svc.z", "ndots:1", PODRESOLV_GLIBC, "", PODRESOLV_NONE, "", "" },
	{ "192.0.2.1", "foo.com", "ndots:1", PODRESOLV_MUSL, "", PODRESOLV_NONE, "", "" },
	{ "192.0.2.1 192.0.2.2", "", "", PODRESOLV_ANY_LIBC, "musl-parallel-servers",
	  PODRESOLV_NONE, "", "" },
	{ "192.0.2.1 192.0.2.2", "", "", PODRESOLV_GLIBC, "", PODRESOLV_NONE, "", "" },
	{ "192.0.2.1", "", "edns0", PODRESOLV_MUSL, "musl-option", PODRESOLV_NONE, "", "" },
	{ "192.0.2.1", "", "edns0", PODRESOLV_GLIBC, "", PODRESOLV_NONE, "", "" },
	{ "192.0.2.1", "", "timeout:1 attempts:2", PODRESOLV_MUSL, "", PODRESOLV_NONE, "", "" },
	{ "192.0.2.1", "a b c d e f", "", PODRESOLV_GLIBC, "", PODRESOLV_NONE, "", "" },
	{ "192.0.2.1", "a b c d e f g", "", PODRESOLV_GLIBC, "glibc-search-limits", PODRESOLV_NONE,
	  "", "" },
	{ "192.0.2.1", "a b c d e f g", "", PODRESOLV_MUSL, "", PODRESOLV_NONE, "", "" },
	{ "192.0.2.1", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.b", "",
	  PODRESOLV_ANY_LIBC, "", PODRESOLV_NONE, "", "" },
	{ "192.0.2.1", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.b", "",
	  PODRESOLV_ANY_LIBC, "search-label-length", PODRESOLV_NONE, "", "" },
	{ "192.0.2.1", "", "inet7", PODRESOLV_ANY_LIBC, "unknown-option", PODRESOLV_NONE, "", "" },
	{ "192.0.2.1", "", "edns0:1", PODRESOLV_GLIBC, "option-value", PODRESOLV_NONE, "", "" },
	{ "192.0.2.1", "", "ndots:15 timeout:30 attempts:5", PODRESOLV_ANY_LIBC, "", PODRESOLV_NONE,
	  "", "" },
	{ "192.0.2.1", "", "ndots:16 timeout:31 attempts:6", PODRESOLV_ANY_LIBC,
	  "option-range option-range option-range", PODRESOLV_NONE, "", "" },
	{ "192.0.2.1", "", "ndots:16 timeout:61 attempts:11", PODRESOLV_MUSL,
	  "option-range option-range option-range", PODRESOLV_NONE, "", "" },
	{ "192.0.2.1", "", "timeout:60 attempts:10", PODRESOLV_MUSL, "", PODRESOLV_NONE, "", "" },
	{ "", "a", "", PODRESOLV_ANY_LIBC, "no-nameserver", PODRESOLV_NONE, "", "" },
	{ "x", "", "", PODRESOLV_ANY_LIBC, "nameserver-address", PODRESOLV_NONE, "", "" },
	{ "010.0.0.1", "", "", PODRESOLV_ANY_LIBC, "nameserver-address", PODRESOLV_NONE, "", "" },
	{ "fe80::1%eth0", "", "", PODRESOLV_ANY_LIBC, "", PODRESOLV_NONE, "", "" },
	{ "2001:DB8::1", "", "", PODRESOLV_ANY_LIBC, "nameserver-form", PODRESOLV_NONE, "", "" },
	{ "", "", "", PODRESOLV_ANY_LIBC, "unknown-option host-comment host-comment",
	  PODRESOLV_DEFAULT, "a #b", "ndots:2 ;c" },
	{ "", "", "", PODRESOLV_ANY_LIBC, "", PODRESOLV_DEFAULT, "a b", "ndots:2" },
};

static void compute(struct arena *arena, const struct row *row, struct podresolv_result *ret)
{
	static struct test_config own, host;
	const struct slice cluster_dns[] = { SLICE("10.0.0.10") };
	struct podresolv_input input = {
		.ns = SLICE("ns"),
		.policy = row->policy,
		.libc = row->libc,
		.config = set_config(&own, row->nameservers, row->searches, row->options),
		.host = set_config(&host, row->policy == PODRESOLV_NONE ? "" : "192.0.2.1",
				   row->host_searches, row->host_options),
		.cluster_dns = cluster_dns,
		.n_cluster_dns = 1,
		.cluster_domain = SLICE("z"),
	};
	assert_int_equal(podresolv_compute(&input, arena, ret, (struct err_text){ NULL, 0 }), 0);
}

static void table(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_done) struct strbuf got = STRBUF_INIT, lines = STRBUF_INIT;
		struct podresolv_result result;
		struct arena arena;
		arena_init(&arena);
		compute(&arena, &rows[i], &result);
		print_ids(&got, &result);
		print_findings(&lines, &result, true);
		if (strcmp(got.s, rows[i].want) != 0)
			fail_msg("row %zu: got '%s', not '%s':\n%s", i, got.s, rows[i].want,
				 lines.s);
		arena_done(&arena);
	}
}

/* 247 characters pass, 248 do not; and for which library. */
static void search_length(void **state)
{
	static const struct {
		size_t characters;
		enum podresolv_libc libc;
		const char *want;
	} cases[] = {
		{ 247, PODRESOLV_ANY_LIBC, "" },
		{ 248, PODRESOLV_ANY_LIBC, "musl-search-length" },
		{ 248, PODRESOLV_MUSL, "musl-search-length" },
		{ 248, PODRESOLV_GLIBC, "" },
		{ 256, PODRESOLV_GLIBC, "" },
		{ 257, PODRESOLV_GLIBC, "glibc-search-limits" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char letters[PODRESOLV_SEARCH_CHARACTERS_MAX + 2];
		struct slice server = SLICE("192.0.2.1"), searches[6];
		struct podresolv_config config = { .nameservers = &server,
						   .n_nameservers = 1,
						   .searches = searches,
						   .n_searches = 6 };
		struct podresolv_input input = { .ns = SLICE("ns"),
						 .policy = PODRESOLV_NONE,
						 .config = &config,
						 .libc = cases[i].libc };
		CLEANUP(strbuf_done) struct strbuf got = STRBUF_INIT;
		struct podresolv_result result;
		struct arena arena;
		arena_init(&arena);
		fill_searches(searches, 6, cases[i].characters, letters);
		assert_int_equal(
			podresolv_compute(&input, &arena, &result, (struct err_text){ NULL, 0 }),
			0);
		print_ids(&got, &result);
		assert_string_equal(got.s, cases[i].want);
		arena_done(&arena);
	}
}

/* PD-10, PD-39: about the node. */
static void node_lints(void **state)
{
	const struct slice cluster_dns[] = { SLICE("10.0.0.10"), SLICE("x") };
	struct podresolv_config host;
	struct podresolv_result result;
	struct arena arena;
	CLEANUP(strbuf_done) struct strbuf got = STRBUF_INIT;
	(void)state;
	arena_init(&arena);
	assert_int_equal(podresolv_parse_host(SLICE("domain corp.example"), false, &arena, &host,
					      (struct err_text){ NULL, 0 }),
			 0);
	struct podresolv_input input = { .ns = SLICE("ns"),
					 .host = &host,
					 .cluster_dns = cluster_dns,
					 .n_cluster_dns = 2,
					 .cluster_domain = SLICE("z") };
	assert_int_equal(podresolv_compute(&input, &arena, &result, (struct err_text){ NULL, 0 }),
			 0);
	print_findings(&got, &result, true);
	assert_string_equal(
		got.s,
		"cluster-dns-address: cluster DNS address 'x' is not an IP address and is skipped\n"
		"host-domain: the host file's line 'domain corp.example' is not used: programs on "
		"the host search that domain, pods do not\n");
	arena_done(&arena);
}

/* Entries of a host file that are left out for their characters are reported, those of a pod are
 * errors already. */
static void host_characters(void **state)
{
	static const char text[] =
		"nameserver 192.0.2.\0001\nsearch a b\x1b[1m\noptions x\xc2\x9b:1 :2";
	struct slice own_search = SLICE("c\x07");
	struct podresolv_config host, own = { .searches = &own_search, .n_searches = 1 };
	struct podresolv_result result;
	struct arena arena;
	CLEANUP(strbuf_done) struct strbuf got = STRBUF_INIT;
	(void)state;
	arena_init(&arena);
	assert_int_equal(podresolv_parse_host((struct slice){ text, sizeof(text) - 1 }, false,
					      &arena, &host, (struct err_text){ NULL, 0 }),
			 0);
	struct podresolv_input input = {
		.ns = SLICE("ns"), .policy = PODRESOLV_DEFAULT, .host = &host, .config = &own
	};
	assert_int_equal(podresolv_compute(&input, &arena, &result, (struct err_text){ NULL, 0 }),
			 0);
	print_findings(&got, &result, true);
	assert_string_equal(
		got.s,
		"no-nameserver: there is no name server; C libraries then ask 127.0.0.1\n"
		"host-characters: name server \"192.0.2.\\x001\" in the host file contains control "
		"characters and is left out\n"
		"host-characters: search domain \"b\\x1b[1m\" in the host file contains control "
		"characters and is left out\n"
		"host-characters: option \"x\\u009b:1\" in the host file contains control "
		"characters and is left out\n"
		"host-characters: option \":2\" in the host file has no name and is left out\n");
	arena_done(&arena);
}

/* Nobody reads a million findings. */
static void many_findings(void **state)
{
	enum { MANY = 5000 };
	static struct podresolv_option options[MANY];
	static char names[MANY][8];
	struct podresolv_config config = { .options = options, .n_options = MANY };
	struct podresolv_input input = { .policy = PODRESOLV_NONE, .config = &config };
	struct podresolv_result result;
	struct arena arena;
	(void)state;
	for (size_t i = 0; i < MANY; i++) {
		snprintf(names[i], sizeof(names[i]), "x%zu", i);
		options[i].name = slice_of(names[i]);
	}
	arena_init(&arena);
	assert_int_equal(podresolv_compute(&input, &arena, &result, (struct err_text){ NULL, 0 }),
			 0);
	assert_int_equal(result.n_findings, 64);
	assert_string_equal(result.findings[63].reason, "unknown-option");
	arena_done(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table),	 cmocka_unit_test(search_length),
		cmocka_unit_test(node_lints),	 cmocka_unit_test(host_characters),
		cmocka_unit_test(many_findings),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
