/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the table back: chains, rules, counters, and elements of sets. A rule says by a comment which one
 * of the plan it is, so that its expressions need not be read. */
#include "addrset/nftables/snapshot.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <linux/netfilter/nf_tables.h>
#include <libnftnl/udata.h>

#include "addrset/nftables/attr.h"
#include "addrset/nftables/rule_expr.h"
#include "base/mem.h"

static char present[] = "present";

static const char *const planned_sets[] = {
	[NFTABLES_PLANNED_PODS4] = NFTABLES_SET_PODS4,
	[NFTABLES_PLANNED_PODS6] = NFTABLES_SET_PODS6,
	[NFTABLES_PLANNED_PORTS] = NFTABLES_SET_PORTS,
	[NFTABLES_PLANNED_ADMITTED] = NFTABLES_SET_ADMITTED,
};

const char *nftables_planned_set_name(enum nftables_planned_set set)
{
	return planned_sets[set];
}

/* ---- names of sets, chains and counters ---- */

/* All three have the table's name as attribute 1. */
static const char *name_in_table(const struct nlmsghdr *message, uint16_t name_type)
{
	const char *name = NULL;
	bool ours = false;
	const struct nlattr *attr;
	NFTABLES_ATTR_EACH(attr, message)
	{
		uint16_t type = mnl_attr_get_type(attr);
		if (type == NFTA_CHAIN_TABLE)
			ours = strcmp(mnl_attr_get_str(attr), NFTABLES_TABLE) == 0;
		else if (type == name_type)
			name = mnl_attr_get_str(attr);
	}
	return ours ? name : NULL;
}

static void restart_map(struct map *map)
{
	map_done(map);
	map_init(map);
}

static int take_set(const struct nlmsghdr *message, void *ctx)
{
	struct map *sets = ctx;
	if (message == NULL)
		restart_map(sets);
	const char *name = message != NULL ? name_in_table(message, NFTA_SET_NAME) : NULL;
	if (name != NULL)
		map_set(sets, slice_of(name), present);
	return 0;
}

static int take_counter(const struct nlmsghdr *message, void *ctx)
{
	struct map *counters = ctx;
	if (message == NULL)
		restart_map(counters);
	const char *name = message != NULL ? name_in_table(message, NFTA_OBJ_NAME) : NULL;
	if (name != NULL)
		map_set(counters, slice_of(name), present);
	return 0;
}

static void free_chains(struct map *chains)
{
	size_t pos = 0;
	const struct map_entry *entry;
	while ((entry = map_next(chains, &pos)) != NULL) {
		struct nftables_kernel_chain *chain = entry->value;
		vec_done(&chain->rules);
		free(chain);
	}
	map_done(chains);
}

static int take_chain(const struct nlmsghdr *message, void *ctx)
{
	struct map *chains = ctx;
	if (message == NULL) {
		free_chains(chains);
		map_init(chains);
		return 0;
	}
	const char *name = name_in_table(message, NFTA_CHAIN_NAME);
	if (name != NULL)
		map_set(chains, slice_of(name), xcalloc(1, sizeof(struct nftables_kernel_chain)));
	return 0;
}

/* ---- rules ---- */

/* The comment is "<32 hexadecimal digits>". */
static bool read_digest(const struct nlattr *userdata, struct addrset_id *ret)
{
	const uint8_t *bytes = mnl_attr_get_payload(userdata);
	size_t n = mnl_attr_get_payload_len(userdata);
	if (n < 2 + 2 * ADDRSET_ID_BYTES || bytes[0] != NFTNL_UDATA_RULE_COMMENT)
		return false;
	for (size_t i = 0; i < ADDRSET_ID_BYTES; i++) {
		int high = ascii_hex_value(bytes[2 + 2 * i]);
		int low = ascii_hex_value(bytes[3 + 2 * i]);
		if (high < 0 || low < 0)
			return false;
		ret->bytes[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

static uint64_t read_handle(const struct nlattr *attr)
{
	uint64_t value = 0;
	if (mnl_attr_get_payload_len(attr) >= sizeof(value))
		memcpy(&value, mnl_attr_get_payload(attr), sizeof(value));
	return be64toh(value);
}

static void forget_rules(struct map *chains)
{
	size_t pos = 0;
	const struct map_entry *entry;
	while ((entry = map_next(chains, &pos)) != NULL)
		((struct nftables_kernel_chain *)entry->value)->rules.n = 0;
}

static int take_rule(const struct nlmsghdr *message, void *ctx)
{
	struct map *chains = ctx;
	struct nftables_kernel_rule rule = { 0 };
	struct nftables_kernel_chain *chain = NULL;
	if (message == NULL) {
		forget_rules(chains);
		return 0;
	}
	if (name_in_table(message, NFTA_RULE_CHAIN) == NULL)
		return 0; /* kernels before 5.x send those of all tables */
	const struct nlattr *attr;
	NFTABLES_ATTR_EACH(attr, message)
	{
		uint16_t type = mnl_attr_get_type(attr);
		if (type == NFTA_RULE_CHAIN)
			chain = map_get(chains, slice_of(mnl_attr_get_str(attr)));
		else if (type == NFTA_RULE_HANDLE)
			rule.handle = read_handle(attr);
		else if (type == NFTA_RULE_USERDATA && !read_digest(attr, &rule.digest))
			memset(&rule.digest, 0, sizeof(rule.digest));
	}
	if (chain == NULL)
		return -EINTR; /* the chain is newer than the list of chains */
	vec_push(&chain->rules, rule);
	return 0;
}

/* ---- elements ---- */

static void restart_elements(void *ctx)
{
	struct map *elements = ctx;
	size_t pos = 0;
	const struct map_entry *entry;
	while ((entry = map_next(elements, &pos)) != NULL)
		free(entry->value);
	restart_map(elements);
}

static void take_element(void *ctx, const struct nftables_element *element)
{
	struct map *elements = ctx;
	struct slice key = { (const char *)element->key, element->n_key };
	char *chain = xstrdup(element->chain != NULL ? element->chain : "");
	free(map_set(elements, key, chain));
}

int nftables_snapshot_sets(struct nftables_link *link, struct map *ret)
{
	map_init(ret);
	int r = nftables_link_dump(link, NFT_MSG_GETSET, NULL, take_set, ret);
	return r == -ENOENT ? 0 : r;
}

int nftables_snapshot_has_chains(struct nftables_link *link)
{
	struct map chains;
	map_init(&chains);
	int r = nftables_link_dump(link, NFT_MSG_GETCHAIN, NULL, take_chain, &chains);
	bool is_any = chains.n != 0;
	free_chains(&chains);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	return is_any;
}

static int read_all(struct nftables_link *link, struct nftables_snapshot *snapshot)
{
	int r = nftables_link_dump(link, NFT_MSG_GETSET, NULL, take_set, &snapshot->sets);
	if (r >= 0)
		r = nftables_link_dump(link, NFT_MSG_GETCHAIN, NULL, take_chain, &snapshot->chains);
	if (r >= 0)
		r = nftables_link_dump(link, NFT_MSG_GETRULE, NULL, take_rule, &snapshot->chains);
	if (r >= 0)
		r = nftables_link_dump(link, NFT_MSG_GETOBJ, NULL, take_counter,
				       &snapshot->counters);
	for (size_t i = 0; r >= 0 && i < NFTABLES_PLANNED_SETS; i++) {
		if (map_has(&snapshot->sets, slice_of(planned_sets[i])))
			r = nftables_elements_read(link, planned_sets[i], restart_elements,
						   take_element, &snapshot->elements[i]);
	}
	return r;
}

int nftables_snapshot_read(struct nftables_link *link, struct nftables_snapshot *ret)
{
	memset(ret, 0, sizeof(*ret));
	int r = read_all(link, ret);
	if (r >= 0)
		return 0;
	nftables_snapshot_done(ret);
	if (r != -ENOENT)
		return r;
	memset(ret, 0, sizeof(*ret)); /* no table */
	return 0;
}

void nftables_snapshot_done(struct nftables_snapshot *snapshot)
{
	map_done(&snapshot->sets);
	free_chains(&snapshot->chains);
	map_done(&snapshot->counters);
	for (size_t i = 0; i < NFTABLES_PLANNED_SETS; i++) {
		restart_elements(&snapshot->elements[i]);
		map_done(&snapshot->elements[i]);
	}
}
