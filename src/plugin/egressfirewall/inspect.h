/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an answer says about names of rules: the name that the client asked for, the one that was
 * looked up instead of it (rewrite), and those of the CNAME chain that leads to the addresses
 * (autopath and searchpath begin theirs with the client's name). */
#pragma once

#include <stdbool.h>

#include "base/compiler.h"
#include "plugin/egressfirewall/matcher.h"
#include "plugin/egressfirewall/sightings.h"
#include "server/query.h"

/* The high byte of a pointer to the question's name, which stands first in a message. */
enum { EGRESSFIREWALL_POINTER = 0xc0 };

/* Where the answer of a message begins. */
static ALWAYS_INLINE size_t egressfirewall_answer_at(const struct query *q)
{
	return q->resp.body_at != 0 ? q->resp.body_at : (size_t)DNS_HEADER_BYTES + q->question_len;
}

/* Is the record of a message an address of the name asked? Its first four bytes are there. */
static ALWAYS_INLINE bool egressfirewall_is_own_address(const uint8_t *rr)
{
	const uint32_t pointer = (uint32_t)EGRESSFIREWALL_POINTER << 24 | DNS_HEADER_BYTES << 16;
	uint32_t head = dns_get32(rr);
	return head == (pointer | DNS_TYPE_A) || head == (pointer | DNS_TYPE_AAAA);
}

/* Is it seen at once that the answer, which is not empty, begins with an address of the name asked? So
 * in most messages. */
static ALWAYS_INLINE bool egressfirewall_plainly_starts_with_own_address(const struct query *q)
{
	return LIKELY(q->resp.body_at != 0) &&
	       egressfirewall_is_own_address(q->resp.msg + q->resp.body_at);
}

/* Is the first record of the answer an address of the name asked? Then there is no chain. */
static ALWAYS_INLINE bool egressfirewall_starts_with_own_address(const struct query *q)
{
	if (LIKELY(q->resp.msg != NULL)) {
		size_t at = egressfirewall_answer_at(q);
		return at + 4 <= q->resp.msg_len && egressfirewall_is_own_address(q->resp.msg + at);
	}
	const struct dns_rr *rr = q->resp.first[DNS_ANSWER];
	return rr != NULL && (rr->type == DNS_TYPE_A || rr->type == DNS_TYPE_AAAA) &&
	       (rr->owner == q->qname.wire || rr->owner == q->req.qname ||
		dns_name_eq(rr->owner, q->qname.wire));
}

struct egressfirewall_inspect_counts {
	unsigned queued, full; /* sightings that were reported; that had no room */
};

/* Reports the addresses in q->resp to `sightings`. On a worker, inside a read section. */
struct egressfirewall_inspect_counts egressfirewall_inspect(
	const struct query *q, const struct egressfirewall_matcher *matcher,
	struct egressfirewall_sightings *sightings);
