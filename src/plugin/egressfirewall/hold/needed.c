/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Follows the CNAME chain of an answer and multiplies rules with addresses. */
#include "plugin/egressfirewall/hold/needed.h"

#include <string.h>

#include "base/err.h"
#include "dns/rrwalk.h"
#include "plugin/egressfirewall/hold/links.h"

enum {
	CHAIN_MAX = 12, /* names; resolvers follow fewer CNAME records */
	IDS_MAX = 64,
};

struct chain {
	const struct query *q;
	const struct egressfirewall_names *names;
	/* Where the chain ends so far: one name, or what was asked in both spellings. */
	uint8_t end[2][DNS_NAME_MAX];
	unsigned n_end;
	unsigned n; /* names */
	const struct addrset_id *id[IDS_MAX];
	size_t n_ids;
	bool too_many;
};

static void add_ids(struct chain *chain, const struct dns_qname *qname)
{
	const struct addrset_id *found[IDS_MAX];
	size_t n = egressfirewall_names_match(chain->names, qname, found, IDS_MAX);
	for (size_t i = 0; i < n; i++) {
		bool known = false;
		for (size_t k = 0; k < chain->n_ids; k++)
			known = known || memcmp(chain->id[k], found[i], sizeof(*found[i])) == 0;
		if (known)
			continue;
		chain->too_many = chain->too_many || chain->n_ids == IDS_MAX;
		if (chain->n_ids < IDS_MAX)
			chain->id[chain->n_ids++] = found[i];
	}
}

/* It is one more spelling of the end, or a new end. */
static void add_name(struct chain *chain, const uint8_t *name, bool is_new_end)
{
	struct dns_qname qname;
	dns_qname_set(&qname, name);
	if (is_new_end)
		chain->n_end = 0;
	memcpy(chain->end[chain->n_end++], qname.wire, qname.len);
	chain->n++;
	add_ids(chain, &qname);
}

static bool is_at_end(const struct chain *chain, const struct dns_rrwalk *walk)
{
	uint8_t unpacked[DNS_NAME_MAX];
	const uint8_t *owner = unpacked;
	if (walk->rr != NULL)
		owner = walk->rr->owner;
	else if (dns_rrwalk_owner(walk, unpacked) < 0)
		return false;
	for (unsigned i = 0; i < chain->n_end; i++) {
		if (dns_name_eq(chain->end[i], owner))
			return true;
	}
	return false;
}

static bool read_target(const struct dns_rrwalk *walk, uint8_t out[DNS_NAME_MAX])
{
	if (walk->rr != NULL) {
		memcpy(out, walk->rdata, walk->rdlen);
		return true;
	}
	const struct dns_resp *resp = walk->resp;
	return dns_name_unpack(resp->msg, resp->msg_len, (size_t)(walk->rdata - resp->msg), out) >=
	       0;
}

/* One pass over the answer; true: the chain got longer. Records may stand in any order. */
static bool follow_chain(struct chain *chain)
{
	struct dns_rrwalk walk;
	unsigned before = chain->n;
	dns_rrwalk_init(&walk, &chain->q->resp);
	while (dns_rrwalk_next(&walk) && walk.of == DNS_ANSWER) {
		uint8_t target[DNS_NAME_MAX];
		if (walk.type == DNS_TYPE_CNAME && walk.cls == DNS_CLASS_IN &&
		    chain->n < CHAIN_MAX && is_at_end(chain, &walk) && read_target(&walk, target))
			add_name(chain, target, true);
	}
	return chain->n != before && chain->n < CHAIN_MAX;
}

static void make_chain(struct chain *chain)
{
	const struct query *q = chain->q;
	add_name(chain, q->question, true);
	if (q->question != q->req.qname)
		add_name(chain, q->qname.wire, false);
	while (follow_chain(chain))
		;
}

static bool is_address(const struct chain *chain, const struct dns_rrwalk *walk)
{
	bool fits = (walk->type == DNS_TYPE_A && walk->rdlen == 4) ||
		    (walk->type == DNS_TYPE_AAAA && walk->rdlen == 16);
	return fits && walk->cls == DNS_CLASS_IN && is_at_end(chain, walk);
}

static void add_pairs(const struct chain *chain, const struct dns_rrwalk *walk,
		      struct egressfirewall_needed *needed)
{
	struct addrset_address address = { .n = (uint8_t)walk->rdlen };
	memcpy(address.bytes, walk->rdata, walk->rdlen);
	for (size_t i = 0; i < chain->n_ids; i++)
		needed->pairs[needed->n_pairs++] =
			(struct addrset_pair){ .name = *chain->id[i], .address = address };
}

int egressfirewall_needed_of(struct query *q, const struct egressfirewall_names *names,
			     const struct egressfirewall_never *never,
			     struct egressfirewall_needed *ret)
{
	struct chain chain = { .q = q, .names = names };
	struct dns_rrwalk walk;
	size_t most = q->resp.count[DNS_ANSWER];
	*ret = (struct egressfirewall_needed){ .n_pairs = 0 };
	make_chain(&chain);
	if (chain.n_ids == 0)
		return 0;
	most = MIN(most * chain.n_ids, (size_t)EGRESSFIREWALL_ASK_PAIRS_MAX);
	ret->pairs = arena_alloc(&q->arena, most * sizeof(*ret->pairs));
	if (ret->pairs == NULL)
		return ERR_SPACE;
	dns_rrwalk_init(&walk, &q->resp);
	while (dns_rrwalk_next(&walk) && walk.of == DNS_ANSWER) {
		if (!is_address(&chain, &walk))
			continue;
		if (egressfirewall_never_learns(never, walk.rdata, (uint8_t)walk.rdlen)) {
			ret->n_never++;
			continue;
		}
		if (chain.too_many || ret->n_pairs + chain.n_ids > most)
			return ERR_LIMIT;
		ret->ttl_s = MAX(ret->ttl_s, walk.ttl);
		add_pairs(&chain, &walk, ret);
	}
	return 0;
}
