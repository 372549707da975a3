/* What a reply is to the cache: the kinds of dns/typify.h, and whether an answer answers.
 *
 * RFC 2308 §2.2: NODATA may come with the CNAME chain that led to it. So a NOERROR reply with
 * records is an answer only if the type asked for stands at the chain's end. */
#include "base/err.h"
#include "plugin/cache/cache_priv.h"

/* Links of a chain that are followed. Each takes a walk over the whole answer, which may have
 * thousands of records; no resolver follows more. */
enum { CHAIN_MAX = 16 };

/* A record of the answer section, in either form of a response. */
struct rr_walk {
	const struct dns_resp *r;
	const struct dns_rr *rr; /* open form: the next */
	size_t at;		 /* wire form: the next */
	unsigned left;
	const uint8_t *owner;
	uint16_t type, cls;
	const uint8_t *target; /* of a CNAME */
	uint8_t owner_buf[DNS_NAME_MAX], target_buf[DNS_NAME_MAX];
};

static void walk_start(struct rr_walk *w, const struct dns_resp *r)
{
	w->r = r;
	w->rr = r->first[DNS_ANSWER];
	w->left = r->count[DNS_ANSWER];
	w->at = DNS_HEADER_BYTES;
	if (r->msg == NULL)
		return;
	for (unsigned n = dns_get16(r->msg + 4); n > 0; n--) {
		int end = dns_name_skip(r->msg, r->msg_len, w->at);
		if (end < 0)
			w->left = 0;
		w->at = (size_t)MAX(end, 0) + 4;
	}
}

static bool walk_wire(struct rr_walk *w)
{
	const struct dns_resp *r = w->r;
	int end = dns_name_unpack(r->msg, r->msg_len, w->at, w->owner_buf);
	if (end < 0 || (size_t)end + 10 > r->msg_len)
		return false;
	const uint8_t *p = r->msg + end;
	w->owner = w->owner_buf;
	w->type = dns_get16(p);
	w->cls = dns_get16(p + 2);
	w->at = (size_t)end + 10U + dns_get16(p + 8);
	if (w->type != DNS_TYPE_CNAME)
		return true;
	w->target = w->target_buf;
	return dns_name_unpack(r->msg, r->msg_len, (size_t)end + 10U, w->target_buf) >= 0;
}

static bool walk_next(struct rr_walk *w)
{
	w->target = NULL;
	if (w->left == 0)
		return false;
	w->left--;
	if (w->r->msg != NULL)
		return walk_wire(w);
	w->owner = w->rr->owner;
	w->type = w->rr->type;
	w->cls = w->rr->cls;
	if (w->type == DNS_TYPE_CNAME && w->rr->rdlen != 0)
		w->target = w->rr->rdata;
	w->rr = w->rr->next;
	return true;
}

static bool of_class(const struct rr_walk *w, uint16_t qclass)
{
	return qclass == DNS_CLASS_ANY || w->cls == qclass;
}

/* The name that `name` is an alias of goes into ret, 1; none, 0; several, ERR_PARSE (RFC 2181
 * §10.1). */
static int alias_of(const struct dns_resp *r, const uint8_t *name, uint16_t qclass,
		    uint8_t ret[DNS_NAME_MAX])
{
	struct rr_walk w;
	bool found = false;
	walk_start(&w, r);
	while (walk_next(&w)) {
		if (w.target == NULL || !of_class(&w, qclass) || !dns_name_eq(w.owner, name))
			continue;
		if (found && !dns_name_eq(w.target, ret))
			return ERR_PARSE;
		dns_name_lower(w.target, ret);
		found = true;
	}
	return found;
}

static bool has_record(const struct dns_resp *r, const uint8_t *name, uint16_t type,
		       uint16_t qclass)
{
	struct rr_walk w;
	walk_start(&w, r);
	while (walk_next(&w)) {
		if ((type == DNS_TYPE_ANY || w.type == type) && of_class(&w, qclass) &&
		    dns_name_eq(w.owner, name))
			return true;
	}
	return false;
}

static bool answers_by_chain(const struct query *q, const struct dns_resp *r)
{
	uint8_t name[2][DNS_NAME_MAX];
	const uint8_t *at = q->qname.wire;
	for (unsigned i = 0; i <= CHAIN_MAX; i++) {
		int n = alias_of(r, at, q->req.qclass, name[i % 2]);
		if (n < 0)
			return false;
		if (n == 0)
			return has_record(r, at, q->req.qtype, q->req.qclass);
		at = name[i % 2];
	}
	return false;
}

/* The record asked for, under the name asked for, and no alias anywhere: nearly every answer. */
static bool plainly_answers(const struct query *q, const struct dns_resp *r)
{
	struct rr_walk w;
	bool yes = false;
	walk_start(&w, r);
	while (walk_next(&w)) {
		if (w.target != NULL)
			return false;
		yes |= w.type == q->req.qtype && w.cls == q->req.qclass &&
		       dns_name_eq(w.owner, q->qname.wire);
	}
	return yes;
}

static bool answers(const struct query *q, const struct dns_resp *r)
{
	uint8_t target[DNS_NAME_MAX];
	if (r->rcode != DNS_RCODE_NOERROR || r->count[DNS_ANSWER] == 0)
		return false;
	if (q->req.qtype == DNS_TYPE_ANY)
		return has_record(r, q->qname.wire, DNS_TYPE_ANY, q->req.qclass);
	if (q->req.qtype == DNS_TYPE_CNAME)
		return alias_of(r, q->qname.wire, q->req.qclass, target) == 1;
	return plainly_answers(q, r) || answers_by_chain(q, r);
}

static bool open_has_soa(const struct dns_resp *r)
{
	DNS_RR_FOREACH(rr, r, DNS_AUTHORITY)
	{
		if (rr->type == DNS_TYPE_SOA)
			return true;
	}
	return false;
}

static bool has_soa(const struct dns_resp *r)
{
	if (r->msg == NULL)
		return open_has_soa(r);
	struct rr_walk w;
	walk_start(&w, r);
	w.left = (unsigned)r->count[DNS_ANSWER] + r->count[DNS_AUTHORITY];
	for (unsigned i = 0; walk_next(&w); i++) {
		if (i >= r->count[DNS_ANSWER] && w.type == DNS_TYPE_SOA)
			return true;
	}
	return false;
}

struct cache_verdict cache_judge(const struct query *q, const struct dns_resp *r)
{
	struct cache_verdict v = { .kind = dns_resp_kind(r, q->req.qtype) };
	v.answers = answers(q, r);
	bool non_answer = v.kind == DNS_KIND_NOERROR && r->count[DNS_ANSWER] != 0 && !v.answers;
	bool soa = (non_answer || v.kind == DNS_KIND_NXDOMAIN) && has_soa(r);
	if (non_answer && soa)
		v.kind = DNS_KIND_NODATA;
	v.storable = (r->flags & DNS_FLAG_TC) == 0 && v.kind != DNS_KIND_OTHER &&
		     v.kind != DNS_KIND_META && v.kind != DNS_KIND_UPDATE &&
		     !(v.kind == DNS_KIND_NXDOMAIN && !soa) && !(non_answer && !soa);
	return v;
}

bool cache_has_question(const struct dns_resp *r)
{
	return r->msg == NULL || dns_get16(r->msg + 4) != 0;
}

bool cache_matches(const struct query *q, const struct dns_resp *r)
{
	if ((r->flags & DNS_FLAG_QR) == 0)
		return false;
	if (r->msg == NULL)
		return true;
	uint8_t name[DNS_NAME_MAX];
	int end = dns_name_unpack(r->msg, r->msg_len, DNS_HEADER_BYTES, name);
	return dns_get16(r->msg + 4) == 1 && end > 0 && dns_name_eq(name, q->qname.wire) &&
	       dns_get16(r->msg + end) == q->req.qtype &&
	       dns_get16(r->msg + end + 2) == q->req.qclass;
}
