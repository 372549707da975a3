/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Elements of sets and maps. They are written and read attribute by attribute: there may be a hundred
 * thousand, and a name's new address must not wait for allocations. */
#include "addrset/nftables/elements.h"

#include <arpa/inet.h>
#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <string.h>

#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>

#include "addrset/nftables/attr.h"
#include "base/err.h"

enum {
	/* A list of elements is one attribute, whose length has 16 bits. */
	LIST_BYTES_MAX = 48 * 1024,
};

void nftables_elements_begin(struct nftables_elements *elements, struct nftables_link *link,
			     const char *set, bool removes)
{
	*elements = (struct nftables_elements){
		.link = link,
		.set = set,
		.type = removes ? NFT_MSG_DELSETELEM : NFT_MSG_NEWSETELEM,
	};
}

static void begin_message(struct nftables_elements *elements)
{
	uint16_t flags = elements->type == NFT_MSG_NEWSETELEM ? NLM_F_CREATE : 0;
	elements->message = nftables_batch_add(elements->link, elements->type, flags);
	mnl_attr_put_strz(elements->message, NFTA_SET_ELEM_LIST_TABLE, NFTABLES_TABLE);
	mnl_attr_put_strz(elements->message, NFTA_SET_ELEM_LIST_SET, elements->set);
	elements->list = mnl_attr_nest_start(elements->message, NFTA_SET_ELEM_LIST_ELEMENTS);
}

void nftables_elements_end(struct nftables_elements *elements)
{
	if (elements->message != NULL)
		mnl_attr_nest_end(elements->message, elements->list);
	elements->message = NULL;
}

static void put_verdict(struct nlmsghdr *message, const char *chain)
{
	struct nlattr *data = mnl_attr_nest_start(message, NFTA_SET_ELEM_DATA);
	struct nlattr *verdict = mnl_attr_nest_start(message, NFTA_DATA_VERDICT);
	bool goes = chain[0] != '\0';
	mnl_attr_put_u32(message, NFTA_VERDICT_CODE,
			 htonl((uint32_t)(goes ? NFT_GOTO : NF_ACCEPT)));
	if (goes)
		mnl_attr_put_strz(message, NFTA_VERDICT_CHAIN, chain);
	mnl_attr_nest_end(message, verdict);
	mnl_attr_nest_end(message, data);
}

void nftables_elements_add(struct nftables_elements *elements,
			   const struct nftables_element *element)
{
	if (elements->message != NULL && elements->message->nlmsg_len > LIST_BYTES_MAX)
		nftables_elements_end(elements);
	if (elements->message == NULL)
		begin_message(elements);
	struct nlmsghdr *message = elements->message;
	struct nlattr *one = mnl_attr_nest_start(message, NFTA_LIST_ELEM);
	struct nlattr *key = mnl_attr_nest_start(message, NFTA_SET_ELEM_KEY);
	assert(element->n_key <= NFTABLES_KEY_MAX);
	mnl_attr_put(message, NFTA_DATA_VALUE, element->n_key, element->key);
	mnl_attr_nest_end(message, key);
	if (elements->type == NFT_MSG_NEWSETELEM) {
		/* The expiration is what renews an element that exists: its timeout may be the same. */
		if (element->timeout_ms != 0) {
			mnl_attr_put_u64(message, NFTA_SET_ELEM_TIMEOUT,
					 htobe64(element->timeout_ms));
			mnl_attr_put_u64(message, NFTA_SET_ELEM_EXPIRATION,
					 htobe64(element->timeout_ms));
		}
		if (element->chain != NULL)
			put_verdict(message, element->chain);
	}
	mnl_attr_nest_end(message, one);
}

/* ---- reading ---- */

struct reader {
	void (*restart)(void *ctx);
	void (*fn)(void *ctx, const struct nftables_element *element);
	void *ctx;
};

static const struct nlattr *find_attr(const struct nlattr *nest, uint16_t type)
{
	const struct nlattr *attr;
	NFTABLES_ATTR_NESTED(attr, nest)
	{
		if (mnl_attr_get_type(attr) == type)
			return attr;
	}
	return NULL;
}

static bool read_key(const struct nlattr *key, struct nftables_element *element)
{
	const struct nlattr *value = find_attr(key, NFTA_DATA_VALUE);
	if (value == NULL || mnl_attr_get_payload_len(value) > NFTABLES_KEY_MAX)
		return false;
	element->n_key = mnl_attr_get_payload_len(value);
	memcpy(element->key, mnl_attr_get_payload(value), element->n_key);
	return true;
}

static const char *read_verdict(const struct nlattr *data)
{
	const struct nlattr *verdict = find_attr(data, NFTA_DATA_VERDICT);
	const struct nlattr *chain =
		verdict != NULL ? find_attr(verdict, NFTA_VERDICT_CHAIN) : NULL;
	return chain != NULL ? mnl_attr_get_str(chain) : "";
}

static uint64_t read_u64(const struct nlattr *attr)
{
	uint64_t value = 0;
	if (mnl_attr_get_payload_len(attr) >= sizeof(value))
		memcpy(&value, mnl_attr_get_payload(attr), sizeof(value));
	return be64toh(value);
}

static void read_element(const struct reader *reader, const struct nlattr *nest)
{
	struct nftables_element element = { .n_key = 0 };
	bool has_key = false, expired = false;
	const struct nlattr *attr;
	NFTABLES_ATTR_NESTED(attr, nest)
	{
		uint16_t type = mnl_attr_get_type(attr);
		if (type == NFTA_SET_ELEM_KEY) {
			has_key = read_key(attr, &element);
		} else if (type == NFTA_SET_ELEM_EXPIRATION) {
			element.timeout_ms = read_u64(attr);
			expired = element.timeout_ms == 0;
		} else if (type == NFTA_SET_ELEM_DATA) {
			element.chain = read_verdict(attr);
		}
	}
	if (has_key && !expired)
		reader->fn(reader->ctx, &element);
}

static int read_message(const struct nlmsghdr *message, void *ctx)
{
	const struct reader *reader = ctx;
	if (message == NULL) {
		reader->restart(reader->ctx);
		return 0;
	}
	const struct nlattr *attr;
	NFTABLES_ATTR_EACH(attr, message)
	{
		if (mnl_attr_get_type(attr) != NFTA_SET_ELEM_LIST_ELEMENTS)
			continue;
		const struct nlattr *one;
		NFTABLES_ATTR_NESTED(one, attr)
		read_element(reader, one);
	}
	return 0;
}

int nftables_elements_read(struct nftables_link *link, const char *set, void (*restart)(void *ctx),
			   void (*fn)(void *ctx, const struct nftables_element *element), void *ctx)
{
	struct reader reader = { restart, fn, ctx };
	return nftables_link_dump(link, NFT_MSG_GETSETELEM, set, read_message, &reader);
}
