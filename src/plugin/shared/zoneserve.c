/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a zone answers: names and wildcards, aliases inside and outside the zone, referrals,
 * denials. RFC 1034 §4.3.2, 4592, 6672, 4035 §3.1. */
#include "plugin/shared/zoneserve.h"

#include <string.h>

#include "base/err.h"
#include "plugin/shared/zoneserve_add.h"
#include "plugin/shared/zoneserve_priv.h"
#include "plugin/shared/zoneserve_quick.h"
#include "server/subquery.h"

enum {
	HOPS_MAX = 9,  /* CNAMEs followed inside the zone after the first one */
	DEPTH_MAX = 8, /* of questions asked on behalf of others */
	RCODE_YXDOMAIN = 6,
};

/* What comes of a name; the reply's sections are filled. */
enum outcome {
	OUT_ANSWER,   /* or a referral, or a denial that does not fall through */
	OUT_DENIED,   /* no such name, or an empty non-terminal */
	OUT_ALIAS,    /* run->name is the next name to look for */
	OUT_EXTERNAL, /* run->name is to be asked through the server */
	OUT_FAIL,     /* SERVFAIL without any records */
};

/* ---- denials ---- */

static enum outcome no_data(struct zoneserve_run *run, const struct dns_zone_node *node)
{
	zoneserve_add_apex(run, DNS_TYPE_SOA);
	zoneserve_prove_at(run, node);
	return OUT_ANSWER;
}

/* The apex with nothing but SOA and NS counts as an empty non-terminal to CoreDNS, which keeps
 * those records apart: such a name falls through. */
static bool is_bare_apex(const struct dns_zone *zone, const struct dns_zone_node *node)
{
	const struct dns_zone_set *s = dns_zone_sets(zone, node);
	if (node->parent != DNS_ZONE_NONE)
		return false;
	for (unsigned i = 0; i < node->n_set; i++) {
		uint16_t type = s[i].type == DNS_TYPE_RRSIG ? s[i].covered : s[i].type;
		if (type != DNS_TYPE_SOA && type != DNS_TYPE_NS)
			return false;
	}
	return true;
}

static enum outcome empty_name(struct zoneserve_run *run)
{
	zoneserve_add_apex(run, DNS_TYPE_SOA);
	zoneserve_prove_before(run, run->name->wire);
	return OUT_DENIED;
}

static enum outcome no_name(struct zoneserve_run *run, const struct dns_zone_hit *hit)
{
	run->q->resp.rcode = DNS_RCODE_NXDOMAIN;
	zoneserve_add_apex(run, DNS_TYPE_SOA);
	zoneserve_prove_before(run, run->name->wire);
	zoneserve_prove_no_wildcard(run, hit->encloser);
	return OUT_DENIED;
}

/* ---- referrals ---- */

static enum outcome add_referral(struct zoneserve_run *run, const struct dns_zone_node *cut)
{
	struct query *q = run->q;
	const struct dns_zone_set *ns = dns_zone_set(run->z, cut, DNS_TYPE_NS);
	/* With an alias before it the reply is still authoritative for the question's name. */
	if (q->resp.count[DNS_ANSWER] == 0)
		q->resp.flags &= (uint16_t)~DNS_FLAG_AA;
	zoneserve_add(run, DNS_AUTHORITY, cut, ns, NULL);
	if (run->dnssec) {
		zoneserve_add_type(run, DNS_AUTHORITY, cut, DNS_TYPE_DS, NULL);
		if (dns_zone_set(run->z, cut, DNS_TYPE_DS) == NULL)
			zoneserve_prove_at(run, cut);
	}
	/* CoreDNS adds addresses of servers below the cut only; in a signed zone we do as others.
	 */
	zoneserve_add_glue(run, ns,
			   dns_zone_signed(run->z) ? dns_zone_origin(run->z)
						   : dns_zone_name(run->z, cut));
	return OUT_ANSWER;
}

/* ---- aliases ---- */

/* `target` must live as long as the reply. */
static enum outcome go_on(struct zoneserve_run *run, const uint8_t *target)
{
	dns_qname_set(&run->target, target);
	run->name = &run->target;
	run->owner = target;
	run->owner_len = run->target.len;
	return OUT_ALIAS;
}

/* `owner`: of a wildcard, the name it stands for; else NULL. */
static enum outcome follow_cname(struct zoneserve_run *run, const struct dns_zone_node *node,
				 const uint8_t *owner)
{
	const struct dns_zone_set *set = dns_zone_set(run->z, node, DNS_TYPE_CNAME);
	const uint8_t *target = dns_zone_data(run->z, set) + DNS_ZONE_RR_HEAD;
	/* An alias of itself can only loop. */
	if (owner == NULL && dns_name_eq(target, dns_zone_name(run->z, node)))
		return OUT_FAIL;
	zoneserve_add_type(run, DNS_ANSWER, node, DNS_TYPE_CNAME, owner);
	return go_on(run, target);
}

/* RFC 6672 §2.2: the labels before the owner, then the target; NULL: too long. */
static uint8_t *substitute_owner(struct zoneserve_run *run, const struct dns_zone_node *node,
				 const uint8_t *target, size_t *ret_len)
{
	size_t front = (size_t)run->name->len - node->name_len;
	size_t back = dns_name_len(target);
	uint8_t *out =
		front + back <= DNS_NAME_MAX ? arena_alloc(&run->q->arena, front + back) : NULL;
	if (out == NULL)
		return NULL;
	memcpy(out, run->name->wire, front);
	memcpy(out + front, target, back);
	*ret_len = front + back;
	return out;
}

static enum outcome follow_dname(struct zoneserve_run *run, const struct dns_zone_node *node)
{
	struct query *q = run->q;
	const uint8_t *rr = dns_zone_data(run->z, dns_zone_set(run->z, node, DNS_TYPE_DNAME));
	size_t len = 0;
	const uint8_t *name = substitute_owner(run, node, rr + DNS_ZONE_RR_HEAD, &len);
	zoneserve_add_type(run, DNS_ANSWER, node, DNS_TYPE_DNAME, NULL);
	if (name == NULL) {
		q->resp.rcode = RCODE_YXDOMAIN;
		return OUT_ANSWER;
	}
	if (dns_name_eq(name, run->name->wire))
		return OUT_FAIL;
	struct dns_rr cname = {
		.owner = run->owner,
		.owner_len = run->owner_len,
		.type = DNS_TYPE_CNAME,
		.cls = DNS_CLASS_IN,
		.ttl = dns_zone_rr_ttl(rr),
		.rdata = name,
		.rdlen = (uint16_t)len,
	};
	if (dns_resp_add(&q->resp, &q->arena, DNS_ANSWER, &cname) < 0)
		return OUT_FAIL;
	if (q->req.qtype != DNS_TYPE_CNAME)
		return go_on(run, name);
	zoneserve_add_apex(run, DNS_TYPE_NS);
	return OUT_ANSWER;
}

/* ---- answers ---- */

/* The type asked for into the answer section; false: there is none of it. */
static bool add_asked(struct zoneserve_run *run, const struct dns_zone_node *node,
		      const uint8_t *owner)
{
	uint16_t type = run->q->req.qtype;
	const struct dns_zone_set *s = dns_zone_sets(run->z, node);
	bool any = false;
	if (type != DNS_TYPE_RRSIG) {
		zoneserve_add_type(run, DNS_ANSWER, node, type, owner);
		return dns_zone_set(run->z, node, type) != NULL;
	}
	for (unsigned i = 0; i < node->n_set; i++) {
		if (s[i].type == DNS_TYPE_RRSIG) {
			zoneserve_add(run, DNS_ANSWER, node, &s[i], owner);
			any = true;
		}
	}
	return any;
}

/* RFC 4035 §2.5: what DNSSEC puts beside a CNAME is asked for where it is. */
static bool is_alias(const struct zoneserve_run *run, const struct dns_zone_node *node)
{
	uint16_t type = run->q->req.qtype;
	if ((node->flags & DNS_ZONE_ALIAS) == 0 || type == DNS_TYPE_CNAME)
		return false;
	return !dns_zone_signed(run->z) || (type != DNS_TYPE_NSEC && type != DNS_TYPE_RRSIG);
}

static enum outcome answer_node(struct zoneserve_run *run, const struct dns_zone_node *node)
{
	uint16_t type = run->q->req.qtype;
	if (is_alias(run, node))
		return follow_cname(run, node, NULL);
	if (!add_asked(run, node, NULL))
		return is_bare_apex(run->z, node) ? empty_name(run) : no_data(run, node);
	if (node->parent == DNS_ZONE_NONE && type == DNS_TYPE_NS) {
		zoneserve_add_glue(run, dns_zone_set(run->z, node, DNS_TYPE_NS),
				   dns_zone_origin(run->z));
		return OUT_ANSWER;
	}
	zoneserve_add_apex(run, DNS_TYPE_NS);
	zoneserve_add_targets(run);
	return OUT_ANSWER;
}

static struct slice wildcard_value(struct plugin_inst *self, struct query *q, struct slice label)
{
	const struct zoneserve_state *st = query_state(q, self);
	(void)label;
	return st != NULL ? st->wildcard : (struct slice){ NULL, 0 };
}

/* Metadata `zone/wildcard`. */
static void set_wildcard_metadata(struct zoneserve_run *run, const struct dns_zone_node *node)
{
	char text[DNS_NAME_TEXT_MAX];
	struct zoneserve_state *st = query_state(run->q, run->self);
	size_t len = dns_name_to_text(dns_zone_name(run->z, node), true, text);
	char *copy = st != NULL ? arena_strndup(&run->q->arena, text, len) : NULL;
	if (copy == NULL)
		return;
	st->wildcard = (struct slice){ copy, len };
	query_meta_set(run->q, run->self, "zone/wildcard", wildcard_value);
}

/* RFC 4035 §3.1.3.3 and .4: that the name itself does not exist is always part of it. */
static enum outcome answer_wildcard(struct zoneserve_run *run, const struct dns_zone_hit *hit)
{
	const struct dns_zone_node *n = hit->node;
	if (n->n_set == 0) {
		zoneserve_add_apex(run, DNS_TYPE_SOA);
		zoneserve_prove_before(run, run->name->wire);
		zoneserve_prove_no_wildcard(run, hit->encloser);
		return OUT_ANSWER;
	}
	set_wildcard_metadata(run, n);
	if (is_alias(run, n)) {
		zoneserve_prove_before(run, run->name->wire);
		return follow_cname(run, n, run->owner);
	}
	if (!add_asked(run, n, run->owner)) {
		zoneserve_add_apex(run, DNS_TYPE_SOA);
		zoneserve_prove_before(run, run->name->wire);
		zoneserve_prove_at(run, n);
		return OUT_ANSWER;
	}
	zoneserve_add_apex(run, DNS_TYPE_NS);
	zoneserve_prove_before(run, run->name->wire);
	zoneserve_add_targets(run);
	return OUT_ANSWER;
}

static enum outcome answer_hit(struct zoneserve_run *run, const struct dns_zone_hit *hit)
{
	switch (hit->kind) {
	case DNS_ZONE_FOUND:
		return answer_node(run, hit->node);
	case DNS_ZONE_EMPTY:
		return empty_name(run);
	case DNS_ZONE_WILDCARD:
		return answer_wildcard(run, hit);
	case DNS_ZONE_NXNAME:
		return no_name(run, hit);
	case DNS_ZONE_DELEGATED:
		/* RFC 4035 §3.1.4.1: DS lives on the parent's side. */
		return hit->at_cut && run->q->req.qtype == DNS_TYPE_DS
			       ? answer_node(run, hit->node)
			       : add_referral(run, hit->node);
	case DNS_ZONE_REDIRECTED:
		return follow_dname(run, hit->node);
	}
	return OUT_FAIL;
}

/* ---- what an alias leads to ---- */

/* CoreDNS goes through the server for every target that is not a name of the zone with records of
 * its own, and for these. */
static bool asks_server(const struct zoneserve_run *run, const struct dns_zone_hit *hit)
{
	uint16_t type = run->q->req.qtype;
	bool at_cut = hit->kind == DNS_ZONE_DELEGATED && hit->at_cut;
	if ((hit->kind != DNS_ZONE_FOUND && !at_cut) || is_bare_apex(run->z, hit->node))
		return true;
	return type == DNS_TYPE_NS || (type == DNS_TYPE_SOA && hit->node->parent == DNS_ZONE_NONE);
}

static enum outcome answer_target(struct zoneserve_run *run)
{
	struct dns_zone_hit hit;
	dns_zone_lookup(run->z, run->name, &hit);
	if (hit.kind == DNS_ZONE_DELEGATED && !(hit.at_cut && run->q->req.qtype == DNS_TYPE_DS))
		return add_referral(run, hit.node);
	if (asks_server(run, &hit))
		return OUT_EXTERNAL;
	if (run->hops == HOPS_MAX) {
		zoneserve_add_apex(run, DNS_TYPE_NS);
		return OUT_ANSWER;
	}
	run->hops++;
	if ((hit.node->flags & DNS_ZONE_ALIAS) != 0)
		return follow_cname(run, hit.node, NULL);
	zoneserve_add_type(run, DNS_ANSWER, hit.node, run->q->req.qtype, NULL);
	zoneserve_add_apex(run, DNS_TYPE_NS);
	zoneserve_add_targets(run);
	return OUT_ANSWER;
}

/* In a signed zone a denial needs its proof, which the server's answer would not bring along. */
static enum outcome answer_target_signed(struct zoneserve_run *run)
{
	struct dns_zone_hit hit;
	if (run->hops++ == HOPS_MAX) {
		zoneserve_add_apex(run, DNS_TYPE_NS);
		return OUT_ANSWER;
	}
	dns_zone_lookup(run->z, run->name, &hit);
	return answer_hit(run, &hit);
}

static enum outcome next_name(struct zoneserve_run *run)
{
	if (!dns_name_is_below(run->name->wire, dns_zone_origin(run->z)))
		return OUT_EXTERNAL;
	return dns_zone_signed(run->z) ? answer_target_signed(run) : answer_target(run);
}

/* RFC 6604 §3: the code is that of the last name. */
static void add_external(struct zoneserve_run *run, uint16_t rcode, bool empty)
{
	bool denied = rcode == DNS_RCODE_NXDOMAIN || (rcode == DNS_RCODE_NOERROR && empty);
	if (rcode == DNS_RCODE_NXDOMAIN || rcode == DNS_RCODE_SERVFAIL)
		run->q->resp.rcode = rcode;
	zoneserve_add_apex(run, denied ? DNS_TYPE_SOA : DNS_TYPE_NS);
	zoneserve_add_targets(run);
}

/* The zone may be replaced while we wait. */
static enum verdict ask_server(struct zoneserve_run *run)
{
	struct query *q = run->q;
	if (dns_resp_own(&q->resp, &q->arena) < 0)
		return query_fail(q, DNS_RCODE_SERVFAIL, "out of query memory");
	if (query_sub(q, run->self, SUB_SERVER, run->name->wire, q->req.qtype) == 0)
		return V_WAIT;
	add_external(run, DNS_RCODE_SERVFAIL, true);
	return V_ANSWERED;
}

/* The target's answer may be shared data, too, but nothing waits any more. */
static bool append_answer(struct query *q, struct query *sub)
{
	if (!sub->written || sub->outcome != V_ANSWERED)
		return true;
	if (dns_resp_thaw(&sub->resp, &sub->arena) < 0)
		return false;
	DNS_RR_FOREACH(rr, &sub->resp, DNS_ANSWER)
	{
		if (dns_resp_add(&q->resp, &q->arena, DNS_ANSWER, rr) < 0)
			return false;
	}
	return true;
}

/* Field by field: the room for a target is a kilobyte, and mostly not used. */
static void start_run(struct zoneserve_run *run, struct plugin_inst *self, struct query *q,
		      const struct dns_zone *zone)
{
	run->self = self;
	run->q = q;
	run->z = zone;
	run->dnssec = q->req.opt.present && q->req.opt.dnssec_ok;
	run->proofs = run->dnssec && dns_zone_signed(zone);
	run->hops = 0;
	run->name = &q->qname;
	run->owner = q->qname.wire;
	run->owner_len = q->qname.len;
}

enum verdict zoneserve_resume(struct plugin_inst *self, struct query *q,
			      const struct dns_zone *zone)
{
	struct zoneserve_run r;
	struct query *sub = q->sub;
	uint16_t before = q->resp.count[DNS_ANSWER];
	start_run(&r, self, q, zone);
	r.fall = NULL;
	/* Silence is no failure of ours: the alias alone is the answer. */
	bool silent = sub == NULL || !sub->written;
	if (!silent && !append_answer(q, sub))
		return query_fail(q, DNS_RCODE_SERVFAIL, "out of query memory");
	add_external(&r, silent ? DNS_RCODE_REFUSED : query_rcode(sub),
		     q->resp.count[DNS_ANSWER] == before);
	return V_ANSWERED;
}

enum verdict zoneserve_answer(struct plugin_inst *self, struct query *q,
			      const struct dns_zone *zone, const struct fallthrough *fall)
{
	struct zoneserve_run r;
	struct dns_zone_hit hit;
	start_run(&r, self, q, zone);
	r.fall = fall;
	dns_zone_lookup(zone, &q->qname, &hit);
	bool apex = hit.kind == DNS_ZONE_FOUND && hit.node->parent == DNS_ZONE_NONE;
	if (q->depth > DEPTH_MAX &&
	    !(apex && (q->req.qtype == DNS_TYPE_SOA || q->req.qtype == DNS_TYPE_NS)))
		return query_fail(q, DNS_RCODE_SERVFAIL, NULL);
	query_reply(q);
	q->resp.flags |= DNS_FLAG_AA;
	if (LIKELY(zoneserve_quick(&r, &hit)))
		return V_ANSWERED;
	enum outcome o = answer_hit(&r, &hit);
	while (o == OUT_ALIAS)
		o = next_name(&r);
	if (o == OUT_FAIL)
		return query_fail(q, DNS_RCODE_SERVFAIL, NULL);
	if (o == OUT_EXTERNAL)
		return ask_server(&r);
	if (o == OUT_DENIED && q->resp.count[DNS_ANSWER] == 0 &&
	    fallthrough_covers(fall, &q->qname))
		return V_NEXT;
	return V_ANSWERED;
}
