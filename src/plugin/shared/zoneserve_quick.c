/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The commonest replies, laid out as bytes without building records first: an answer whose data has
 * no names, with the apex's NS records; a denial with its SOA record. */
#include "dns/zone/apex_wire.h"
#include "plugin/shared/zoneserve_quick.h"

#include <string.h>

enum { QUICK_MAX = 1200 /* bytes; compression pointers reach so far */ };

static bool write_reply(struct zoneserve_run *run, const struct dns_zone_set *answer,
			const struct dns_zone_apex_wire *apex_wire)
{
	struct query *q = run->q;
	size_t start = DNS_HEADER_BYTES + (size_t)q->req.question_len;
	size_t answer_bytes = answer != NULL ? answer->bytes : 0;
	size_t n = start + answer_bytes + apex_wire->len;
	if (n > QUICK_MAX)
		return false;
	uint8_t *msg = arena_alloc(&q->arena, n);
	if (msg == NULL)
		return false;
	unsigned n_answer = answer != NULL ? answer->n : 0;
	memset(msg, 0, DNS_HEADER_BYTES);
	dns_put16(msg + 4, 1);
	dns_put16(msg + 6, (uint16_t)n_answer);
	dns_put16(msg + 8, apex_wire->n);
	memcpy(msg + DNS_HEADER_BYTES, q->req.qname, q->req.question_len);
	if (answer != NULL)
		memcpy(msg + start, dns_zone_data(run->z, answer), answer_bytes);
	size_t origin_len = dns_zone_node(run->z, 0)->name_len;
	dns_zone_apex_wire_put(apex_wire, msg, start + answer_bytes,
			       DNS_HEADER_BYTES + (size_t)q->qname.len - origin_len);
	q->resp.msg = msg;
	q->resp.msg_len = (uint32_t)n;
	q->resp.body_at = (uint16_t)start;
	q->resp.count[DNS_ANSWER] = (uint16_t)n_answer;
	q->resp.count[DNS_AUTHORITY] = apex_wire->n;
	q->resp.full_size = (uint32_t)(start + answer_bytes + apex_wire->full_size +
				       n_answer * (size_t)(q->qname.len - 2));
	return true;
}

bool zoneserve_quick(struct zoneserve_run *run, const struct dns_zone_hit *hit)
{
	struct query *q = run->q;
	uint16_t type = q->req.qtype;
	/* A question in other letters gets its owners in the zone's. */
	if (q->qname.has_upper || (run->dnssec && dns_zone_has_sigs(run->z)) ||
	    q->question != q->req.qname)
		return false;
	const struct dns_zone_apex_wire *soa = dns_zone_apex_wire(run->z, DNS_ZONE_APEX_SOA);
	if (hit->kind == DNS_ZONE_NXNAME && soa != NULL &&
	    !fallthrough_covers(run->fall, &q->qname)) {
		q->resp.rcode = DNS_RCODE_NXDOMAIN;
		return write_reply(run, NULL, soa); /* or no_name() does it again */
	}
	if (hit->kind != DNS_ZONE_FOUND || (hit->node->flags & DNS_ZONE_ALIAS) != 0 ||
	    type == DNS_TYPE_RRSIG)
		return false;
	const struct dns_zone_set *set = dns_zone_set(run->z, hit->node, type);
	if (set == NULL)
		return soa != NULL && !run->fall->on && write_reply(run, NULL, soa);
	const struct dns_zone_apex_wire *ns = dns_zone_apex_wire(run->z, DNS_ZONE_APEX_NS);
	return ns != NULL && (set->flags & (DNS_ZONE_FLAT | DNS_ZONE_CASED)) == DNS_ZONE_FLAT &&
	       write_reply(run, set, ns);
}
