/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inspects an answer: follows its CNAME chain and reports each address for each name of the chain
 * that a rule covers. Most answers have no chain, and no rule covers their name: these are left after
 * two look-ups. */
#include "plugin/egressfirewall/inspect.h"

#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "dns/rrwalk.h"
#include "server/conn/client.h"

enum {
	CHAIN_MAX = 12, /* names; resolvers follow fewer CNAME records */
	POINTER = EGRESSFIREWALL_POINTER,
};

/* The names on the way to the addresses. The first `n_asked` are one name in several spellings: what
 * the client asked and what was looked up instead. */
struct chain {
	unsigned n, n_asked;
	struct {
		uint8_t name[DNS_NAME_MAX];
		uint32_t ttl_s; /* the smallest of the CNAME records from here to the end */
		bool covered;
		uint64_t seed; /* of a covered one */
	} at[CHAIN_MAX];
};

/* What the parts of an inspection share. */
struct inspection {
	const struct query *q;
	const struct egressfirewall_matcher *matcher;
	struct egressfirewall_sightings *sightings;
	struct egressfirewall_inspect_counts counts;
};

static ALWAYS_INLINE uint64_t seed_of(const struct inspection *inspection,
				      const struct dns_qname *qname)
{
	return egressfirewall_sightings_seed(inspection->sightings, qname->wire, qname->len,
					     inspection->matcher->number);
}

/* ---- the chain ---- */

static void add_to_chain(struct chain *chain, const struct inspection *inspection,
			 const uint8_t *name)
{
	struct dns_qname qname;
	dns_qname_set(&qname, name);
	assert(chain->n < CHAIN_MAX);
	memcpy(chain->at[chain->n].name, qname.wire, qname.len);
	chain->at[chain->n].ttl_s = UINT32_MAX;
	chain->at[chain->n].covered = egressfirewall_matches(inspection->matcher, &qname);
	if (chain->at[chain->n].covered)
		chain->at[chain->n].seed = seed_of(inspection, &qname);
	chain->n++;
}

/* Is this where the chain ends so far? */
static bool is_end(const struct chain *chain, const uint8_t *name)
{
	if (dns_name_eq(chain->at[chain->n - 1].name, name))
		return true;
	for (unsigned i = 0; chain->n == chain->n_asked && i < chain->n; i++) {
		if (dns_name_eq(chain->at[i].name, name))
			return true;
	}
	return false;
}

/* Owner of the record at hand. A pointer to the question is common, and known. */
static bool is_at_end(const struct query *q, const struct chain *chain,
		      const struct dns_rrwalk *walk)
{
	uint8_t owner[DNS_NAME_MAX];
	if (walk->rr != NULL)
		return is_end(chain, walk->rr->owner);
	const uint8_t *start = q->resp.msg + walk->start;
	if (start[0] == POINTER && start[1] == DNS_HEADER_BYTES)
		return chain->n == chain->n_asked;
	return dns_rrwalk_owner(walk, owner) >= 0 && is_end(chain, owner);
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

/* One pass over the answer; true: it got longer. */
static bool follow_chain(const struct inspection *inspection, struct chain *chain)
{
	const struct query *q = inspection->q;
	struct dns_rrwalk walk;
	unsigned before = chain->n;
	dns_rrwalk_init(&walk, &q->resp);
	while (dns_rrwalk_next(&walk) && walk.of == DNS_ANSWER) {
		uint8_t target[DNS_NAME_MAX];
		if (walk.type != DNS_TYPE_CNAME || walk.cls != DNS_CLASS_IN ||
		    chain->n == CHAIN_MAX || !is_at_end(q, chain, &walk) ||
		    !read_target(&walk, target))
			continue;
		for (unsigned i = 0; i < chain->n; i++)
			chain->at[i].ttl_s = MIN(chain->at[i].ttl_s, walk.ttl);
		add_to_chain(chain, inspection, target);
	}
	return chain->n != before;
}

/* False: no name of it is covered. */
static bool make_chain(const struct inspection *inspection, struct chain *chain)
{
	const struct query *q = inspection->q;
	bool any = false;
	chain->n = 0;
	add_to_chain(chain, inspection, q->question);
	if (q->question != q->req.qname)
		add_to_chain(chain, inspection, q->qname.wire);
	chain->n_asked = chain->n;
	/* Records may stand in any order. */
	if (!egressfirewall_starts_with_own_address(q)) {
		while (follow_chain(inspection, chain) && chain->n < CHAIN_MAX)
			;
	}
	for (unsigned i = 0; i < chain->n; i++)
		any = any || chain->at[i].covered;
	return any;
}

/* ---- reports ---- */

static void report_address(struct inspection *inspection, const struct chain *chain,
			   const struct dns_rrwalk *walk)
{
	const uint8_t *end = chain->at[chain->n - 1].name;
	for (unsigned i = 0; i < chain->n; i++) {
		if (!chain->at[i].covered)
			continue;
		/* EF-S11: the smallest TTL of chain and address. */
		struct egressfirewall_answer answer = { .seed = chain->at[i].seed,
							.name = chain->at[i].name,
							.target = i + 1 < chain->n ? end : NULL,
							.ip = walk->rdata,
							.ip_n = (uint8_t)walk->rdlen,
							.ttl_s = MIN(walk->ttl, chain->at[i].ttl_s),
							.now_ns = query_now(inspection->q),
							.client = client_key(
								&inspection->q->client) };
		enum egressfirewall_put r =
			egressfirewall_sightings_put(inspection->sightings, &answer);
		inspection->counts.queued += r == EGRESSFIREWALL_PUT_QUEUED;
		inspection->counts.full += r == EGRESSFIREWALL_PUT_FULL;
	}
}

static NOINLINE void inspect_chain(struct inspection *inspection)
{
	const struct query *q = inspection->q;
	struct chain chain;
	struct dns_rrwalk walk;
	if (!make_chain(inspection, &chain))
		return;
	dns_rrwalk_init(&walk, &q->resp);
	while (dns_rrwalk_next(&walk) && walk.of == DNS_ANSWER) {
		bool fits = (walk.type == DNS_TYPE_A && walk.rdlen == 4) ||
			    (walk.type == DNS_TYPE_AAAA && walk.rdlen == 16);
		if (fits && walk.cls == DNS_CLASS_IN && is_at_end(q, &chain, &walk))
			report_address(inspection, &chain, &walk);
	}
}

/* The common answer: a message of nothing but addresses of the name asked, all reported before,
 * under the same rules. False: it is not, or not seen to be. */
static ALWAYS_INLINE bool is_known_message(const struct inspection *inspection)
{
	enum { FIXED = 12 }; /* pointer, type, class, TTL, length */
	const struct query *q = inspection->q;
	const struct dns_resp *resp = &q->resp;
	if (resp->msg == NULL)
		return false;
	const uint8_t *rr = resp->msg + egressfirewall_answer_at(q),
		      *end = resp->msg + resp->msg_len;
	uint64_t seed = seed_of(inspection, &q->qname), now_s = query_now(q) / NS_PER_S;
	for (unsigned left = resp->count[DNS_ANSWER]; left > 0; left--) {
		if (end - rr < FIXED + 4 || !egressfirewall_is_own_address(rr))
			return false;
		size_t rdlen = rr[3] == DNS_TYPE_A ? 4 : 16;
		if (dns_get16(rr + 10) != rdlen || (size_t)(end - rr) < FIXED + rdlen)
			return false;
		uint64_t mark = egressfirewall_sightings_mark(inspection->sightings, seed,
							      rr + FIXED, rdlen);
		if (!egressfirewall_sightings_has(inspection->sightings, mark,
						  now_s + dns_get32(rr + 6)))
			return false;
		rr += FIXED + rdlen;
	}
	return true;
}

static ALWAYS_INLINE struct egressfirewall_inspect_counts inspect_as_known(
	const struct query *q, const struct egressfirewall_matcher *matcher,
	struct egressfirewall_sightings *sightings)
{
	struct inspection inspection = { .q = q, .matcher = matcher, .sightings = sightings };
	if (q->question == q->req.qname &&
	    (is_known_message(&inspection) || (egressfirewall_starts_with_own_address(q) &&
					       !egressfirewall_matches(matcher, &q->qname))))
		return inspection.counts;
	inspect_chain(&inspection);
	return inspection.counts;
}

/* Rare; in a function of its own, so that the other need not save registers for its calls. */
static NOINLINE struct egressfirewall_inspect_counts forget_and_inspect(
	const struct query *q, const struct egressfirewall_matcher *matcher,
	struct egressfirewall_sightings *sightings)
{
	egressfirewall_sightings_forget_refused(sightings);
	return inspect_as_known(q, matcher, sightings);
}

struct egressfirewall_inspect_counts egressfirewall_inspect(
	const struct query *q, const struct egressfirewall_matcher *matcher,
	struct egressfirewall_sightings *sightings)
{
	if (UNLIKELY(egressfirewall_sightings_has_refused(sightings)))
		return forget_and_inspect(q, matcher, sightings);
	return inspect_as_known(q, matcher, sightings);
}
