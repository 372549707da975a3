/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages that add and remove parts of the table, and the definitions of its sets. */
#include "addrset/nftables/objects.h"

#include <arpa/inet.h>
#include <endian.h>
#include <stdlib.h>

#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <libnftnl/chain.h>
#include <libnftnl/rule.h>
#include <libnftnl/set.h>
#include <libnftnl/udata.h>

#include "addrset/nftables/rule_expr.h"
#include "addrset/nftables/step_text.h"

/* Numbers by which nft(8) names the types of keys; the kernel ignores them. Ids look like IPv6 addresses. */
enum {
	TYPE_IP4 = 7,
	TYPE_IP6 = 8,
	TYPE_PROTOCOL = 12,
	TYPE_PORT = 13,
	TYPE_BITS = 6,	     /* of each part of a key */
	CHAIN_PRIORITY = 10, /* behind the filters of others: theirs decide first */
};

static const struct {
	const char *name;
	uint32_t flags, key_type, key_bytes;
} set_definitions[] = {
	{ NFTABLES_SET_NAMES4, NFT_SET_TIMEOUT, TYPE_IP6 << TYPE_BITS | TYPE_IP4, 20 },
	{ NFTABLES_SET_NAMES6, NFT_SET_TIMEOUT, TYPE_IP6 << TYPE_BITS | TYPE_IP6, 32 },
	{ NFTABLES_SET_PODS4, NFT_SET_MAP, TYPE_IP4, 4 },
	{ NFTABLES_SET_PODS6, NFT_SET_MAP, TYPE_IP6, 16 },
	{ NFTABLES_SET_PORTS, 0, (TYPE_IP6 << TYPE_BITS | TYPE_PROTOCOL) << TYPE_BITS | TYPE_PORT,
	  24 },
	{ NFTABLES_SET_ADMITTED, 0, TYPE_IP6, 16 },
};

static void *not_null(void *object)
{
	if (object == NULL)
		abort(); /* out of memory, as xmalloc */
	return object;
}

void nftables_put_table(struct nftables_link *link)
{
	struct nlmsghdr *message = nftables_batch_add(link, NFT_MSG_NEWTABLE, NLM_F_CREATE);
	mnl_attr_put_strz(message, NFTA_TABLE_NAME, NFTABLES_TABLE);
	mnl_attr_put_u32(message, NFTA_TABLE_FLAGS, 0);
}

void nftables_drop_table(struct nftables_link *link)
{
	struct nlmsghdr *message = nftables_batch_add(link, NFT_MSG_DELTABLE, 0);
	mnl_attr_put_strz(message, NFTA_TABLE_NAME, NFTABLES_TABLE);
}

static void put_set(struct nftables_link *link, size_t index)
{
	struct nftnl_set *set = not_null(nftnl_set_alloc());
	nftnl_set_set_str(set, NFTNL_SET_TABLE, NFTABLES_TABLE);
	nftnl_set_set_str(set, NFTNL_SET_NAME, set_definitions[index].name);
	nftnl_set_set_u32(set, NFTNL_SET_ID, (uint32_t)index + 1);
	nftnl_set_set_u32(set, NFTNL_SET_FLAGS, set_definitions[index].flags);
	nftnl_set_set_u32(set, NFTNL_SET_KEY_TYPE, set_definitions[index].key_type);
	nftnl_set_set_u32(set, NFTNL_SET_KEY_LEN, set_definitions[index].key_bytes);
	if ((set_definitions[index].flags & NFT_SET_MAP) != 0)
		nftnl_set_set_u32(set, NFTNL_SET_DATA_TYPE, NFT_DATA_VERDICT);
	nftnl_set_nlmsg_build_payload(nftables_batch_add(link, NFT_MSG_NEWSET, NLM_F_CREATE), set);
	nftnl_set_free(set);
}

void nftables_put_sets(struct nftables_link *link, const struct map *existing)
{
	bool has_table = false;
	for (size_t i = 0; i < ARRAY_LEN(set_definitions); i++) {
		if (map_has(existing, slice_of(set_definitions[i].name)))
			continue;
		if (!has_table)
			nftables_put_table(link);
		has_table = true;
		put_set(link, i);
	}
}

static const uint32_t hook_numbers[] = { [NFTABLES_HOOK_INPUT] = NF_INET_LOCAL_IN,
					 [NFTABLES_HOOK_FORWARD] = NF_INET_FORWARD,
					 [NFTABLES_HOOK_OUTPUT] = NF_INET_LOCAL_OUT };

void nftables_put_chain(struct nftables_link *link, const char *name, enum nftables_hook hook)
{
	struct nftnl_chain *chain = not_null(nftnl_chain_alloc());
	nftnl_chain_set_str(chain, NFTNL_CHAIN_TABLE, NFTABLES_TABLE);
	nftnl_chain_set_str(chain, NFTNL_CHAIN_NAME, name);
	if (hook != NFTABLES_NO_HOOK) {
		nftnl_chain_set_str(chain, NFTNL_CHAIN_TYPE, "filter");
		nftnl_chain_set_u32(chain, NFTNL_CHAIN_HOOKNUM, hook_numbers[hook]);
		nftnl_chain_set_s32(chain, NFTNL_CHAIN_PRIO, CHAIN_PRIORITY);
		nftnl_chain_set_u32(chain, NFTNL_CHAIN_POLICY, NF_ACCEPT);
	}
	nftnl_chain_nlmsg_build_payload(nftables_batch_add(link, NFT_MSG_NEWCHAIN, NLM_F_CREATE),
					chain);
	nftnl_chain_free(chain);
}

void nftables_drop_chain(struct nftables_link *link, const char *name)
{
	struct nlmsghdr *message = nftables_batch_add(link, NFT_MSG_DELCHAIN, 0);
	mnl_attr_put_strz(message, NFTA_CHAIN_TABLE, NFTABLES_TABLE);
	mnl_attr_put_strz(message, NFTA_CHAIN_NAME, name);
}

static struct nlmsghdr *name_counter(struct nftables_link *link, uint16_t type, uint16_t flags,
				     const char *name)
{
	struct nlmsghdr *message = nftables_batch_add(link, type, flags);
	mnl_attr_put_strz(message, NFTA_OBJ_TABLE, NFTABLES_TABLE);
	mnl_attr_put_strz(message, NFTA_OBJ_NAME, name);
	mnl_attr_put_u32(message, NFTA_OBJ_TYPE, htonl(NFT_OBJECT_COUNTER));
	return message;
}

void nftables_put_counter(struct nftables_link *link, const char *name)
{
	struct nlmsghdr *message = name_counter(link, NFT_MSG_NEWOBJ, NLM_F_CREATE, name);
	struct nlattr *data = mnl_attr_nest_start(message, NFTA_OBJ_DATA);
	mnl_attr_nest_end(message, data);
}

void nftables_drop_counter(struct nftables_link *link, const char *name)
{
	name_counter(link, NFT_MSG_DELOBJ, 0, name);
}

/* A comment that nft(8) shows; by it the rule is known again. */
static void set_comment(struct nftnl_rule *rule, const struct addrset_id *digest)
{
	char hex[NFTABLES_COUNTER_BYTES];
	struct nftnl_udata_buf *comment = not_null(nftnl_udata_buf_alloc(NFT_USERDATA_MAXLEN));
	nftables_id_text(digest, hex);
	nftnl_udata_put_strz(comment, NFTNL_UDATA_RULE_COMMENT, hex);
	nftnl_rule_set_data(rule, NFTNL_RULE_USERDATA, nftnl_udata_buf_data(comment),
			    nftnl_udata_buf_len(comment));
	nftnl_udata_buf_free(comment);
}

void nftables_put_rule(struct nftables_link *link, const char *chain,
		       const struct nftables_plan_rule *plan_rule, uint64_t before)
{
	struct nftnl_rule *rule = not_null(nftnl_rule_alloc());
	nftnl_rule_set_str(rule, NFTNL_RULE_TABLE, NFTABLES_TABLE);
	nftnl_rule_set_str(rule, NFTNL_RULE_CHAIN, chain);
	if (before != 0)
		nftnl_rule_set_u64(rule, NFTNL_RULE_POSITION, before);
	set_comment(rule, &plan_rule->digest);
	nftables_rule_expr_add(rule, plan_rule->steps, plan_rule->n_steps);
	uint16_t flags = before != 0 ? NLM_F_CREATE : NLM_F_CREATE | NLM_F_APPEND;
	nftnl_rule_nlmsg_build_payload(nftables_batch_add(link, NFT_MSG_NEWRULE, flags), rule);
	nftnl_rule_free(rule);
}

void nftables_drop_rules(struct nftables_link *link, const char *chain)
{
	struct nlmsghdr *message = nftables_batch_add(link, NFT_MSG_DELRULE, 0);
	mnl_attr_put_strz(message, NFTA_RULE_TABLE, NFTABLES_TABLE);
	mnl_attr_put_strz(message, NFTA_RULE_CHAIN, chain);
}

void nftables_drop_rule(struct nftables_link *link, const char *chain, uint64_t handle)
{
	struct nlmsghdr *message = nftables_batch_add(link, NFT_MSG_DELRULE, 0);
	mnl_attr_put_strz(message, NFTA_RULE_TABLE, NFTABLES_TABLE);
	mnl_attr_put_strz(message, NFTA_RULE_CHAIN, chain);
	mnl_attr_put_u64(message, NFTA_RULE_HANDLE, htobe64(handle));
}
