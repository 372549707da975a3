/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Drives the node's nftables table for test_node_table.py. Reads commands from stdin, one JSON object in a
 * line, and answers each with one:
 *
 *   {"policy": POLICY}                                    brings the table to it
 *   {"add": [{"name": N, "address": A, "seconds": S}]}    brings pairs into force
 *   {"add": [PAIR...], "tenant": NAMESPACE}               for a namespace, whose limits count
 *   {"requests": [[PAIR...]...]}                          the same, many requests in one turn of the loop
 *   {"fill": NUMBER, "name": N, "tenant": NAMESPACE, "seconds": S}
 *                                                         so many addresses from 100.64.0.0 on, 256 in a request
 *   {"names": NUMBER, "first": NUMBER, "atOnce": NUMBER}  an address of each of so many names, and the CPU time of one request
 *   {"holds": [PAIR...]}                                  known, without a system call?
 *   {"counts": true}   {"remove": true}   {"oldKernel": true}
 *
 * POLICY has "namespaces": [{"name", "rules": [{"allow", "to": [RANGE | {"name": N}], "ports": ["tcp/443"],
 * "text"}]}], "pods": [{"address", "namespace"}], "podRanges", "alwaysOpen", "logGroup",
 * "review": reviews open connections, too. */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "addrset/nftables/apply.h"
#include "addrset/nftables/pairs.h"
#include "addrset/nftables/pairs_test.h"
#include "addrset/nftables/revoke.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "net/addr.h"
#include "net/loop.h"

static struct loop *loop;
static struct nftables_link *table_link;
static struct nftables_pairs *pairs;

static NORETURN void die(const char *what)
{
	fprintf(stderr, "node-table: %s\n", what);
	exit(1);
}

static const char *text_of(const json_t *object, const char *member)
{
	const char *text = json_string_value(json_object_get(object, member));
	return text != NULL ? text : "";
}

static struct addrset_address address_of(const char *text)
{
	union net_addr addr;
	size_t n;
	struct addrset_address address = { 0 };
	if (net_addr_parse_ip(slice_of(text), &addr) < 0)
		die(text);
	const uint8_t *bytes = net_addr_bytes(&addr, &n);
	address.n = (uint8_t)n;
	memcpy(address.bytes, bytes, n);
	return address;
}

static struct net_cidr *ranges_of(struct arena *arena, const json_t *list, size_t *ret_n)
{
	*ret_n = json_array_size(list);
	struct net_cidr *ranges = arena_calloc(arena, (*ret_n + 1) * sizeof(*ranges));
	for (size_t i = 0; i < *ret_n; i++) {
		if (net_cidr_parse(slice_of(json_string_value(json_array_get(list, i))),
				   &ranges[i]) < 0)
			die("bad range");
	}
	return ranges;
}

static struct nftables_port port_of(const char *text)
{
	static const struct {
		const char *name;
		uint8_t number;
	} protocols[] = { { "tcp/", IPPROTO_TCP },
			  { "udp/", IPPROTO_UDP },
			  { "sctp/", IPPROTO_SCTP } };
	for (size_t i = 0; i < ARRAY_LEN(protocols); i++) {
		size_t n = strlen(protocols[i].name);
		if (strncmp(text, protocols[i].name, n) == 0)
			return (struct nftables_port){ protocols[i].number,
						       (uint16_t)strtoul(text + n, NULL, 10) };
	}
	die("bad port");
}

static void read_rule(struct arena *arena, const json_t *tree, struct nftables_rule *rule)
{
	const json_t *to = json_object_get(tree, "to"), *ports = json_object_get(tree, "ports");
	struct nftables_target *targets =
		arena_calloc(arena, (json_array_size(to) + 1) * sizeof(*targets));
	struct nftables_port *list =
		arena_calloc(arena, (json_array_size(ports) + 1) * sizeof(*list));
	rule->allows = json_is_true(json_object_get(tree, "allow"));
	char *words = json_dumps(tree, JSON_COMPACT | JSON_SORT_KEYS);
	rule->text = arena_strdup(arena, words);
	free(words);
	for (size_t i = 0; i < json_array_size(to); i++) {
		const json_t *target = json_array_get(to, i);
		targets[i].is_name = json_is_object(target);
		if (targets[i].is_name) {
			targets[i].name = addrset_id_of(slice_of(text_of(target, "name")));
			targets[i].is_wildcard = text_of(target, "name")[0] == '*';
		} else if (net_cidr_parse(slice_of(json_string_value(target)), &targets[i].range) <
			   0) {
			die("bad range");
		}
	}
	for (size_t i = 0; i < json_array_size(ports); i++)
		list[i] = port_of(json_string_value(json_array_get(ports, i)));
	rule->targets = targets;
	rule->n_targets = json_array_size(to);
	rule->ports = list;
	rule->n_ports = json_array_size(ports);
}

static void read_namespaces(struct arena *arena, const json_t *list, struct nftables_policy *policy)
{
	policy->n_namespaces = json_array_size(list);
	struct nftables_namespace *namespaces =
		arena_calloc(arena, (policy->n_namespaces + 1) * sizeof(*namespaces));
	for (size_t i = 0; i < policy->n_namespaces; i++) {
		const json_t *tree = json_array_get(list, i),
			     *rules = json_object_get(tree, "rules");
		struct nftables_rule *array =
			arena_calloc(arena, (json_array_size(rules) + 1) * sizeof(*array));
		for (size_t k = 0; k < json_array_size(rules); k++)
			read_rule(arena, json_array_get(rules, k), &array[k]);
		namespaces[i] = (struct nftables_namespace){ text_of(tree, "name"), array,
							     json_array_size(rules) };
	}
	policy->namespaces = namespaces;
}

static void read_policy(struct arena *arena, const json_t *tree, struct nftables_policy *policy)
{
	const json_t *list = json_object_get(tree, "pods");
	struct nftables_pod *pods =
		arena_calloc(arena, (json_array_size(list) + 1) * sizeof(*pods));
	memset(policy, 0, sizeof(*policy));
	read_namespaces(arena, json_object_get(tree, "namespaces"), policy);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *pod = json_array_get(list, i);
		pods[i] = (struct nftables_pod){ address_of(text_of(pod, "address")),
						 text_of(pod, "namespace") };
	}
	policy->pods = pods;
	policy->n_pods = json_array_size(list);
	policy->pod_ranges =
		ranges_of(arena, json_object_get(tree, "podRanges"), &policy->n_pod_ranges);
	policy->always_open =
		ranges_of(arena, json_object_get(tree, "alwaysOpen"), &policy->n_always_open);
	policy->log_group = (uint16_t)json_integer_value(json_object_get(tree, "logGroup"));
}

static void apply_policy(const json_t *tree)
{
	struct arena arena;
	struct nftables_policy policy;
	struct nftables_plan plan;
	struct nftables_changes changes = { 0 };
	char why[256] = "";
	arena_init(&arena);
	read_policy(&arena, tree, &policy);
	nftables_pairs_set_policy(pairs, &policy);
	uint64_t start = clock_mono_ns();
	nftables_plan_init(&plan, &policy);
	uint64_t planned = clock_mono_ns();
	int r = nftables_apply(table_link, &plan, &changes, ERR_TEXT(why));
	uint64_t end = clock_mono_ns();
	size_t cleared = 0;
	if (r == 0 && json_is_true(json_object_get(tree, "review")))
		r = nftables_revoke(&policy, nftables_pairs_set(pairs), &cleared, ERR_TEXT(why));
	printf("{\"result\":%d,\"why\":\"%s\",\"messages\":%zu,\"rulesAdded\":%zu,\"rulesRemoved\":"
	       "%zu,"
	       "\"elementsAdded\":%zu,\"elementsRemoved\":%zu,\"cleared\":%zu,\"planMs\":%.3f,"
	       "\"applyMs\":%.3f}\n",
	       r, why, changes.messages, changes.rules_added, changes.rules_removed,
	       changes.elements_added, changes.elements_removed, cleared,
	       (double)(planned - start) / 1e6, (double)(end - planned) / 1e6);
	nftables_plan_done(&plan);
	arena_done(&arena);
}

/* ---- pairs ---- */

struct waiting {
	struct addrset_request request;
	struct addrset_pair *list;
};

static size_t n_waiting;
static int last_failure;

static void count_done(struct addrset_request *request UNUSED, int result)
{
	n_waiting--;
	if (result < 0)
		last_failure = result;
}

static struct addrset_pair *read_pairs(const json_t *list)
{
	struct addrset_pair *array = xcalloc(json_array_size(list) + 1, sizeof(*array));
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *pair = json_array_get(list, i);
		double seconds = json_number_value(json_object_get(pair, "seconds"));
		array[i].name = addrset_id_of(slice_of(text_of(pair, "name")));
		array[i].address = address_of(text_of(pair, "address"));
		array[i].until_ns = clock_mono_ns() + (uint64_t)(seconds * 1e9);
	}
	return array;
}

static void fill_pairs(const json_t *command)
{
	enum { AT_ONCE = 256 };
	static struct addrset_pair list[AT_ONCE];
	size_t n = (size_t)json_integer_value(json_object_get(command, "fill"));
	double seconds = json_number_value(json_object_get(command, "seconds"));
	struct addrset_id id = addrset_id_of(slice_of(text_of(command, "name")));
	size_t done = 0;
	last_failure = 0;
	while (done < n && last_failure == 0) {
		struct addrset_request request = { .pairs = list,
						   .n_pairs = MIN(n - done, (size_t)AT_ONCE),
						   .tenant = slice_of(text_of(command, "tenant")),
						   .done = count_done };
		for (size_t i = 0; i < request.n_pairs; i++, done++)
			list[i] = (struct addrset_pair){
				id,
				{ 4,
				  { 100, (uint8_t)(64 + (done >> 16)), (uint8_t)(done >> 8),
				    (uint8_t)done } },
				clock_mono_ns() + (uint64_t)(seconds * 1e9),
			};
		n_waiting = 1;
		addrset_add(nftables_pairs_set(pairs), &request);
		while (n_waiting > 0)
			loop_turn(loop, true);
	}
	printf("{\"result\":%d,\"done\":%zu}\n", last_failure, done);
}

static uint64_t cpu_ns(void)
{
	struct timespec used;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * NS_PER_S + (uint64_t)used.tv_nsec;
}

static int compare_times(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
	return (a > b) - (a < b);
}

static void add_names(const json_t *command)
{
	size_t n = (size_t)json_integer_value(json_object_get(command, "names"));
	size_t first = (size_t)json_integer_value(json_object_get(command, "first"));
	size_t at_once = (size_t)json_integer_value(json_object_get(command, "atOnce"));
	struct addrset_pair *list = xcalloc(at_once, sizeof(*list));
	uint64_t *times = xcalloc(n / at_once + 1, sizeof(*times));
	size_t n_times = 0;
	last_failure = 0;
	for (size_t done = first; done < first + n; n_times++) {
		struct addrset_request request = { .pairs = list, .done = count_done };
		for (; request.n_pairs < at_once && done < first + n; request.n_pairs++, done++) {
			char text[64];
			snprintf(text, sizeof(text), "n%zu.example.com", done);
			list[request.n_pairs] = (struct addrset_pair){
				addrset_id_of(slice_of(text)),
				{ 4,
				  { 100, (uint8_t)(64 + (done >> 16)), (uint8_t)(done >> 8),
				    (uint8_t)done } },
				clock_mono_ns() + 600 * NS_PER_S,
			};
		}
		uint64_t start = cpu_ns();
		n_waiting = 1;
		addrset_add(nftables_pairs_set(pairs), &request);
		while (n_waiting > 0)
			loop_turn(loop, true);
		times[n_times] = cpu_ns() - start;
	}
	qsort(times, n_times, sizeof(*times), compare_times);
	size_t middle = n_times / 2;
	printf("{\"result\":%d,\"cpuUs\":%.2f}\n", last_failure, (double)times[middle] / 1e3);
	free(list);
	free(times);
}

static void add_pairs(const json_t *requests, const char *tenant)
{
	size_t n = json_array_size(requests);
	struct waiting *waiting = xcalloc(n + 1, sizeof(*waiting));
	for (size_t i = 0; i < n; i++) {
		const json_t *list = json_array_get(requests, i);
		waiting[i].list = read_pairs(list);
		waiting[i].request = (struct addrset_request){ .pairs = waiting[i].list,
							       .n_pairs = json_array_size(list),
							       .tenant = slice_of(tenant),
							       .done = count_done };
	}
	uint64_t start = clock_mono_ns();
	n_waiting = n;
	last_failure = 0;
	for (size_t i = 0; i < n; i++)
		addrset_add(nftables_pairs_set(pairs), &waiting[i].request);
	while (n_waiting > 0)
		loop_turn(loop, true);
	printf("{\"result\":%d,\"us\":%.1f}\n", last_failure,
	       (double)(clock_mono_ns() - start) / 1e3);
	loop_turn(loop, false); /* timers that are due */
	for (size_t i = 0; i < n; i++)
		free(waiting[i].list);
	free(waiting);
}

static void check_holds(const json_t *list)
{
	struct addrset_pair *array = read_pairs(list);
	bool held = addrset_holds(nftables_pairs_set(pairs), array, json_array_size(list));
	printf("{\"held\":%s}\n", held ? "true" : "false");
	free(array);
}

static void print_counts(void)
{
	struct nftables_pairs_counts counts = nftables_pairs_counts(pairs);
	printf("{\"known\":%zu,\"commits\":%llu,\"elements\":%llu,\"failures\":%llu}\n",
	       counts.known, (unsigned long long)counts.commits,
	       (unsigned long long)counts.elements, (unsigned long long)counts.failures);
}

static void run_command(const json_t *command)
{
	char why[256] = "";
	if (json_object_get(command, "policy") != NULL) {
		apply_policy(json_object_get(command, "policy"));
	} else if (json_object_get(command, "add") != NULL) {
		json_t *requests = json_array();
		json_array_append(requests, json_object_get(command, "add"));
		add_pairs(requests, text_of(command, "tenant"));
		json_decref(requests);
	} else if (json_object_get(command, "requests") != NULL) {
		add_pairs(json_object_get(command, "requests"), "");
	} else if (json_object_get(command, "fill") != NULL) {
		fill_pairs(command);
	} else if (json_object_get(command, "names") != NULL) {
		add_names(command);
	} else if (json_object_get(command, "holds") != NULL) {
		check_holds(json_object_get(command, "holds"));
	} else if (json_object_get(command, "counts") != NULL) {
		print_counts();
	} else if (json_object_get(command, "remove") != NULL) {
		int r = nftables_remove(table_link, ERR_TEXT(why));
		printf("{\"result\":%d}\n", r);
	} else if (json_object_get(command, "oldKernel") != NULL) {
		nftables_pairs_assume_old_kernel(pairs);
		printf("{\"result\":0}\n");
	} else {
		die("unknown command");
	}
	fflush(stdout);
}

int main(void)
{
	char why[256] = "";
	char *line = NULL;
	size_t room = 0;
	loop = loop_new();
	if (loop == NULL || nftables_link_open(&table_link, ERR_TEXT(why)) < 0 ||
	    nftables_pairs_new(loop, table_link, &pairs, ERR_TEXT(why)) < 0)
		die(why);
	printf("{\"ready\":true}\n");
	fflush(stdout);
	while (getline(&line, &room, stdin) > 0) {
		json_t *command = json_loads(line, 0, NULL);
		if (command == NULL)
			die("malformed command");
		run_command(command);
		json_decref(command);
	}
	free(line);
	nftables_pairs_free(pairs);
	nftables_link_close(table_link);
	loop_free(loop);
	return 0;
}
