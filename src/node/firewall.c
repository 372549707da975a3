/* SPDX-License-Identifier: GPL-3.0-or-later */
/* EgressFirewall rules as rules of the node's table. Each gets a text that tells it exactly from others: a
 * connection that it admitted goes on while a rule of that text exists. What changes by itself (addresses of
 * names and of nodes) is not part of it. */
#include "node/firewall.h"

#include <netinet/in.h>
#include <string.h>

#include "base/compiler.h"
#include "base/strbuf.h"

static const uint8_t protocols[] = {
	[EGRESS_TCP] = IPPROTO_TCP,
	[EGRESS_UDP] = IPPROTO_UDP,
	[EGRESS_SCTP] = IPPROTO_SCTP,
};

static void add_name(const char *name, bool is_wildcard, bool any_depth, struct strbuf *out)
{
	char text[EGRESS_SET_TEXT_MAX];
	egress_name_set_text(name, is_wildcard, any_depth, text);
	strbuf_adds(out, text);
}

struct addrset_id node_firewall_name_id(const char *name, bool is_wildcard, bool any_depth)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	add_name(name, is_wildcard, any_depth, &text);
	return addrset_id_of(strbuf_slice(&text));
}

/* ---- the text of a rule ---- */

static void add_selector(const struct api_selector *selector, struct strbuf *out)
{
	strbuf_adds(out, "nodes");
	for (size_t i = 0; i < selector->n; i++) {
		const struct api_selector_term *term = &selector->term[i];
		strbuf_addf(out, " %s:%d", term->key, (int)term->op);
		for (size_t k = 0; k < term->n_values; k++)
			strbuf_addf(out, ",%s", term->value[k]);
	}
}

static void add_rule_text(const struct egress_rule *rule, bool any_depth, struct strbuf *out)
{
	char range[EGRESS_RANGE_TEXT_MAX];
	strbuf_adds(out, rule->action == EGRESS_ALLOW ? "allow " : "deny ");
	switch (rule->target) {
	case EGRESS_TO_RANGE:
		egress_range_text(&rule->range, range);
		strbuf_adds(out, range);
		break;
	case EGRESS_TO_NAME:
		add_name(rule->name, rule->is_wildcard, any_depth, out);
		break;
	case EGRESS_TO_NODES:
		add_selector(&rule->nodes, out);
		break;
	}
	for (size_t i = 0; i < rule->n_ports; i++)
		strbuf_addf(out, " %u/%u", protocols[rule->ports[i].protocol],
			    rule->ports[i].number);
}

/* ---- where to ---- */

static struct nftables_target target_of_range(const struct egress_range *range)
{
	struct nftables_target target = { .is_name = false };
	target.range.family = range->n == 4 ? AF_INET : AF_INET6;
	target.range.bits = range->bits;
	memcpy(target.range.ip, range->address, range->n);
	return target;
}

static struct nftables_target target_of_address(const struct addrset_address *address)
{
	struct nftables_target target = { .is_name = false };
	target.range.family = address->n == 4 ? AF_INET : AF_INET6;
	target.range.bits = (uint8_t)(address->n * 8);
	memcpy(target.range.ip, address->bytes, address->n);
	return target;
}

static void add_nodes(const struct egress_rule *rule, const struct node_peer *peers, size_t n_peers,
		      struct arena *arena, struct nftables_rule *ret)
{
	size_t n = 0, most = 0;
	for (size_t i = 0; i < n_peers; i++)
		most += peers[i].n_addresses;
	struct nftables_target *targets = arena_alloc(arena, most * sizeof(*targets) + 1);
	for (size_t i = 0; i < n_peers; i++) {
		if (!api_label_selector_match(&rule->nodes, peers[i].labels))
			continue;
		for (size_t k = 0; k < peers[i].n_addresses; k++)
			targets[n++] = target_of_address(&peers[i].addresses[k]);
	}
	ret->targets = targets;
	ret->n_targets = n;
}

static void add_one_target(struct nftables_target target, struct arena *arena,
			   struct nftables_rule *ret)
{
	ret->targets = arena_memdup(arena, &target, sizeof(target));
	ret->n_targets = 1;
}

static const struct nftables_port *copy_ports(const struct egress_rule *rule, struct arena *arena)
{
	struct nftables_port *ports = arena_alloc(arena, rule->n_ports * sizeof(*ports) + 1);
	for (size_t i = 0; i < rule->n_ports; i++)
		ports[i] = (struct nftables_port){ protocols[rule->ports[i].protocol],
						   rule->ports[i].number };
	return ports;
}

void node_firewall_rules(const struct egress_rules *rules, const struct node_peer *peers,
			 size_t n_peers, const char *name, struct arena *arena,
			 struct nftables_namespace *ret)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	struct nftables_rule *list = arena_calloc(arena, rules->n * sizeof(*list) + 1);
	for (size_t i = 0; i < rules->n; i++) {
		const struct egress_rule *rule = &rules->rule[i];
		strbuf_reset(&text);
		add_rule_text(rule, rules->any_depth, &text);
		list[i].text = arena_strndup(arena, text.s, text.n);
		list[i].allows = rule->action == EGRESS_ALLOW;
		list[i].ports = copy_ports(rule, arena);
		list[i].n_ports = rule->n_ports;
		if (rule->target == EGRESS_TO_RANGE) {
			add_one_target(target_of_range(&rule->range), arena, &list[i]);
		} else if (rule->target == EGRESS_TO_NAME) {
			struct nftables_target target = { .is_name = true,
							  .is_wildcard = rule->is_wildcard };
			target.name = node_firewall_name_id(rule->name, rule->is_wildcard,
							    rules->any_depth);
			add_one_target(target, arena, &list[i]);
		} else {
			add_nodes(rule, peers, n_peers, arena, &list[i]);
		}
	}
	*ret = (struct nftables_namespace){ name, list, rules->n };
}
