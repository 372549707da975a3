/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The text of the file: the proposal's examples, its explanation, and that reading it again gives
 * the same lists. */
#include "dns/podresolv/podresolv.h"

#include "dns/podresolv/test_podresolv.h"

static const char proposal_host[] = "nameserver 10.1.1.10\nsearch foo.com\noptions ndots:1\n";

struct rendered {
	struct arena arena;
	struct test_config own;
	struct podresolv_config host;
	struct slice cluster_dns;
	struct podresolv_input input;
	struct podresolv_result result;
};

static void start_pod(struct rendered *rendered, const char *host, enum podresolv_policy policy)
{
	*rendered = (struct rendered){ .cluster_dns = SLICE("10.0.0.10") };
	arena_init(&rendered->arena);
	assert_int_equal(podresolv_parse_host(slice_of(host), false, &rendered->arena,
					      &rendered->host, (struct err_text){ NULL, 0 }),
			 0);
	rendered->input = (struct podresolv_input){
		.ns = SLICE("default"),
		.policy = policy,
		.host = &rendered->host,
		.cluster_dns = &rendered->cluster_dns,
		.n_cluster_dns = 1,
		.cluster_domain = SLICE("cluster.local"),
	};
}

static void compute_pod(struct rendered *rendered)
{
	assert_int_equal(podresolv_compute(&rendered->input, &rendered->arena, &rendered->result,
					   (struct err_text){ NULL, 0 }),
			 0);
}

/* PD-20 */
static void own_ndots(void **state)
{
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	struct rendered rendered;
	(void)state;
	start_pod(&rendered, proposal_host, PODRESOLV_CLUSTER_FIRST);
	rendered.input.config = set_config(&rendered.own, "", "", "ndots:1");
	compute_pod(&rendered);
	podresolv_render(&rendered.result, &out);
	assert_string_equal(
		out.s, "nameserver 10.0.0.10\n"
		       "search default.svc.cluster.local svc.cluster.local cluster.local foo.com\n"
		       "options ndots:1\n");
	arena_done(&rendered.arena);
}

/* PD-21 */
static void own_servers(void **state)
{
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	struct rendered rendered;
	(void)state;
	start_pod(&rendered, proposal_host, PODRESOLV_NONE);
	rendered.input.config =
		set_config(&rendered.own, "1.2.3.4", "ns1.svc.cluster.local my.dns.search.suffix",
			   "ndots:2 edns0");
	compute_pod(&rendered);
	podresolv_render(&rendered.result, &out);
	assert_string_equal(out.s, "nameserver 1.2.3.4\n"
				   "search ns1.svc.cluster.local my.dns.search.suffix\n"
				   "options ndots:2 edns0\n");
	arena_done(&rendered.arena);
}

static void empty_lists(void **state)
{
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	struct rendered rendered;
	(void)state;
	start_pod(&rendered, "", PODRESOLV_NONE);
	compute_pod(&rendered);
	podresolv_render(&rendered.result, &out);
	assert_string_equal(out.s, "");
	podresolv_explain(&rendered.result, &out);
	assert_string_equal(out.s, "# policy None\n");
	arena_done(&rendered.arena);
}

static void explanation(void **state)
{
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	struct rendered rendered;
	(void)state;
	start_pod(&rendered, proposal_host, PODRESOLV_CLUSTER_FIRST);
	rendered.input.config = set_config(&rendered.own, "10.0.0.10 192.0.2.1 192.0.2.2 192.0.2.3",
					   "foo.com. a", "ndots:1 edns0 ndots:2");
	rendered.own.searches[1] = SLICE("a\nb");
	compute_pod(&rendered);
	podresolv_explain(&rendered.result, &out);
	assert_string_equal(
		out.s,
		"# policy ClusterFirst\n"
		"nameserver 10.0.0.10\n"
		"nameserver 192.0.2.1\n"
		"nameserver 192.0.2.2\n"
		"#   10.0.0.10: cluster DNS address 1\n"
		"#   10.0.0.10: spec.dnsConfig.nameservers[0]; not used: an earlier entry is the "
		"same\n"
		"#   192.0.2.1: spec.dnsConfig.nameservers[1]\n"
		"#   192.0.2.2: spec.dnsConfig.nameservers[2]\n"
		"#   192.0.2.3: spec.dnsConfig.nameservers[3]; not used: past the number of "
		"entries that the profile allows\n"
		"search default.svc.cluster.local svc.cluster.local cluster.local foo.com\n"
		"#   default.svc.cluster.local: search domain 1 of the cluster\n"
		"#   svc.cluster.local: search domain 2 of the cluster\n"
		"#   cluster.local: search domain 3 of the cluster\n"
		"#   foo.com: host file, search domain 1\n"
		"#   foo.com: spec.dnsConfig.searches[0]; not used: an earlier entry is the same\n"
		"#   \"a\\nb\": spec.dnsConfig.searches[1]; not used: empty, or characters that "
		"would end the entry\n"
		"options ndots:2 edns0\n"
		"#   ndots:5: option of the policy; not used: a later option has the same name\n"
		"#   ndots:1: spec.dnsConfig.options[0]; not used: a later option has the same "
		"name\n"
		"#   ndots:2: spec.dnsConfig.options[2]\n"
		"#   edns0: spec.dnsConfig.options[1]\n");
	arena_done(&rendered.arena);
}

/* PD-M6, PD-17: equal input makes equal bytes, and the file, read as a host file and rendered for
 * a pod that takes the host's settings, is the same file. */
static void reads_the_same(void **state)
{
	static const char *const hosts[] = {
		proposal_host,
		"nameserver ::1\nnameserver 0::2\nsearch a. b. A\noptions x:1:2 y x:3 z:\n",
		"nameserver fe80::1%eth0\nsearch #no ;no\noptions #no\n",
		"search a.. b...\n",
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
		CLEANUP(strbuf_done)
		struct strbuf first = STRBUF_INIT, again = STRBUF_INIT, second = STRBUF_INIT;
		struct rendered rendered, reread;
		start_pod(&rendered, hosts[i], PODRESOLV_DEFAULT);
		compute_pod(&rendered);
		podresolv_render(&rendered.result, &first);
		compute_pod(&rendered);
		podresolv_render(&rendered.result, &again);
		assert_string_equal(first.s, again.s);
		start_pod(&reread, first.s, PODRESOLV_DEFAULT);
		compute_pod(&reread);
		podresolv_render(&reread.result, &second);
		assert_string_equal(first.s, second.s);
		arena_done(&rendered.arena);
		arena_done(&reread.arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_ndots),	  cmocka_unit_test(own_servers),
		cmocka_unit_test(empty_lists),	  cmocka_unit_test(explanation),
		cmocka_unit_test(reads_the_same),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
