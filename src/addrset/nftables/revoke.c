/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Judges open connections by the rules in front of the one that admitted them. */
#include "addrset/nftables/revoke.h"

#include <stdlib.h>
#include <string.h>

#include "addrset/nftables/revoke_test.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"

/* The policy, with what is asked for each connection at hand. */
struct review {
	const struct nftables_policy *policy;
	const struct addrset *names;
	uint64_t now_ns;
	struct map pods; /* address: struct nftables_namespace * */
	struct addrset_id
		*ids;  /* of all rules; each namespace has one more, for what no rule matches */
	size_t *first; /* id of a namespace */
};

static void index_pods(struct review *review)
{
	const struct nftables_policy *policy = review->policy;
	struct map namespaces;
	map_init(&namespaces);
	for (size_t i = 0; i < policy->n_namespaces; i++)
		map_set(&namespaces, slice_of(policy->namespaces[i].name), &review->first[i]);
	for (size_t i = 0; i < policy->n_pods; i++) {
		const struct addrset_address *address = &policy->pods[i].address;
		void *place = map_get(&namespaces, slice_of(policy->pods[i].namespace_name));
		if (place != NULL)
			map_set(&review->pods,
				(struct slice){ (const char *)address->bytes, address->n }, place);
	}
	map_done(&namespaces);
}

static void begin_review(struct review *review, const struct nftables_policy *policy,
			 const struct addrset *names)
{
	size_t n = 0;
	*review = (struct review){ .policy = policy, .names = names, .now_ns = clock_mono_ns() };
	review->first = xcalloc(policy->n_namespaces + 1, sizeof(*review->first));
	for (size_t i = 0; i < policy->n_namespaces; i++) {
		review->first[i] = n;
		n += policy->namespaces[i].n_rules + 1;
	}
	review->ids = xcalloc(n + 1, sizeof(*review->ids));
	for (size_t i = 0; i < policy->n_namespaces; i++) {
		const struct nftables_namespace *namespace = &policy->namespaces[i];
		for (size_t k = 0; k <= namespace->n_rules; k++)
			review->ids[review->first[i] + k] = nftables_rule_id(
				namespace->name,
				k < namespace->n_rules ? namespace->rules[k].text : NULL);
	}
	index_pods(review);
}

static void end_review(struct review *review)
{
	map_done(&review->pods);
	free(review->ids);
	free(review->first);
}

static bool is_in_range(const struct net_cidr *range, const struct addrset_address *address)
{
	if ((range->family == AF_INET ? 4 : 16) != address->n)
		return false;
	for (unsigned i = 0; i < range->bits; i += 8) {
		unsigned left = range->bits - i;
		uint8_t mask = (uint8_t)(left >= 8 ? 0xff : 0xff << (8 - left));
		if (((range->ip[i / 8] ^ address->bytes[i / 8]) & mask) != 0)
			return false;
	}
	return true;
}

static bool has_target(const struct nftables_rule *rule, const struct addrset *names,
		       const struct addrset_address *address, uint64_t now_ns)
{
	for (size_t i = 0; i < rule->n_targets; i++) {
		const struct nftables_target *target = &rule->targets[i];
		struct addrset_pair pair = { target->name, *address, now_ns };
		if (target->is_name ? addrset_holds(names, &pair, 1)
				    : is_in_range(&target->range, address))
			return true;
	}
	return false;
}

static bool has_port(const struct nftables_rule *rule, const struct nftables_connection *connection)
{
	for (size_t i = 0; i < rule->n_ports; i++) {
		if (rule->ports[i].protocol == connection->protocol &&
		    rule->ports[i].number == connection->port)
			return true;
	}
	return rule->n_ports == 0;
}

static bool may_go_on(void *ctx, const struct nftables_connection *connection)
{
	const struct review *review = ctx;
	const struct addrset_address *from = &connection->from;
	const size_t *place =
		map_get(&review->pods, (struct slice){ (const char *)from->bytes, from->n });
	if (place == NULL)
		return true; /* no pod of ours, or one without rules: nobody asks for its label */
	const struct nftables_namespace *namespace =
		&review->policy->namespaces[place - review->first];
	const struct addrset_id *ids = &review->ids[*place];
	for (size_t i = 0; i < namespace->n_rules; i++) {
		const struct nftables_rule *rule = &namespace->rules[i];
		if (rule->allows && memcmp(&ids[i], &connection->label, sizeof(ids[i])) == 0)
			return true;
		if (!rule->allows && has_port(rule, connection) &&
		    has_target(rule, review->names, &connection->to, review->now_ns))
			return false;
	}
	return memcmp(&ids[namespace->n_rules], &connection->label, sizeof(ids[0])) == 0;
}

bool nftables_revoke_allows(const struct nftables_policy *policy, const struct addrset *names,
			    const struct nftables_connection *connection)
{
	struct review review;
	begin_review(&review, policy, names);
	bool allows = may_go_on(&review, connection);
	end_review(&review);
	return allows;
}

int nftables_revoke(const struct nftables_policy *policy, const struct addrset *names,
		    size_t *ret_cleared, struct err_text err)
{
	struct review review;
	begin_review(&review, policy, names);
	int r = nftables_conntrack_review(may_go_on, &review, ret_cleared, err);
	end_review(&review);
	return r;
}

static const struct nftables_namespace *namespace_of_pod(const struct nftables_policy *policy,
							 const struct addrset_address *address)
{
	const char *name = NULL;
	for (size_t i = 0; i < policy->n_pods && name == NULL; i++) {
		const struct addrset_address *own = &policy->pods[i].address;
		if (own->n == address->n && memcmp(own->bytes, address->bytes, own->n) == 0)
			name = policy->pods[i].namespace_name;
	}
	for (size_t i = 0; i < policy->n_namespaces && name != NULL; i++) {
		if (strcmp(policy->namespaces[i].name, name) == 0)
			return &policy->namespaces[i];
	}
	return NULL;
}

const struct nftables_rule *nftables_find_denial(const struct nftables_policy *policy,
						 const struct addrset *names,
						 const struct nftables_connection *connection,
						 const char **ret_namespace)
{
	const struct nftables_namespace *namespace = namespace_of_pod(policy, &connection->from);
	uint64_t now_ns = clock_mono_ns();
	for (size_t i = 0; namespace != NULL && i < namespace->n_rules; i++) {
		const struct nftables_rule *rule = &namespace->rules[i];
		if (!has_port(rule, connection) ||
		    !has_target(rule, names, &connection->to, now_ns))
			continue;
		*ret_namespace = namespace->name;
		return rule->allows ? NULL : rule;
	}
	return NULL;
}
