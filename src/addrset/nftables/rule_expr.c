/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A rule of the plan as expressions. What is looked up in a set is put together in registers: register 1
 * has the 16 bytes of an id, what follows begins at register 2. Ids are constants of the rule, so that all
 * names share one set: the kernel finds sets one by one, and elements by their hash. */
#include "addrset/nftables/rule_expr.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nf_conntrack_tuple_common.h>
#include <libnftnl/expr.h>

#include "addrset/nftables/link.h"

enum {
	IP4_SOURCE = 12,
	IP4_DESTINATION = 16,
	IP6_SOURCE = 8,
	IP6_DESTINATION = 24,
	PORT_DESTINATION = 2, /* the same in TCP, UDP and SCTP */
	TCP_FLAGS = 13,
	TCP_SYN = 0x02,
	ND_FIRST = 133, /* router solicitation */
	ND_LAST = 137,	/* redirect */
	LOG_PER_SECOND = 20,
	LOG_BYTES = 96, /* of a packet: headers of both layers */
	/* Registers of 4 bytes; those of 16 bytes overlap them. */
	REG_AFTER_ID = NFT_REG32_04,
	REG_AFTER_PROTOCOL = NFT_REG32_05,
};

static struct nftnl_expr *add_expr(struct nftnl_rule *rule, const char *name)
{
	struct nftnl_expr *expr = nftnl_expr_alloc(name);
	if (expr == NULL)
		abort(); /* out of memory, as xmalloc */
	nftnl_rule_add_expr(rule, expr);
	return expr;
}

static void add_payload(struct nftnl_rule *rule, uint32_t base, uint32_t offset, uint32_t bytes,
			uint32_t reg)
{
	struct nftnl_expr *expr = add_expr(rule, "payload");
	nftnl_expr_set_u32(expr, NFTNL_EXPR_PAYLOAD_BASE, base);
	nftnl_expr_set_u32(expr, NFTNL_EXPR_PAYLOAD_OFFSET, offset);
	nftnl_expr_set_u32(expr, NFTNL_EXPR_PAYLOAD_LEN, bytes);
	nftnl_expr_set_u32(expr, NFTNL_EXPR_PAYLOAD_DREG, reg);
}

static void add_address(struct nftnl_rule *rule, sa_family_t family, bool source, uint32_t reg)
{
	uint32_t offset = family == AF_INET ? (source ? IP4_SOURCE : IP4_DESTINATION)
					    : (source ? IP6_SOURCE : IP6_DESTINATION);
	add_payload(rule, NFT_PAYLOAD_NETWORK_HEADER, offset, family == AF_INET ? 4 : 16, reg);
}

static void add_meta(struct nftnl_rule *rule, uint32_t key, uint32_t reg)
{
	struct nftnl_expr *expr = add_expr(rule, "meta");
	nftnl_expr_set_u32(expr, NFTNL_EXPR_META_KEY, key);
	nftnl_expr_set_u32(expr, NFTNL_EXPR_META_DREG, reg);
}

static void add_compare(struct nftnl_rule *rule, uint32_t op, const void *data, uint32_t bytes)
{
	struct nftnl_expr *expr = add_expr(rule, "cmp");
	nftnl_expr_set_u32(expr, NFTNL_EXPR_CMP_SREG, NFT_REG_1);
	nftnl_expr_set_u32(expr, NFTNL_EXPR_CMP_OP, op);
	nftnl_expr_set(expr, NFTNL_EXPR_CMP_DATA, data, bytes);
}

static void add_mask(struct nftnl_rule *rule, const void *mask, uint32_t bytes)
{
	static const uint8_t zero[16];
	struct nftnl_expr *expr = add_expr(rule, "bitwise");
	nftnl_expr_set_u32(expr, NFTNL_EXPR_BITWISE_SREG, NFT_REG_1);
	nftnl_expr_set_u32(expr, NFTNL_EXPR_BITWISE_DREG, NFT_REG_1);
	nftnl_expr_set_u32(expr, NFTNL_EXPR_BITWISE_OP, NFT_BITWISE_BOOL);
	nftnl_expr_set_u32(expr, NFTNL_EXPR_BITWISE_LEN, bytes);
	nftnl_expr_set(expr, NFTNL_EXPR_BITWISE_MASK, mask, bytes);
	nftnl_expr_set(expr, NFTNL_EXPR_BITWISE_XOR, zero, bytes);
}

static struct nftnl_expr *add_ct(struct nftnl_rule *rule, uint32_t key, uint16_t reg_attr)
{
	struct nftnl_expr *expr = add_expr(rule, "ct");
	nftnl_expr_set_u32(expr, NFTNL_EXPR_CT_KEY, key);
	nftnl_expr_set_u32(expr, reg_attr, NFT_REG_1);
	return expr;
}

static void add_constant(struct nftnl_rule *rule, const struct addrset_id *id)
{
	struct nftnl_expr *expr = add_expr(rule, "immediate");
	nftnl_expr_set_u32(expr, NFTNL_EXPR_IMM_DREG, NFT_REG_1);
	nftnl_expr_set(expr, NFTNL_EXPR_IMM_DATA, id->bytes, sizeof(id->bytes));
}

static struct nftnl_expr *add_lookup(struct nftnl_rule *rule, const char *set)
{
	struct nftnl_expr *expr = add_expr(rule, "lookup");
	nftnl_expr_set_u32(expr, NFTNL_EXPR_LOOKUP_SREG, NFT_REG_1);
	nftnl_expr_set_str(expr, NFTNL_EXPR_LOOKUP_SET, set);
	return expr;
}

static void add_verdict(struct nftnl_rule *rule, int verdict, const char *chain)
{
	struct nftnl_expr *expr = add_expr(rule, "immediate");
	nftnl_expr_set_u32(expr, NFTNL_EXPR_IMM_DREG, NFT_REG_VERDICT);
	nftnl_expr_set_u32(expr, NFTNL_EXPR_IMM_VERDICT, (uint32_t)verdict);
	if (chain != NULL)
		nftnl_expr_set_str(expr, NFTNL_EXPR_IMM_CHAIN, chain);
}

/* ---- steps ---- */

static void add_is_admitted(struct nftnl_rule *rule, const struct nftables_step *step UNUSED)
{
	add_ct(rule, NFT_CT_LABELS, NFTNL_EXPR_CT_DREG);
	add_lookup(rule, NFTABLES_SET_ADMITTED);
}

/* The direction alone is not enough: a packet without connection has none. */
static void add_is_reply(struct nftnl_rule *rule, const struct nftables_step *step UNUSED)
{
	const uint32_t states = NF_CT_STATE_BIT(IP_CT_ESTABLISHED) | NF_CT_STATE_BIT(IP_CT_RELATED);
	const uint32_t none = 0;
	const uint8_t reply = IP_CT_DIR_REPLY;
	add_ct(rule, NFT_CT_STATE, NFTNL_EXPR_CT_DREG);
	add_mask(rule, &states, sizeof(states));
	add_compare(rule, NFT_CMP_NEQ, &none, sizeof(none));
	add_ct(rule, NFT_CT_DIRECTION, NFTNL_EXPR_CT_DREG);
	add_compare(rule, NFT_CMP_EQ, &reply, sizeof(reply));
}

static void add_has_no_label(struct nftnl_rule *rule)
{
	static const uint8_t no_label[ADDRSET_ID_BYTES];
	add_ct(rule, NFT_CT_LABELS, NFTNL_EXPR_CT_DREG);
	add_compare(rule, NFT_CMP_EQ, no_label, sizeof(no_label));
}

static void add_is_older(struct nftnl_rule *rule, const struct nftables_step *step UNUSED)
{
	const uint32_t states = NF_CT_STATE_BIT(IP_CT_ESTABLISHED) | NF_CT_STATE_BIT(IP_CT_RELATED);
	const uint32_t none = 0;
	add_ct(rule, NFT_CT_STATE, NFTNL_EXPR_CT_DREG);
	add_mask(rule, &states, sizeof(states));
	add_compare(rule, NFT_CMP_NEQ, &none, sizeof(none));
	add_has_no_label(rule);
}

/* Connections are tracked only since there is a rule that asks for it. A process cannot send such a packet
 * without an open connection, unless it may write raw packets. */
static void add_is_mid_stream(struct nftnl_rule *rule, const struct nftables_step *step UNUSED)
{
	const uint8_t syn = TCP_SYN, none = 0;
	add_payload(rule, NFT_PAYLOAD_TRANSPORT_HEADER, TCP_FLAGS, sizeof(syn), NFT_REG_1);
	add_mask(rule, &syn, sizeof(syn));
	add_compare(rule, NFT_CMP_EQ, &none, sizeof(none));
	add_has_no_label(rule);
}

/* lo is the first interface of each network namespace. */
static void add_is_loopback(struct nftnl_rule *rule, const struct nftables_step *step UNUSED)
{
	const uint32_t first = 1;
	add_meta(rule, NFT_META_OIF, NFT_REG_1);
	add_compare(rule, NFT_CMP_EQ, &first, sizeof(first));
}

static void add_by_user(struct nftnl_rule *rule, const struct nftables_step *step)
{
	const uint32_t user = (uint32_t)step->owner;
	add_meta(rule, NFT_META_SKUID, NFT_REG_1);
	add_compare(rule, NFT_CMP_EQ, &user, sizeof(user));
}

static void add_is_marked(struct nftnl_rule *rule, const struct nftables_step *step)
{
	const uint32_t mark = (uint32_t)step->owner;
	add_meta(rule, NFT_META_MARK, NFT_REG_1);
	add_compare(rule, NFT_CMP_EQ, &mark, sizeof(mark));
}

static void add_by_cgroup(struct nftnl_rule *rule, const struct nftables_step *step)
{
	struct nftnl_expr *expr = add_expr(rule, "socket");
	nftnl_expr_set_u32(expr, NFTNL_EXPR_SOCKET_KEY, NFT_SOCKET_CGROUPV2);
	nftnl_expr_set_u32(expr, NFTNL_EXPR_SOCKET_LEVEL, step->level);
	nftnl_expr_set_u32(expr, NFTNL_EXPR_SOCKET_DREG, NFT_REG_1);
	add_compare(rule, NFT_CMP_EQ, &step->owner, sizeof(step->owner));
}

static void add_is_protocol(struct nftnl_rule *rule, uint8_t protocol)
{
	add_meta(rule, NFT_META_L4PROTO, NFT_REG_1);
	add_compare(rule, NFT_CMP_EQ, &protocol, sizeof(protocol));
}

static void add_is_neighbour(struct nftnl_rule *rule, const struct nftables_step *step UNUSED)
{
	const uint8_t first = ND_FIRST, last = ND_LAST;
	add_is_protocol(rule, IPPROTO_ICMPV6);
	add_payload(rule, NFT_PAYLOAD_TRANSPORT_HEADER, 0, 1, NFT_REG_1);
	add_compare(rule, NFT_CMP_GTE, &first, sizeof(first));
	add_compare(rule, NFT_CMP_LTE, &last, sizeof(last));
}

static void add_is_family(struct nftnl_rule *rule, const struct nftables_step *step)
{
	uint8_t family = step->family == AF_INET ? NFPROTO_IPV4 : NFPROTO_IPV6;
	add_meta(rule, NFT_META_NFPROTO, NFT_REG_1);
	add_compare(rule, NFT_CMP_EQ, &family, sizeof(family));
}

static void add_is_tcp(struct nftnl_rule *rule, const struct nftables_step *step UNUSED)
{
	add_is_protocol(rule, IPPROTO_TCP);
}

static void add_range(struct nftnl_rule *rule, const struct net_cidr *range, bool source)
{
	uint32_t n = range->family == AF_INET ? 4 : 16;
	uint8_t mask[16] = { 0 };
	for (uint32_t i = 0; i < range->bits; i++)
		mask[i / 8] |= (uint8_t)(0x80 >> (i % 8));
	if (range->bits == 0)
		return; /* all of its family */
	add_address(rule, range->family, source, NFT_REG_1);
	if (range->bits < n * 8)
		add_mask(rule, mask, n);
	add_compare(rule, NFT_CMP_EQ, range->ip, n);
}

static void add_from_range(struct nftnl_rule *rule, const struct nftables_step *step)
{
	add_range(rule, &step->range, true);
}

static void add_to_range(struct nftnl_rule *rule, const struct nftables_step *step)
{
	add_range(rule, &step->range, false);
}

static void add_to_name(struct nftnl_rule *rule, const struct nftables_step *step)
{
	add_constant(rule, &step->id);
	add_address(rule, step->id_family, false, REG_AFTER_ID);
	add_lookup(rule, step->id_family == AF_INET ? NFTABLES_SET_NAMES4 : NFTABLES_SET_NAMES6);
}

static void add_to_ports(struct nftnl_rule *rule, const struct nftables_step *step)
{
	add_constant(rule, &step->id);
	add_meta(rule, NFT_META_L4PROTO, REG_AFTER_ID);
	add_payload(rule, NFT_PAYLOAD_TRANSPORT_HEADER, PORT_DESTINATION, 2, REG_AFTER_PROTOCOL);
	add_lookup(rule, NFTABLES_SET_PORTS);
}

static void add_by_pod(struct nftnl_rule *rule, const struct nftables_step *step)
{
	add_address(rule, step->family, true, NFT_REG_1);
	struct nftnl_expr *expr =
		add_lookup(rule, step->family == AF_INET ? NFTABLES_SET_PODS4 : NFTABLES_SET_PODS6);
	nftnl_expr_set_u32(expr, NFTNL_EXPR_LOOKUP_DREG, NFT_REG_VERDICT);
}

static void add_count(struct nftnl_rule *rule, const struct nftables_step *step)
{
	struct nftnl_expr *expr = add_expr(rule, "objref");
	nftnl_expr_set_u32(expr, NFTNL_EXPR_OBJREF_IMM_TYPE, NFT_OBJECT_COUNTER);
	nftnl_expr_set_str(expr, NFTNL_EXPR_OBJREF_IMM_NAME, step->word);
}

/* The connection's label: 128 bits that other users of the kernel's connection mark do not touch. */
static void add_admit(struct nftnl_rule *rule, const struct nftables_step *step)
{
	add_constant(rule, &step->id);
	add_ct(rule, NFT_CT_LABELS, NFTNL_EXPR_CT_SREG);
}

static void add_log_sample(struct nftnl_rule *rule, const struct nftables_step *step)
{
	struct nftnl_expr *limit = add_expr(rule, "limit");
	nftnl_expr_set_u64(limit, NFTNL_EXPR_LIMIT_RATE, LOG_PER_SECOND);
	nftnl_expr_set_u64(limit, NFTNL_EXPR_LIMIT_UNIT, 1);
	nftnl_expr_set_u32(limit, NFTNL_EXPR_LIMIT_BURST, LOG_PER_SECOND);
	nftnl_expr_set_u32(limit, NFTNL_EXPR_LIMIT_TYPE, NFT_LIMIT_PKTS);
	struct nftnl_expr *log = add_expr(rule, "log");
	nftnl_expr_set_str(log, NFTNL_EXPR_LOG_PREFIX, NFTABLES_TABLE " denied");
	nftnl_expr_set_u16(log, NFTNL_EXPR_LOG_GROUP, step->number);
	nftnl_expr_set_u32(log, NFTNL_EXPR_LOG_SNAPLEN, LOG_BYTES);
}

static void add_accept(struct nftnl_rule *rule, const struct nftables_step *step UNUSED)
{
	add_verdict(rule, NF_ACCEPT, NULL);
}

static void add_jump(struct nftnl_rule *rule, const struct nftables_step *step)
{
	add_verdict(rule, NFT_JUMP, step->word);
}

static void add_goto(struct nftnl_rule *rule, const struct nftables_step *step)
{
	add_verdict(rule, NFT_GOTO, step->word);
}

static void add_reset(struct nftnl_rule *rule, const struct nftables_step *step UNUSED)
{
	struct nftnl_expr *expr = add_expr(rule, "reject");
	nftnl_expr_set_u32(expr, NFTNL_EXPR_REJECT_TYPE, NFT_REJECT_TCP_RST);
	nftnl_expr_set_u8(expr, NFTNL_EXPR_REJECT_CODE, 0);
}

static void add_unreachable(struct nftnl_rule *rule, const struct nftables_step *step UNUSED)
{
	struct nftnl_expr *expr = add_expr(rule, "reject");
	nftnl_expr_set_u32(expr, NFTNL_EXPR_REJECT_TYPE, NFT_REJECT_ICMPX_UNREACH);
	nftnl_expr_set_u8(expr, NFTNL_EXPR_REJECT_CODE, NFT_REJECT_ICMPX_ADMIN_PROHIBITED);
}

static void (*const add_step[])(struct nftnl_rule *rule, const struct nftables_step *step) = {
	[NFTABLES_IS_ADMITTED] = add_is_admitted,
	[NFTABLES_IS_OLDER] = add_is_older,
	[NFTABLES_IS_MID_STREAM] = add_is_mid_stream,
	[NFTABLES_IS_LOOPBACK] = add_is_loopback,
	[NFTABLES_BY_USER] = add_by_user,
	[NFTABLES_BY_CGROUP] = add_by_cgroup,
	[NFTABLES_IS_MARKED] = add_is_marked,
	[NFTABLES_IS_REPLY] = add_is_reply,
	[NFTABLES_IS_NEIGHBOUR] = add_is_neighbour,
	[NFTABLES_IS_FAMILY] = add_is_family,
	[NFTABLES_IS_TCP] = add_is_tcp,
	[NFTABLES_FROM_RANGE] = add_from_range,
	[NFTABLES_TO_RANGE] = add_to_range,
	[NFTABLES_TO_NAME] = add_to_name,
	[NFTABLES_TO_PORTS] = add_to_ports,
	[NFTABLES_BY_POD] = add_by_pod,
	[NFTABLES_COUNT] = add_count,
	[NFTABLES_ADMIT] = add_admit,
	[NFTABLES_LOG_SAMPLE] = add_log_sample,
	[NFTABLES_ACCEPT] = add_accept,
	[NFTABLES_JUMP] = add_jump,
	[NFTABLES_GOTO] = add_goto,
	[NFTABLES_RESET] = add_reset,
	[NFTABLES_UNREACHABLE] = add_unreachable,
};

void nftables_rule_expr_add(struct nftnl_rule *rule, const struct nftables_step *steps,
			    size_t n_steps)
{
	for (size_t i = 0; i < n_steps; i++) {
		assert(steps[i].kind < ARRAY_LEN(add_step));
		add_step[steps[i].kind](rule, &steps[i]);
	}
}
