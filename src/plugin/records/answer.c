/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records of a name into the reply; aliases are followed here as long as there are records, then through
 * the whole server. A name with records of other types than the one asked for exists (RFC 2308: NODATA);
 * each name counts as a zone of its own, whose SOA record is made up for that. */
#include "plugin/records/answer.h"

#include <string.h>

#include "base/err.h"
#include "dns/resp.h"
#include "dns/types.h"
#include "server/subquery.h"

enum {
	CHAIN_MAX = 8,	     /* aliases that are followed */
	NODATA_TTL_S = 5,    /* short: the type may be added at any time */
	SOA_NUMBERS = 5 * 4, /* bytes */
	SOA_SERIAL = 1,	     /* nothing is transferred */
	SOA_RETRY_S = 1200,
	SOA_REFRESH_S = 3600,
	SOA_EXPIRE_S = 604800,
};

/* The name that is inspected: the question's, then an alias's target. */
struct step {
	const uint8_t *owner; /* for records; lives as long as the reply */
	uint8_t owner_n;
	struct records_hit hit;
};

static enum verdict fail_memory(struct query *q)
{
	return query_fail_limit(q, "out of query memory");
}

/* What the query has no room for would not fit into a reply either, so it is cut like one. */
static bool add_record(struct query *q, enum dns_section section, const struct dns_rr *rr)
{
	if (dns_resp_add(&q->resp, &q->arena, section, rr) == 0)
		return true;
	q->resp.flags |= DNS_FLAG_TC;
	return false;
}

static void add_set(struct query *q, const struct step *step, const struct records_set *set)
{
	const uint8_t *data = set->data;
	for (unsigned i = 0; i < set->n; i++) {
		struct dns_rr rr = { .owner = step->owner,
				     .owner_len = step->owner_n,
				     .type = set->type,
				     .cls = DNS_CLASS_IN,
				     .ttl = set->ttl_s,
				     .rdata = data + 2,
				     .rdlen = dns_get16(data) };
		if (!add_record(q, DNS_ANSWER, &rr))
			return;
		data += 2 + rr.rdlen;
	}
}

static const struct records_set *find_set(const struct records_sets *sets, uint16_t type)
{
	for (unsigned i = 0; i < sets->n; i++) {
		if (sets->v[i].type == type)
			return &sets->v[i];
	}
	return NULL;
}

/* As the empty zones of RFC 6303 have it: the zone's own name, and nobody to write to. */
static uint8_t *make_soa(struct query *q, const struct records_node *node, size_t *ret_n)
{
	static const uint8_t nobody[] = "\6nobody\7invalid"; /* with the root label */
	static const uint32_t numbers[] = { SOA_SERIAL, SOA_REFRESH_S, SOA_RETRY_S, SOA_EXPIRE_S,
					    NODATA_TTL_S };
	size_t n = node->name_n + sizeof(nobody) + SOA_NUMBERS;
	uint8_t *soa = arena_alloc(&q->arena, n);
	if (soa == NULL)
		return NULL;
	memcpy(soa, node->name, node->name_n);
	memcpy(soa + node->name_n, nobody, sizeof(nobody));
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		dns_put32(soa + node->name_n + sizeof(nobody) + 4 * i, numbers[i]);
	*ret_n = n;
	return soa;
}

static enum verdict answer_no_data(struct query *q, const struct records_node *node)
{
	size_t n = 0;
	struct dns_rr rr = { .owner = node->name,
			     .owner_len = node->name_n,
			     .type = DNS_TYPE_SOA,
			     .cls = DNS_CLASS_IN,
			     .ttl = NODATA_TTL_S,
			     .rdata = make_soa(q, node, &n) };
	rr.rdlen = (uint16_t)n;
	if (rr.rdata == NULL || !add_record(q, DNS_AUTHORITY, &rr))
		return fail_memory(q);
	return V_ANSWERED;
}

static enum verdict answer_any(struct query *q, const struct step *step)
{
	for (unsigned i = 0; i < step->hit.sets->n; i++)
		add_set(q, step, &step->hit.sets->v[i]);
	return V_ANSWERED;
}

/* The records so far may be gone after the wait. */
static enum verdict ask_server(struct plugin_inst *self, struct query *q, const uint8_t *target)
{
	uint8_t name[DNS_NAME_MAX];
	memcpy(name, target, dns_name_len(target));
	if (dns_resp_own(&q->resp, &q->arena) < 0)
		return fail_memory(q);
	if (query_sub(q, self, SUB_SERVER, name, q->req.qtype) < 0)
		return query_fail(q, DNS_RCODE_SERVFAIL,
				  q->hit_limit ? "out of query memory"
					       : "too many aliases follow each other");
	return V_WAIT;
}

/* True: there is another step. Otherwise the verdict is written. */
static bool take_step(struct plugin_inst *self, struct query *q, const struct records_table *table,
		      struct step *step, enum verdict *ret)
{
	const struct records_sets *sets = step->hit.sets;
	const struct records_set *set = find_set(sets, q->req.qtype);
	const struct records_set *alias = find_set(sets, DNS_TYPE_CNAME);
	struct dns_qname target;
	if (set != NULL)
		add_set(q, step, set);
	if (set != NULL || alias == NULL) {
		*ret = set != NULL ? V_ANSWERED : answer_no_data(q, step->hit.node);
		return false;
	}
	add_set(q, step, alias);
	step->owner = alias->data + 2;
	step->owner_n = (uint8_t)dns_get16(alias->data);
	dns_qname_set(&target, step->owner);
	if (records_table_find(table, &target, &step->hit))
		return true;
	*ret = ask_server(self, q, step->owner);
	return false;
}

enum verdict records_answer(struct plugin_inst *self, struct query *q,
			    const struct records_table *table, const struct records_hit *hit)
{
	struct step step = { .owner = q->req.qname, .owner_n = q->qname.len, .hit = *hit };
	enum verdict verdict = V_ANSWERED;
	query_reply(q);
	q->resp.flags |= DNS_FLAG_AA;
	if (q->req.qtype == DNS_TYPE_ANY)
		return answer_any(q, &step);
	for (unsigned n = 0; take_step(self, q, table, &step, &verdict); n++) {
		if (n == CHAIN_MAX)
			return query_fail(q, DNS_RCODE_SERVFAIL,
					  "aliases of DNSRecord objects lead too far, or in a "
					  "circle");
	}
	return verdict;
}

static bool append_section(struct query *q, const struct query *sub, enum dns_section section)
{
	DNS_RR_FOREACH(rr, &sub->resp, section)
	{
		if (!add_record(q, section, rr))
			return false;
	}
	return true;
}

/* RFC 6604 §3: the code is that of the last name. That nobody answers for it, or refuses to, is no failure
 * of the alias. */
enum verdict records_answer_resume(struct plugin_inst *self, struct query *q)
{
	struct query *sub = q->sub;
	(void)self;
	if (sub == NULL || !sub->written)
		return V_ANSWERED;
	uint16_t rcode = query_rcode(sub);
	if (rcode == DNS_RCODE_NXDOMAIN || rcode == DNS_RCODE_SERVFAIL)
		q->resp.rcode = rcode;
	if (sub->outcome != V_ANSWERED)
		return V_ANSWERED;
	if (dns_resp_thaw(&sub->resp, &sub->arena) < 0)
		return fail_memory(q);
	q->resp.flags |= sub->resp.flags & DNS_FLAG_TC;
	if (!append_section(q, sub, DNS_ANSWER))
		return V_ANSWERED;
	bool is_denial = rcode == DNS_RCODE_NXDOMAIN ||
			 (rcode == DNS_RCODE_NOERROR && sub->resp.count[DNS_ANSWER] == 0);
	if (is_denial)
		append_section(q, sub, DNS_AUTHORITY);
	return V_ANSWERED;
}
