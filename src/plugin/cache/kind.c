/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Classifies replies for the cache: the kinds of dns/resp_kind.h, and whether an answer holds what was
 * asked for.
 *
 * RFC 2308 §2.2: NODATA may come with the CNAME chain that led to it. So a NOERROR reply with
 * records is an answer only if the type asked for stands at the chain's end. */
#include "plugin/cache/kind.h"

#include "base/err.h"

/* Links of a chain that are followed. Each takes a walk over the whole answer, which may have
 * thousands of records; no resolver follows more. */
enum { CHAIN_MAX = 16 };

/* A record of the answer section, in either form of a response. */
struct rr_walk {
	const struct dns_resp *resp;
	const struct dns_rr *rr; /* open form: the next */
	size_t at;		 /* wire form: the next */
	unsigned left;
	const uint8_t *owner;
	uint16_t type, cls;
	const uint8_t *target; /* of a CNAME */
	uint8_t owner_buf[DNS_NAME_MAX], target_buf[DNS_NAME_MAX];
};

static void walk_start(struct rr_walk *walk, const struct dns_resp *resp)
{
	walk->resp = resp;
	walk->rr = resp->first[DNS_ANSWER];
	walk->left = resp->count[DNS_ANSWER];
	walk->at = DNS_HEADER_BYTES;
	if (resp->msg == NULL)
		return;
	for (unsigned n = dns_get16(resp->msg + 4); n > 0; n--) {
		int end = dns_name_skip(resp->msg, resp->msg_len, walk->at);
		if (end < 0)
			walk->left = 0;
		walk->at = (size_t)MAX(end, 0) + 4;
	}
}

static bool walk_wire(struct rr_walk *walk)
{
	const struct dns_resp *resp = walk->resp;
	int end = dns_name_unpack(resp->msg, resp->msg_len, walk->at, walk->owner_buf);
	if (end < 0 || (size_t)end + 10 > resp->msg_len)
		return false;
	const uint8_t *p = resp->msg + end;
	walk->owner = walk->owner_buf;
	walk->type = dns_get16(p);
	walk->cls = dns_get16(p + 2);
	walk->at = (size_t)end + 10U + dns_get16(p + 8);
	if (walk->type != DNS_TYPE_CNAME)
		return true;
	walk->target = walk->target_buf;
	return dns_name_unpack(resp->msg, resp->msg_len, (size_t)end + 10U, walk->target_buf) >= 0;
}

static bool walk_next(struct rr_walk *walk)
{
	walk->target = NULL;
	if (walk->left == 0)
		return false;
	walk->left--;
	if (walk->resp->msg != NULL)
		return walk_wire(walk);
	walk->owner = walk->rr->owner;
	walk->type = walk->rr->type;
	walk->cls = walk->rr->cls;
	if (walk->type == DNS_TYPE_CNAME && walk->rr->rdlen != 0)
		walk->target = walk->rr->rdata;
	walk->rr = walk->rr->next;
	return true;
}

static bool of_class(const struct rr_walk *walk, uint16_t qclass)
{
	return qclass == DNS_CLASS_ANY || walk->cls == qclass;
}

/* The name that `name` is an alias of goes into ret, 1; none, 0; several, ERR_PARSE (RFC 2181
 * §10.1). */
static int alias_of(const struct dns_resp *resp, const uint8_t *name, uint16_t qclass,
		    uint8_t ret[DNS_NAME_MAX])
{
	struct rr_walk walk;
	bool found = false;
	walk_start(&walk, resp);
	while (walk_next(&walk)) {
		if (walk.target == NULL || !of_class(&walk, qclass) ||
		    !dns_name_eq(walk.owner, name))
			continue;
		if (found && !dns_name_eq(walk.target, ret))
			return ERR_PARSE;
		dns_name_lower(walk.target, ret);
		found = true;
	}
	return found;
}

static bool has_record(const struct dns_resp *resp, const uint8_t *name, uint16_t type,
		       uint16_t qclass)
{
	struct rr_walk walk;
	walk_start(&walk, resp);
	while (walk_next(&walk)) {
		if ((type == DNS_TYPE_ANY || walk.type == type) && of_class(&walk, qclass) &&
		    dns_name_eq(walk.owner, name))
			return true;
	}
	return false;
}

static bool answers_by_chain(const struct query *q, const struct dns_resp *resp)
{
	uint8_t name[2][DNS_NAME_MAX];
	const uint8_t *at = q->qname.wire;
	for (unsigned i = 0; i <= CHAIN_MAX; i++) {
		int n = alias_of(resp, at, q->req.qclass, name[i % 2]);
		if (n < 0)
			return false;
		if (n == 0)
			return has_record(resp, at, q->req.qtype, q->req.qclass);
		at = name[i % 2];
	}
	return false;
}

/* The record asked for, under the name asked for, and no alias anywhere: nearly every answer. */
static bool plainly_answers(const struct query *q, const struct dns_resp *resp)
{
	struct rr_walk walk;
	bool yes = false;
	walk_start(&walk, resp);
	while (walk_next(&walk)) {
		if (walk.target != NULL)
			return false;
		yes |= walk.type == q->req.qtype && walk.cls == q->req.qclass &&
		       dns_name_eq(walk.owner, q->qname.wire);
	}
	return yes;
}

static bool is_answer(const struct query *q, const struct dns_resp *resp)
{
	uint8_t target[DNS_NAME_MAX];
	if (resp->rcode != DNS_RCODE_NOERROR || resp->count[DNS_ANSWER] == 0)
		return false;
	if (q->req.qtype == DNS_TYPE_ANY)
		return has_record(resp, q->qname.wire, DNS_TYPE_ANY, q->req.qclass);
	if (q->req.qtype == DNS_TYPE_CNAME)
		return alias_of(resp, q->qname.wire, q->req.qclass, target) == 1;
	return plainly_answers(q, resp) || answers_by_chain(q, resp);
}

static bool open_has_soa(const struct dns_resp *resp)
{
	DNS_RR_FOREACH(rr, resp, DNS_AUTHORITY)
	{
		if (rr->type == DNS_TYPE_SOA)
			return true;
	}
	return false;
}

static bool has_soa(const struct dns_resp *resp)
{
	if (resp->msg == NULL)
		return open_has_soa(resp);
	struct rr_walk walk;
	walk_start(&walk, resp);
	walk.left = (unsigned)resp->count[DNS_ANSWER] + resp->count[DNS_AUTHORITY];
	for (unsigned i = 0; walk_next(&walk); i++) {
		if (i >= resp->count[DNS_ANSWER] && walk.type == DNS_TYPE_SOA)
			return true;
	}
	return false;
}

struct cache_verdict cache_judge(const struct query *q, const struct dns_resp *resp)
{
	struct cache_verdict v = { .kind = dns_resp_kind(resp, q->req.qtype) };
	v.answers = is_answer(q, resp);
	bool non_answer = v.kind == DNS_KIND_NOERROR && resp->count[DNS_ANSWER] != 0 && !v.answers;
	bool soa = (non_answer || v.kind == DNS_KIND_NXDOMAIN) && has_soa(resp);
	if (non_answer && soa)
		v.kind = DNS_KIND_NODATA;
	v.storable = (resp->flags & DNS_FLAG_TC) == 0 && v.kind != DNS_KIND_OTHER &&
		     v.kind != DNS_KIND_META && v.kind != DNS_KIND_UPDATE &&
		     !(v.kind == DNS_KIND_NXDOMAIN && !soa) && !(non_answer && !soa);
	return v;
}

bool cache_has_question(const struct dns_resp *resp)
{
	return resp->msg == NULL || dns_get16(resp->msg + 4) != 0;
}

bool cache_matches(const struct query *q, const struct dns_resp *resp)
{
	if ((resp->flags & DNS_FLAG_QR) == 0)
		return false;
	if (resp->msg == NULL)
		return true;
	uint8_t name[DNS_NAME_MAX];
	int end = dns_name_unpack(resp->msg, resp->msg_len, DNS_HEADER_BYTES, name);
	return dns_get16(resp->msg + 4) == 1 && end > 0 && dns_name_eq(name, q->qname.wire) &&
	       dns_get16(resp->msg + end) == q->req.qtype &&
	       dns_get16(resp->msg + end + 2) == q->req.qclass;
}
