/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Objects of the API as the policy of a node. */
#include "node/policy.h"

#include <stdlib.h>
#include <string.h>

#include "api/egress/node_report.h"
#include "api/egress/rules.h"
#include "api/fielderr.h"
#include "api/meta.h"
#include "api/tree.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "node/firewall.h"

#define AREA "node"

/* The policy is built every few seconds. */
static struct log_limit invalid_log = { .interval_ns = 60 * NS_PER_S };

struct node_policy {
	struct map last_valid; /* namespace: json_t of the firewall */
};

struct node_policy *node_policy_new(void)
{
	struct node_policy *policy = xcalloc(1, sizeof(*policy));
	map_init(&policy->last_valid);
	return policy;
}

void node_policy_free(struct node_policy *policy)
{
	const struct map_entry *entry;
	size_t pos = 0;
	if (policy == NULL)
		return;
	while ((entry = map_next(&policy->last_valid, &pos)) != NULL)
		json_decref(entry->value);
	map_done(&policy->last_valid);
	free(policy);
}

static bool read_address(const char *text, struct addrset_address *ret)
{
	union net_addr addr;
	size_t n;
	if (net_addr_parse_ip(slice_of(text), &addr) < 0)
		return false;
	const uint8_t *bytes = net_addr_bytes(&addr, &n);
	*ret = (struct addrset_address){ .n = (uint8_t)n };
	memcpy(ret->bytes, bytes, n);
	return true;
}

/* ---- pods ---- */

/* Pods in the host's network have the node's addresses, which are no pod's; of pods that have ended the
 * address may be another one's already. */
static bool has_own_address(const json_t *pod)
{
	const char *phase = api_get_string(pod, "status.phase");
	return !json_is_true(api_get(pod, "spec.hostNetwork")) && strcmp(phase, "Succeeded") != 0 &&
	       strcmp(phase, "Failed") != 0;
}

/* Which of two pods has an address that both report: not the one that is about to go, else the newer. */
static bool is_rather(const json_t *pod, const json_t *other)
{
	if (api_is_deleting(pod) != api_is_deleting(other))
		return api_is_deleting(other);
	return strcmp(api_get_string(pod, "metadata.creationTimestamp"),
		      api_get_string(other, "metadata.creationTimestamp")) > 0;
}

struct pod_list {
	VEC(struct nftables_pod) pods;
	VEC(const json_t *) objects; /* of the same index */
	struct map by_address;	     /* address: index + 1 */
};

static void add_pod_address(struct pod_list *list, const json_t *pod,
			    const struct addrset_address *address)
{
	struct slice key = { (const char *)address, sizeof(*address) };
	uintptr_t at = (uintptr_t)map_get(&list->by_address, key);
	if (at == 0) {
		vec_push(&list->pods, (struct nftables_pod){ *address, api_namespace(pod) });
		vec_push(&list->objects, pod);
		map_set(&list->by_address, key, (void *)(uintptr_t)list->pods.n);
	} else if (is_rather(pod, list->objects.v[at - 1])) {
		list->pods.v[at - 1].namespace_name = api_namespace(pod);
		list->objects.v[at - 1] = pod;
	}
}

static void add_pod(struct pod_list *list, const json_t *pod)
{
	const json_t *ips = api_get(pod, "status.podIPs"), *entry;
	struct addrset_address address;
	size_t i;
	if (!has_own_address(pod))
		return;
	json_array_foreach (ips, i, entry) {
		if (read_address(api_get_string(entry, "ip"), &address))
			add_pod_address(list, pod, &address);
	}
	if (json_array_size(ips) == 0 &&
	    read_address(api_get_string(pod, "status.podIP"), &address))
		add_pod_address(list, pod, &address);
}

static void build_pods(const struct node_objects *objects, struct arena *arena,
		       struct nftables_policy *ret)
{
	struct pod_list list = { 0 };
	map_init(&list.by_address);
	for (size_t i = 0; i < objects->n; i++)
		add_pod(&list, objects->v[i]);
	ret->n_pods = list.pods.n;
	ret->pods = arena_memdup(arena, list.pods.v, list.pods.n * sizeof(*list.pods.v));
	map_done(&list.by_address);
	vec_done(&list.objects);
	vec_done(&list.pods);
}

/* ---- nodes ---- */

struct peer_list {
	struct node_peer *peers;
	size_t n;
};

static void add_peer(const json_t *node, struct arena *arena, struct node_peer *ret)
{
	const json_t *list = api_get(node, "status.addresses"), *entry;
	struct addrset_address *addresses =
		arena_alloc(arena, (json_array_size(list) + 1) * sizeof(*addresses));
	size_t i, n = 0;
	json_array_foreach (list, i, entry)
		n += read_address(api_get_string(entry, "address"), &addresses[n]); /* or a name */
	*ret = (struct node_peer){ api_get(node, "metadata.labels"), addresses, n };
}

static struct peer_list build_peers(const struct node_objects *nodes, struct arena *arena)
{
	struct peer_list list = { arena_calloc(arena, (nodes->n + 1) * sizeof(*list.peers)),
				  nodes->n };
	for (size_t i = 0; i < nodes->n; i++)
		add_peer(nodes->v[i], arena, &list.peers[i]);
	return list;
}

/* ---- ranges ---- */

typedef VEC(struct net_cidr) range_list;

static void add_range(range_list *list, const char *text)
{
	struct net_cidr range;
	if (net_cidr_parse(slice_of(text), &range) == 0)
		vec_push(list, range);
}

static void add_pod_ranges(range_list *list, const json_t *node)
{
	const json_t *ranges = api_get(node, "spec.podCIDRs"), *entry;
	size_t i;
	json_array_foreach (ranges, i, entry)
		add_range(list, api_text(entry));
	if (json_array_size(ranges) == 0)
		add_range(list, api_get_string(node, "spec.podCIDR"));
}

static void add_endpoints(range_list *list, const json_t *slice)
{
	const json_t *endpoint, *address;
	size_t i, k;
	json_array_foreach (json_object_get(slice, "endpoints"), i, endpoint) {
		json_array_foreach (json_object_get(endpoint, "addresses"), k, address)
			add_range(list, api_text(address));
	}
}

static const struct net_cidr *keep_ranges(range_list *list, struct arena *arena, size_t *ret_n)
{
	const struct net_cidr *kept = arena_memdup(arena, list->v, list->n * sizeof(*list->v));
	*ret_n = list->n;
	vec_done(list);
	return kept;
}

static void build_ranges(const struct node_policy_input *input, struct arena *arena,
			 struct nftables_policy *ret)
{
	range_list own = { 0 }, open = { 0 };
	for (size_t i = 0; i < input->n_pod_ranges; i++)
		vec_push(&own, input->pod_ranges[i]);
	for (size_t i = 0; i < input->n_always_open; i++)
		vec_push(&open, input->always_open[i]);
	for (size_t i = 0; i < input->nodes.n; i++) {
		const json_t *node = input->nodes.v[i];
		if (input->n_pod_ranges == 0 && strcmp(api_name(node), input->node_name) == 0)
			add_pod_ranges(&own, node);
		add_pod_ranges(&open, node);
	}
	for (size_t i = 0; i < input->api_slices.n; i++)
		add_endpoints(&open, input->api_slices.v[i]);
	ret->pod_ranges = keep_ranges(&own, arena, &ret->n_pod_ranges);
	ret->always_open = keep_ranges(&open, arena, &ret->n_always_open);
}

/* ---- firewalls ---- */

static void remember(struct node_policy *policy, const json_t *firewall)
{
	struct slice ns = slice_of(api_namespace(firewall));
	const json_t *last = map_get(&policy->last_valid, ns);
	if (last != NULL && api_generation(last) == api_generation(firewall) &&
	    strcmp(api_uid(last), api_uid(firewall)) == 0)
		return;
	json_decref(map_set(&policy->last_valid, ns, json_deep_copy(firewall)));
}

static struct nftables_namespace closed_namespace(const char *name)
{
	static const struct nftables_target everywhere[] = { { .range = { .family = AF_INET } },
							     { .range = { .family = AF_INET6 } } };
	static const struct nftables_rule rule = { .text = "deny all: the firewall is not valid",
						   .targets = everywhere,
						   .n_targets = ARRAY_LEN(everywhere) };
	return (struct nftables_namespace){ name, &rule, 1 };
}

static void build_firewall(struct node_policy *policy, const json_t *firewall,
			   const struct peer_list *peers, struct arena *arena,
			   struct nftables_namespace *ret)
{
	struct egress_rules rules = { 0 };
	struct api_errors errors = { 0 };
	const char *ns = api_namespace(firewall);
	egress_rules_read(firewall, arena, &rules, &errors);
	bool is_valid = errors.n == 0;
	api_errors_done(&errors);
	if (is_valid)
		remember(policy, firewall);
	const json_t *last = map_get(&policy->last_valid, slice_of(ns));
	if (!is_valid && last == NULL) {
		log_limited(&invalid_log, LOG_WARNING, AREA,
			    "the EgressFirewall of namespace %s is not valid: everything is denied",
			    ns);
		*ret = closed_namespace(ns);
		return;
	}
	if (!is_valid) {
		struct api_errors none = { 0 };
		egress_rules_read(last, arena, &rules, &none);
		api_errors_done(&none);
	}
	node_firewall_rules(&rules, peers->peers, peers->n, ns, arena, ret);
}

/* Those that exist no longer are forgotten: a new one of the namespace owes them nothing. */
static void forget_missing(struct node_policy *policy, const struct node_objects *firewalls)
{
	struct map present;
	const struct map_entry *entry;
	size_t pos = 0;
	map_init(&present);
	for (size_t i = 0; i < firewalls->n; i++)
		map_set(&present, slice_of(api_namespace(firewalls->v[i])), policy);
	while ((entry = map_next(&policy->last_valid, &pos)) != NULL) {
		if (map_has(&present, (struct slice){ entry->key, entry->key_n }))
			continue;
		json_decref(entry->value);
		map_del(&policy->last_valid, (struct slice){ entry->key, entry->key_n });
	}
	map_done(&present);
}

static bool is_named_right(const json_t *firewall)
{
	return strcmp(api_name(firewall), EGRESS_FIREWALL_NAME) == 0;
}

void node_policy_build(struct node_policy *policy, const struct node_policy_input *input,
		       struct arena *arena, struct nftables_policy *ret)
{
	struct peer_list peers = build_peers(&input->nodes, arena);
	const struct node_objects *firewalls = &input->firewalls;
	struct nftables_namespace *list = arena_calloc(arena, (firewalls->n + 1) * sizeof(*list));
	size_t n = 0;
	*ret = (struct nftables_policy){ .log_group = input->log_group };
	forget_missing(policy, firewalls);
	for (size_t i = 0; i < firewalls->n; i++) {
		if (is_named_right(firewalls->v[i]))
			build_firewall(policy, firewalls->v[i], &peers, arena, &list[n++]);
	}
	ret->namespaces = list;
	ret->n_namespaces = n;
	build_pods(&input->pods, arena, ret);
	build_ranges(input, arena, ret);
}

static int compare_namespaces(const void *left, const void *right)
{
	const json_t *const *a = left, *const *b = right;
	return strcmp(api_namespace(*a), api_namespace(*b));
}

static bool has_problem(struct node_problems problems, const char *ns)
{
	for (size_t i = 0; i < problems.n; i++) {
		if (strcmp(problems.v[i].ns, ns) == 0)
			return true;
	}
	return false;
}

void node_policy_list_in_force(const struct node_policy *policy, struct node_problems problems,
			       struct strbuf *out)
{
	VEC(const json_t *) firewalls = { 0 };
	const struct map_entry *entry;
	size_t pos = 0;
	bool has_room = true;
	while ((entry = map_next(&policy->last_valid, &pos)) != NULL)
		vec_push(&firewalls, (const json_t *)entry->value);
	if (firewalls.n > 1)
		qsort(firewalls.v, firewalls.n, sizeof(*firewalls.v), compare_namespaces);
	for (size_t i = 0; i < firewalls.n && has_room; i++) {
		const json_t *firewall = firewalls.v[i];
		if (has_problem(problems, api_namespace(firewall)))
			continue;
		has_room = egress_report_add_line(out, api_namespace(firewall), api_uid(firewall),
						  api_generation(firewall));
	}
	vec_done(&firewalls);
}
