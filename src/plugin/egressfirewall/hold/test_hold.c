/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The hold on the real chain, with address sets in memory whose acknowledgements the test gives: what waits and
 * what does not (EF-P1, EF-P2), what clients get when an agent is late, away or full, limits (EF-P10), and TTLs
 * that never outlive a rule (EF-P6); on one machine, queries of the machine itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/egress/name.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "plugin/egressfirewall/hold/hold_test.h"
#include "plugin/egressfirewall/hold/links_test.h"
#include "plugin/egressfirewall/store_test.h"
#include "testing/fake_addrset.h"
#include "testing/fake_server.h"

#define POD    "10.1.0.2:4000"
#define POD_2  "10.1.0.3:4000"
#define REMOTE "10.2.0.2:4000"
#define PLAIN  "10.1.0.9:4000"
#define LOST   "10.3.0.2:4000"

static struct egressfirewall_rules *rules;
static struct fake_addrset *node_1, *node_2;
static struct kube_string_pool *texts;
static struct kube_codec *codec;
static _Atomic uint32_t age;

static struct addrset *set_of(const char *node)
{
	if (strcmp(node, "node-1") == 0)
		return fake_addrset_set(node_1);
	return strcmp(node, "node-2") == 0 ? fake_addrset_set(node_2) : NULL;
}

static void fill_nothing(struct egressfirewall_clients *clients, unsigned n)
{
	(void)clients;
	(void)n;
}

static int start_world(void **state)
{
	(void)state;
	rules = egressfirewall_rules_new();
	egressfirewall_store_preset(rules);
	egressfirewall_hold_preset(fill_nothing, 0);
	egressfirewall_links_preset(set_of);
	node_1 = fake_addrset_new();
	node_2 = fake_addrset_new();
	fake_addrset_set(node_1)->age = &age;
	texts = kube_string_pool_new();
	codec = kube_pod_node_codec(texts);
	return 0;
}

static int end_world(void **state)
{
	(void)state;
	egressfirewall_store_preset(NULL);
	egressfirewall_hold_preset(NULL, 0);
	egressfirewall_links_preset(NULL);
	egressfirewall_rules_free(rules);
	fake_addrset_free(node_1);
	fake_addrset_free(node_2);
	kube_codec_free(codec);
	kube_string_pool_free(texts);
	return 0;
}

/* ---- objects ---- */

static struct kube_obj *pod_of(const char *ns, const char *name, const char *node, const char *ip,
			       const char *more)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	struct kube_obj *pod = NULL;
	strbuf_addf(&text,
		    "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\"%s},\"spec\":{\"nodeName\":"
		    "\"%s\"},"
		    "\"status\":{\"hostIP\":\"192.0.2.1\",\"podIPs\":[{\"ip\":\"%s\"}]}}",
		    name, ns, more, node, ip);
	assert_int_equal(codec->decode(codec, strbuf_slice(&text), &pod), 0);
	return pod;
}

static void add_pod(const char *ns, const char *name, const char *node, const char *ip)
{
	struct kube_obj *pod = pod_of(ns, name, node, ip, "");
	egressfirewall_clients_pod(egressfirewall_hold_clients(), NULL, pod);
	kube_obj_unref(pod);
}

static void set_firewall(const char *ns, const char *egress)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	strbuf_addf(&text, "{\"metadata\":{\"name\":\"default\"},\"spec\":{\"egress\":[%s]}}",
		    egress);
	json_t *tree = json_loads(text.s, 0, NULL);
	assert_non_null(tree);
	egressfirewall_clients_firewall(egressfirewall_hold_clients(), slice_of(ns), tree);
	json_decref(tree);
}

#define ALLOW(name) "{\"type\":\"Allow\",\"to\":{\"dnsName\":\"" name "\"}}"
#define DENY(name)  "{\"type\":\"Deny\",\"to\":{\"dnsName\":\"" name "\"}}"

#define ANSWERS                                                                                  \
	" template IN A example.com {\n  answer \"{{ .Name }} 60 IN A 192.0.2.1\"\n }\n"         \
	" template IN AAAA example.com {\n  answer \"{{ .Name }} 60 IN AAAA 2001:db8::1\"\n }\n" \
	" template IN A chain.test {\n  answer \"{{ .Name }} 60 IN CNAME www.example.com.\"\n"   \
	"  answer \"www.example.com. 30 IN A 192.0.2.7\"\n }\n"                                  \
	" template IN A odd.test {\n  answer \"{{ .Name }} 60 IN A 169.254.169.254\"\n"          \
	"  answer \"{{ .Name }} 60 IN A 10.0.0.1\"\n }\n"                                        \
	" template IN A mixed.test {\n  answer \"{{ .Name }} 60 IN A 127.0.0.1\"\n"              \
	"  answer \"{{ .Name }} 60 IN A 192.0.2.8\"\n }\n"                                       \
	" template IN A long.test {\n  answer \"{{ .Name }} 2000000 IN A 192.0.2.9\"\n }\n"      \
	" template IN A . {\n  answer \"{{ .Name }} 60 IN A 192.0.2.2\"\n }\n"

static struct fake *start(const char *options, const char *above)
{
	CLEANUP(strbuf_done) struct strbuf corefile = STRBUF_INIT;
	strbuf_addf(&corefile,
		    ". {\n prometheus 127.0.0.1:0\n errors\n egressfirewall {\n  hold\n"
		    "  never 10.0.0.0/8\n%s }\n%s%s}\n",
		    options, above, ANSWERS);
	struct fake *f = fake_new(corefile.s);
	if (f == NULL)
		fail_msg("%s", fake_error());
	add_pod("web", "a", "node-1", "10.1.0.2");
	add_pod("web", "b", "node-1", "10.1.0.3");
	add_pod("web", "r", "node-2", "10.2.0.2");
	add_pod("web", "l", "node-3", "10.3.0.2");
	add_pod("plain", "p", "node-1", "10.1.0.9");
	set_firewall("web", ALLOW("www.example.com") "," DENY("*.example.com") "," ALLOW(
				    "odd.test") "," ALLOW("mixed.test") "," ALLOW("long.test"));
	return f;
}

static const char *ask_from(struct fake *fake, const char *client, const char *name, bool edns)
{
	return fake_ask(
		fake,
		&(struct fake_ask){ .name = name, .client = client, .udp_size = edns ? 1232 : 0 });
}

/* The rest of a query that waits, when its node answers so. */
static const char *finish(struct fake *fake, struct fake_addrset *node, int result)
{
	fake_addrset_commit(node, result);
	fake_advance(fake, NS_PER_MS);
	return fake_next(fake);
}

static bool has_pair(struct fake_addrset *node, const char *rule, const char *ip)
{
	struct addrset_pair pair = { .name = addrset_id_of(slice_of(rule)) };
	union net_addr addr;
	size_t n;
	assert_int_equal(net_addr_parse_ip(slice_of(ip), &addr), 0);
	const uint8_t *bytes = net_addr_bytes(&addr, &n);
	pair.address.n = (uint8_t)n;
	memcpy(pair.address.bytes, bytes, n);
	return addrset_holds(fake_addrset_set(node), &pair, 1);
}

static double count_of(struct fake *fake, const char *result)
{
	char line[128];
	snprintf(line, sizeof(line), "fairlead_egress_hold_answers_total{result=\"%s\"}", result);
	return fake_metric(fake, line);
}

/* ---- tests ---- */

static void new_pairs_wait_and_known_ones_pass(void **state)
{
	(void)state;
	struct fake *f = start("", " cache 30\n");
	assert_null(ask_from(f, POD, "www.example.com", false));
	assert_int_equal(fake_inflight(f), 1);
	assert_int_equal(fake_addrset_waiting(node_1), 1);
	assert_string_equal(fake_addrset_tenant(node_1), "web"); /* whose limits count */
	assert_non_null(strstr(finish(f, node_1, 0), "192.0.2.1"));
	/* Under both rules that cover it. */
	assert_true(has_pair(node_1, "www.example.com", "192.0.2.1"));
	assert_true(has_pair(node_1, "*.example.com", "192.0.2.1"));
	/* The same again, from the memo and the cache; also for another pod of the same node. */
	for (int i = 0; i < 3; i++) {
		assert_non_null(strstr(ask_from(f, POD, "WWW.example.com", false), "192.0.2.1"));
		assert_non_null(strstr(ask_from(f, POD_2, "www.example.com", false), "192.0.2.1"));
	}
	/* Another node knows nothing of it. */
	assert_null(ask_from(f, REMOTE, "www.example.com", false));
	assert_int_equal(fake_addrset_waiting(node_1), 0);
	assert_non_null(strstr(finish(f, node_2, 0), "192.0.2.1"));
	assert_int_equal(fake_addrset_commits(node_1), 1);
	assert_true(count_of(f, "released") == 2);
	assert_true(fake_metric(f, "fairlead_egress_hold_seconds_count") == 2);
	assert_int_equal(fake_inflight(f), 0);
	fake_free(f);
}

/* No rule of the client's namespace covers the name, or the client is no pod. */
static void others_do_not_wait(void **state)
{
	(void)state;
	struct fake *f = start("", "");
	assert_non_null(ask_from(f, PLAIN, "www.example.com", false));
	assert_non_null(ask_from(f, "198.51.100.1:53", "www.example.com", false));
	assert_non_null(ask_from(f, "[2001:db8::5]:53", "www.example.com", false));
	assert_non_null(ask_from(f, POD, "other.test", false));
	assert_non_null(ask_from(f, POD, "a.b.example.com", false));
	/* Answers without addresses. */
	assert_non_null(fake_ask(
		f, &(struct fake_ask){ .name = "www.example.com", .type = "TXT", .client = POD }));
	assert_int_equal(fake_addrset_waiting(node_1), 0);
	/* The rule comes, and goes again. */
	set_firewall("plain", ALLOW("www.example.com"));
	assert_null(ask_from(f, PLAIN, "www.example.com", false));
	assert_non_null(finish(f, node_1, 0));
	egressfirewall_clients_firewall(egressfirewall_hold_clients(), SLICE("plain"), NULL);
	assert_non_null(fake_ask(
		f,
		&(struct fake_ask){ .name = "www.example.com", .type = "AAAA", .client = PLAIN }));
	fake_free(f);
}

static const struct {
	int code;
	const char *label, *text;
} failures[] = {
	{ ERR_TIMEOUT, "late", "egress rule not in force: the node did not answer in time" },
	{ ERR_CLOSED, "unreachable", "egress rule not in force: the node cannot be reached" },
	{ ERR_LIMIT, "full", "egress rule not in force: the node has no room" },
	{ ERR_QUOTA, "quota",
	  "egress rule not in force: the namespace or the name has too many addresses" },
	{ ERR_BUSY, "busy", "egress rule not in force: the node has too much to do" },
};

/* SERVFAIL, with the reason where the client speaks EDNS; nothing keeps it. */
static void failures_are_not_kept(void **state)
{
	(void)state;
	struct fake *f = start("", " cache 30\n");
	for (size_t i = 0; i < ARRAY_LEN(failures); i++) {
		assert_null(ask_from(f, POD, "www.example.com", true));
		const char *reply = finish(f, node_1, failures[i].code);
		assert_non_null(strstr(reply, "SERVFAIL"));
		assert_null(strstr(reply, "192.0.2.1"));
		size_t n;
		const uint8_t *wire = fake_wire(f, &n);
		assert_non_null(memmem(wire, n, failures[i].text, strlen(failures[i].text)));
		assert_true(count_of(f, failures[i].label) == 1);
		assert_non_null(strstr(fake_log(f), failures[i].text));
	}
	assert_null(ask_from(f, POD, "www.example.com", false));
	assert_non_null(strstr(finish(f, node_1, ERR_TIMEOUT), "SERVFAIL"));
	size_t n;
	const uint8_t *wire = fake_wire(f, &n);
	assert_null(memmem(wire, n, "egress", 6));
	assert_null(ask_from(f, POD, "www.example.com", false));
	assert_non_null(strstr(finish(f, node_1, 0), "192.0.2.1"));
	/* No connection at all: at once. */
	assert_non_null(strstr(ask_from(f, LOST, "www.example.com", true), "SERVFAIL"));
	/* Other names of the same pod are answered. */
	assert_non_null(strstr(ask_from(f, LOST, "other.test", true), "192.0.2.2"));
	fake_free(f);
}

/* Queries of one commit are answered together. */
static void groups_are_released_together(void **state)
{
	(void)state;
	char name[64];
	struct fake *f = start("", "");
	for (int i = 0; i < 50; i++) {
		snprintf(name, sizeof(name), "n%d.example.com", i);
		assert_null(ask_from(f, i % 2 != 0 ? POD : POD_2, name, false));
	}
	assert_int_equal(fake_addrset_waiting(node_1), 50);
	assert_non_null(strstr(finish(f, node_1, 0), "192.0.2.1"));
	for (int i = 1; i < 50; i++)
		assert_non_null(strstr(fake_next(f), "192.0.2.1"));
	assert_int_equal(fake_addrset_commits(node_1), 1);
	fake_free(f);
}

/* EF-P10: one client, one namespace. */
static void waiting_is_limited(void **state)
{
	(void)state;
	char name[64];
	struct fake *f = start("  max_held 5\n  max_held_per_client 3\n", "");
	for (int i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "n%d.example.com", i);
		assert_null(ask_from(f, POD, name, true));
	}
	assert_non_null(strstr(ask_from(f, POD, "n9.example.com", true), "SERVFAIL"));
	assert_true(count_of(f, "client_limit") == 1);
	assert_null(ask_from(f, POD_2, "n4.example.com", true));
	assert_null(ask_from(f, REMOTE, "n5.example.com", true));
	assert_non_null(strstr(ask_from(f, POD_2, "n6.example.com", true), "SERVFAIL"));
	assert_true(count_of(f, "namespace_limit") == 1);
	/* Another namespace has a share of its own. */
	set_firewall("plain", ALLOW("*.example.com"));
	assert_null(ask_from(f, PLAIN, "n6.example.com", true));
	assert_non_null(finish(f, node_1, 0));
	while (fake_next(f) != NULL)
		;
	/* There is room again, for what is new. */
	assert_non_null(ask_from(f, POD, "m1.example.com", true));
	assert_null(fake_ask(
		f, &(struct fake_ask){ .name = "m1.example.com", .type = "AAAA", .client = POD }));
	fake_addrset_commit(node_1, 0);
	fake_addrset_commit(node_2, 0);
	fake_advance(f, NS_PER_MS);
	assert_int_equal(fake_inflight(f), 0);
	fake_free(f);
}

/* 8.7: addresses that are never learnt pass and are not added. */
static void some_addresses_open_nothing(void **state)
{
	(void)state;
	struct fake *f = start("", "");
	assert_non_null(strstr(ask_from(f, POD, "odd.test", false), "169.254.169.254"));
	assert_int_equal(fake_addrset_waiting(node_1), 0);
	assert_true(fake_metric(f, "fairlead_egress_hold_never_added_total") == 2);
	assert_null(ask_from(f, POD, "mixed.test", false));
	const char *reply = finish(f, node_1, 0);
	assert_non_null(strstr(reply, "127.0.0.1"));
	assert_non_null(strstr(reply, "192.0.2.8"));
	assert_true(has_pair(node_1, "mixed.test", "192.0.2.8"));
	assert_false(has_pair(node_1, "mixed.test", "127.0.0.1"));
	fake_free(f);
}

/* The names of a chain, renamed questions, wildcards of any depth, and both families. */
static void chains_and_wildcards(void **state)
{
	(void)state;
	struct fake *f = start("", " rewrite name exact outer.test www.example.com\n");
	assert_null(ask_from(f, POD, "a.chain.test", false));
	assert_non_null(strstr(finish(f, node_1, 0), "192.0.2.7"));
	assert_true(has_pair(node_1, "www.example.com", "192.0.2.7"));
	assert_null(fake_ask(
		f, &(struct fake_ask){ .name = "outer.test", .type = "AAAA", .client = POD }));
	assert_non_null(finish(f, node_1, 0));
	assert_true(has_pair(node_1, "www.example.com", "2001:db8::1"));
	assert_true(has_pair(node_1, "*.example.com", "2001:db8::1"));
	assert_false(has_pair(node_1, "**.example.com", "2001:db8::1"));
	json_t *tree = json_pack("{s:{s:{s:s}},s:{s:[{s:s,s:{s:s}}]}}", "metadata", "annotations",
				 EGRESS_DEPTH_ANNOTATION, EGRESS_DEPTH_ANY, "spec", "egress",
				 "type", "Allow", "to", "dnsName", "*.example.com");
	egressfirewall_clients_firewall(egressfirewall_hold_clients(), SLICE("plain"), tree);
	json_decref(tree);
	assert_null(fake_ask(
		f,
		&(struct fake_ask){ .name = "a.b.example.com", .type = "AAAA", .client = PLAIN }));
	assert_non_null(strstr(finish(f, node_1, 0), "2001:db8::1"));
	assert_true(has_pair(node_1, "**.example.com", "2001:db8::1"));
	fake_free(f);
}

/* EF-P6: a pair outlives the TTL that was handed out; one that cannot be renewed shortens it. */
static void ttls_end_before_rules(void **state)
{
	(void)state;
	struct fake *f = start("", "");
	assert_null(ask_from(f, POD, "www.example.com", false));
	assert_non_null(finish(f, node_1, 0));
	struct addrset_pair pair = { .name = addrset_id_of(SLICE("www.example.com")),
				     .address = { .n = 4, .bytes = { 192, 0, 2, 1 } } };
	pair.until_ns = clock_mono_ns() + 61 * NS_PER_S;
	assert_true(addrset_holds(fake_addrset_set(node_1), &pair, 1));
	pair.until_ns = clock_mono_ns() + 66 * NS_PER_S;
	assert_false(addrset_holds(fake_addrset_set(node_1), &pair, 1));
	fake_advance(f, 3 * NS_PER_S);
	assert_non_null(ask_from(f, POD, "www.example.com", false));
	/* Too little is left for a whole TTL. */
	fake_advance(f, 20 * NS_PER_S);
	assert_null(ask_from(f, POD, "www.example.com", false));
	assert_non_null(
		strstr(finish(f, node_1, ERR_TIMEOUT), "www.example.com. 40 IN A 192.0.2.1"));
	assert_true(count_of(f, "shorter_ttl") == 1);
	fake_advance(f, 60 * NS_PER_S);
	assert_null(ask_from(f, POD, "www.example.com", false));
	assert_non_null(strstr(finish(f, node_1, ERR_TIMEOUT), "SERVFAIL"));
	/* Longer than an agent keeps a pair. */
	assert_null(ask_from(f, POD, "long.test", false));
	assert_non_null(strstr(finish(f, node_1, 0), "long.test. 604800 IN A"));
	fake_free(f);
}

/* The agent may know less than before: nothing counts that was remembered. */
static void memos_end_with_the_connection(void **state)
{
	(void)state;
	struct fake *f = start("", " cache 30\n");
	assert_null(ask_from(f, POD, "www.example.com", false));
	assert_non_null(finish(f, node_1, 0));
	assert_non_null(ask_from(f, POD, "www.example.com", false));
	struct fake_addrset *old = node_1;
	node_1 = fake_addrset_new();
	/* The link keeps the old set, which is emptied and has another age. */
	fake_addrset_forget(old);
	atomic_fetch_add(&age, 1);
	assert_null(ask_from(f, POD, "www.example.com", false));
	assert_non_null(finish(f, old, 0));
	fake_free(f);
	fake_addrset_free(old);
}

static void changes_while_it_waits(void **state)
{
	(void)state;
	struct fake *f = start("", "");
	struct kube_obj *pod = pod_of("web", "a", "node-1", "10.1.0.2", "");
	/* The pod and its firewall go. */
	assert_null(ask_from(f, POD, "www.example.com", false));
	egressfirewall_clients_pod(egressfirewall_hold_clients(), pod, NULL);
	egressfirewall_clients_firewall(egressfirewall_hold_clients(), SLICE("web"), NULL);
	assert_non_null(strstr(finish(f, node_1, 0), "192.0.2.1"));
	/* A reload, which keeps the hold: the answer of the old generation leaves, too. */
	set_firewall("plain", ALLOW("www.example.com"));
	assert_null(fake_ask(
		f,
		&(struct fake_ask){ .name = "www.example.com", .type = "AAAA", .client = PLAIN }));
	CLEANUP(strbuf_done) struct strbuf corefile = STRBUF_INIT;
	strbuf_addf(&corefile,
		    ". {\n cache\n egressfirewall {\n  hold\n  never 10.0.0.0/8\n }\n%s}\n",
		    ANSWERS);
	assert_true(fake_reload(f, corefile.s));
	assert_non_null(strstr(finish(f, node_1, 0), "2001:db8::1"));
	assert_non_null(strstr(ask_from(f, PLAIN, "www.example.com", false), "192.0.2.1"));
	kube_obj_unref(pod);
	fake_free(f);
}

/* Two pods report an address: the one that stays counts, else the newer; one in the host's network does not. */
static void addresses_of_two_pods(void **state)
{
	(void)state;
	struct fake *f = start("", "");
	struct egressfirewall_clients *clients = egressfirewall_hold_clients();
	struct kube_obj *old = pod_of("web", "x", "node-1", "10.1.0.5",
				      ",\"creationTimestamp\":\"2026-01-01T00:00:00Z\"");
	struct kube_obj *new = pod_of("plain", "y", "node-1", "10.1.0.5",
				      ",\"creationTimestamp\":\"2026-01-02T00:00:00Z\"");
	struct kube_obj *going = pod_of("plain", "y", "node-1", "10.1.0.5",
					",\"creationTimestamp\":\"2026-01-02T00:00:00Z\","
					"\"deletionTimestamp\":\"2026-01-03T00:00:00Z\"");
	const char *client = "10.1.0.5:53";
	egressfirewall_clients_pod(clients, NULL, old);
	egressfirewall_clients_pod(clients, NULL, new);
	assert_non_null(ask_from(f, client, "www.example.com", false));
	egressfirewall_clients_pod(clients, new, going);
	assert_null(ask_from(f, client, "www.example.com", false));
	assert_non_null(finish(f, node_1, 0));
	egressfirewall_clients_pod(clients, old, NULL);
	assert_non_null(ask_from(f, client, "x.example.com", false));
	egressfirewall_clients_pod(clients, going, NULL);
	assert_non_null(ask_from(f, client, "x.example.com", false));
	assert_int_equal(egressfirewall_clients_counts(clients).clients, 5);
	kube_obj_unref(old);
	kube_obj_unref(new);
	kube_obj_unref(going);
	fake_free(f);
}

/* A firewall that is not valid keeps the names of before, as on the nodes. */
static void invalid_firewalls(void **state)
{
	(void)state;
	struct fake *f = start("", "");
	set_firewall("web", ALLOW("*.example.com") ",{\"type\":\"Maybe\",\"to\":{}}");
	assert_null(ask_from(f, POD, "www.example.com", false));
	assert_non_null(finish(f, node_1, 0));
	assert_true(has_pair(node_1, "www.example.com", "192.0.2.1"));
	set_firewall("web", ALLOW("*.example.com"));
	assert_null(fake_ask(
		f, &(struct fake_ask){ .name = "www.example.com", .type = "AAAA", .client = POD }));
	assert_non_null(finish(f, node_1, 0));
	assert_true(has_pair(node_1, "*.example.com", "2001:db8::1"));
	assert_false(has_pair(node_1, "www.example.com", "2001:db8::1"));
	fake_free(f);
}

/* ---- one machine ---- */

static void own(const char *ns, bool is_of_machine)
{
	egressfirewall_clients_namespace(egressfirewall_hold_clients(), slice_of(ns),
					 is_of_machine);
}

#define LOCAL "127.0.0.1:4000"

/* Does the answer wait? The agent then refuses, so that nothing becomes known. */
static bool waits(struct fake *fake, const char *client, const char *name)
{
	if (ask_from(fake, client, name, false) != NULL)
		return false;
	assert_non_null(strstr(finish(fake, node_1, ERR_TIMEOUT), "SERVFAIL"));
	return true;
}

/* Users and cgroups of the machine ask from its own addresses: the rules of all their Namespaces count for these. */
static void queries_of_the_machine_wait(void **state)
{
	(void)state;
	static const char *const own_clients[] = { "127.0.0.1:53", "127.9.9.9:53", "[::1]:53",
						   "[::ffff:127.0.0.1]:53" };
	static const char *const others[] = { "198.51.100.1:53", "[2001:db8::5]:53",
					      "[::ffff:198.51.100.1]:53", PLAIN };
	struct fake *f = start("  machine\n  node node-1\n", " cache 30\n");
	/* No Namespace is annotated. */
	assert_false(waits(f, LOCAL, "www.example.com"));
	own("web", true);
	for (size_t i = 0; i < ARRAY_LEN(own_clients); i++)
		assert_true(waits(f, own_clients[i], "www.example.com"));
	/* What no rule covers, and who is another, does not wait. */
	assert_false(waits(f, LOCAL, "other.test"));
	assert_false(waits(f, LOCAL, "a.b.example.com"));
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		assert_false(waits(f, others[i], "www.example.com"));
	/* Pods keep their own rules. */
	set_firewall("plain", ALLOW("other.test"));
	assert_false(waits(f, LOCAL, "other.test"));
	assert_true(waits(f, PLAIN, "other.test"));
	/* Once it is in force it is known, from whichever of its addresses is asked. */
	assert_null(ask_from(f, LOCAL, "www.example.com", false));
	assert_int_equal(fake_addrset_waiting(node_1), 1);
	assert_string_equal(fake_addrset_tenant(node_1), "*");
	assert_non_null(strstr(finish(f, node_1, 0), "192.0.2.1"));
	assert_true(has_pair(node_1, "www.example.com", "192.0.2.1"));
	assert_true(has_pair(node_1, "*.example.com", "192.0.2.1"));
	for (size_t i = 0; i < ARRAY_LEN(own_clients); i++)
		assert_false(waits(f, own_clients[i], "www.example.com"));
	assert_int_equal(fake_inflight(f), 0);
	fake_free(f);
}

static void set_deep_firewall(const char *ns)
{
	json_t *tree = json_pack("{s:{s:{s:s}},s:{s:[{s:s,s:{s:s}}]}}", "metadata", "annotations",
				 EGRESS_DEPTH_ANNOTATION, EGRESS_DEPTH_ANY, "spec", "egress",
				 "type", "Allow", "to", "dnsName", "*.com");
	assert_non_null(tree);
	egressfirewall_clients_firewall(egressfirewall_hold_clients(), slice_of(ns), tree);
	json_decref(tree);
}

static void rules_of_the_machine_change(void **state)
{
	(void)state;
	struct fake *f = start("  machine\n  node node-1\n", "");
	struct egressfirewall_clients *clients = egressfirewall_hold_clients();
	own("web", true);
	own("plain", true);
	own("plain", true); /* another annotation has changed */
	/* Two Namespaces; wildcards of one of them cover any number of labels. */
	set_deep_firewall("plain");
	assert_true(waits(f, LOCAL, "www.example.com"));
	assert_true(waits(f, LOCAL, "a.b.example.com"));
	assert_true(waits(f, LOCAL, "mixed.test"));
	egressfirewall_clients_firewall(clients, SLICE("plain"), NULL);
	assert_false(waits(f, LOCAL, "a.b.example.com"));
	assert_true(waits(f, LOCAL, "www.example.com"));
	own("web", false);
	assert_false(waits(f, LOCAL, "www.example.com"));
	assert_true(waits(f, POD, "www.example.com"));
	/* The Namespace before its firewall. */
	own("late", true);
	assert_false(waits(f, LOCAL, "www.example.com"));
	set_firewall("late", ALLOW("*.example.com"));
	assert_true(waits(f, LOCAL, "www.example.com"));
	/* One that is not valid keeps the names of before. */
	set_firewall("late", ALLOW("other.test") ",{\"type\":\"Maybe\",\"to\":{}}");
	assert_false(waits(f, LOCAL, "other.test"));
	assert_true(waits(f, LOCAL, "www.example.com"));
	/* All of it goes while a query waits. */
	assert_null(ask_from(f, LOCAL, "www.example.com", false));
	egressfirewall_clients_firewall(clients, SLICE("late"), NULL);
	own("late", false);
	own("plain", false);
	assert_non_null(strstr(finish(f, node_1, 0), "192.0.2.1"));
	assert_int_equal(egressfirewall_clients_counts(clients).firewalls, 1);
	assert_int_equal(egressfirewall_clients_counts(clients).tenants, 2);
	fake_free(f);
}

/* EF-P1: network namespaces of the machine ask from addresses of their own, which the agent reports. */
static void networks_of_the_machine_wait(void **state)
{
	(void)state;
	struct fake *f = start("  machine\n  node node-1\n", "");
	struct egressfirewall_clients *clients = egressfirewall_hold_clients();
	size_t before = egressfirewall_clients_counts(clients).clients;
	set_firewall("net", ALLOW("other.test"));
	assert_false(waits(f, "10.9.0.2:53", "other.test"));
	egressfirewall_clients_networks(clients,
					SLICE("net 10.9.0.2\nnet 2001:db8::9\nbad\nnet x\n"));
	assert_int_equal(egressfirewall_clients_counts(clients).clients, before + 2);
	assert_true(waits(f, "10.9.0.2:53", "other.test"));
	assert_string_equal(fake_addrset_tenant(node_1), "net");
	assert_true(waits(f, "[2001:db8::9]:53", "other.test"));
	/* Rules of others are nothing to it, and its rules are nothing to the machine. */
	assert_false(waits(f, "10.9.0.2:53", "www.example.com"));
	assert_false(waits(f, LOCAL, "other.test"));
	assert_false(waits(f, "10.9.0.3:53", "other.test"));
	/* Another address, while a query of the one before waits. */
	assert_null(ask_from(f, "10.9.0.2:53", "other.test", false));
	egressfirewall_clients_networks(clients, SLICE("net 10.9.0.3\nnet 2001:db8::9\n"));
	assert_non_null(finish(f, node_1, ERR_TIMEOUT));
	assert_false(waits(f, "10.9.0.2:53", "other.test"));
	assert_true(waits(f, "10.9.0.3:53", "other.test"));
	/* A pod of the same address, and its end, leave it alone. */
	struct kube_obj *pod = pod_of("late", "late", "node-1", "10.9.0.3", "");
	egressfirewall_clients_pod(clients, NULL, pod);
	egressfirewall_clients_pod(clients, pod, NULL);
	kube_obj_unref(pod);
	assert_true(waits(f, "10.9.0.3:53", "other.test"));
	egressfirewall_clients_networks(clients, SLICE(""));
	assert_int_equal(egressfirewall_clients_counts(clients).clients, before);
	assert_false(waits(f, "10.9.0.3:53", "other.test"));
	fake_free(f);
}

/* The machine is many programs: only the limit of a namespace holds for it. Without an agent names of rules fail at
 * once, and others are answered. */
static void the_machine_is_limited(void **state)
{
	(void)state;
	char name[64];
	struct fake *f =
		start("  machine\n  node node-1\n  max_held 5\n  max_held_per_client 3\n", "");
	own("web", true);
	double limited = count_of(f, "namespace_limit"), lost = count_of(f, "unreachable");
	for (int i = 0; i < 5; i++) {
		snprintf(name, sizeof(name), "n%d.example.com", i);
		assert_null(ask_from(f, LOCAL, name, true));
	}
	assert_non_null(strstr(ask_from(f, LOCAL, "n9.example.com", true), "SERVFAIL"));
	assert_true(count_of(f, "namespace_limit") == limited + 1);
	assert_null(ask_from(f, POD, "n9.example.com", true)); /* has a share of its own */
	assert_non_null(finish(f, node_1, 0));
	while (fake_next(f) != NULL)
		;
	fake_free(f);
	f = start("  machine\n  node node-3\n", "");
	own("web", true);
	assert_non_null(strstr(ask_from(f, LOCAL, "www.example.com", true), "SERVFAIL"));
	assert_true(count_of(f, "unreachable") == lost + 1);
	assert_non_null(strstr(ask_from(f, LOCAL, "other.test", true), "192.0.2.2"));
	assert_non_null(
		strstr(ask_from(f, "198.51.100.1:53", "www.example.com", true), "192.0.2.1"));
	fake_free(f);
}

/* In a cluster annotations of Namespaces are nothing. */
static void a_cluster_has_no_machine(void **state)
{
	(void)state;
	struct fake *f = start("  node node-1\n", "");
	own("web", true);
	assert_non_null(ask_from(f, LOCAL, "www.example.com", false));
	fake_free(f);
}

static const struct {
	const char *stanza, *error;
} refused[] = {
	{ "egressfirewall {\nhold 1h\n}", "Corefile:3:6: '1h' is not a duration from 10ms to 4s" },
	{ "egressfirewall {\nhold 1s 2s\n}", "Corefile:3:" },
	{ "egressfirewall {\nnode x\n}", "Corefile:2:1: 'node' needs 'hold'" },
	{ "egressfirewall {\nmachine\n}", "Corefile:2:1: 'machine' needs 'hold'" },
	{ "egressfirewall {\nhold\nmachine x\n}", "Corefile:4:" },
	{ "egressfirewall {\nagent_tls a b c\n}", "Corefile:2:1: 'agent_tls' needs 'hold'" },
	{ "egressfirewall {\nhold\nagent_port 0\n}", "Corefile:4:12: " },
	{ "egressfirewall {\nhold\nmax_held 0\n}", "Corefile:4:10: " },
};

static void refuses_bad_stanzas(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		if (!fake_refuses(refused[i].stanza, refused[i].error))
			fail_msg("%s: %s", refused[i].stanza, fake_error());
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start_world, end_world)
	unsetenv("NODE_NAME");
	const struct CMUnitTest tests[] = {
		TEST(new_pairs_wait_and_known_ones_pass),
		TEST(others_do_not_wait),
		TEST(failures_are_not_kept),
		TEST(groups_are_released_together),
		TEST(waiting_is_limited),
		TEST(some_addresses_open_nothing),
		TEST(chains_and_wildcards),
		TEST(ttls_end_before_rules),
		TEST(memos_end_with_the_connection),
		TEST(changes_while_it_waits),
		TEST(addresses_of_two_pods),
		TEST(invalid_firewalls),
		TEST(queries_of_the_machine_wait),
		TEST(rules_of_the_machine_change),
		TEST(the_machine_is_limited),
		TEST(networks_of_the_machine_wait),
		TEST(a_cluster_has_no_machine),
		TEST(refuses_bad_stanzas),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
