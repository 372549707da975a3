/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hands a reply that is not stored to all queries that wait for it. To the upstream their questions
 * are the same, so asking again would bring the same reply, and many equal questions at a time help
 * an attacker who forges replies. */
#include "plugin/cache/coalesce.h"

#include <assert.h>
#include <string.h>

#include "plugin/cache/kind.h"
#include "plugin/cache/single_flight.h"
#include "plugin/cache/store_reply.h"

enum {
	/* Longer ones are rare; copies of them could take the memory that other queries need. */
	COPY_MAX = 4096,
	/* Thousands may wait who each ask for something else, and this is done for each reply. */
	OTHERS_MAX = 64,
};

/* Options that do not affect the records of the answer: NSID, COOKIE, keep-alive, padding. */
static bool concerns_records(const struct dns_option *option)
{
	return option->code != 3 && option->code != 10 && option->code != 11 && option->code != 12;
}

static bool next_concern(const struct dns_opt *opt, size_t *pos, struct dns_option *ret)
{
	while (dns_option_next(opt, pos, ret)) {
		if (concerns_records(ret))
			return true;
	}
	return false;
}

static bool same_options(const struct dns_opt *left, const struct dns_opt *right)
{
	size_t at_a = 0, at_b = 0;
	struct dns_option x, y;
	if (left->present != right->present)
		return false;
	while (next_concern(left, &at_a, &x)) {
		if (!next_concern(right, &at_b, &y) || x.code != y.code || x.len != y.len ||
		    memcmp(x.data, y.data, x.len) != 0)
			return false;
	}
	return !next_concern(right, &at_b, &y);
}

static bool same_key(const struct query *left, const struct query *right)
{
	return left->qname.len == right->qname.len && left->req.qtype == right->req.qtype &&
	       left->req.qclass == right->req.qclass &&
	       left->req.opt.dnssec_ok == right->req.opt.dnssec_ok &&
	       memcmp(left->qname.wire, right->qname.wire, left->qname.len) == 0;
}

/* Beyond the key, of which groups compare the hash, what else goes to an upstream. A reply that was
 * cut may be whole for a client that accepts more. */
static bool asks_the_same(const struct query *leader, const struct pass *pass,
			  const struct query *q)
{
	if (((pass->flags ^ q->req.flags) & (DNS_FLAG_RD | DNS_FLAG_CD)) != 0 ||
	    !same_key(leader, q) || !same_options(&leader->req.opt, &q->req.opt))
		return false;
	return (leader->resp.flags & DNS_FLAG_TC) == 0 ||
	       (leader->proto == QUERY_UDP && q->proto == QUERY_UDP &&
		query_udp_size(q) <= query_udp_size(leader));
}

static bool copy_reply(const struct query *leader, const uint8_t *msg, size_t len, struct query *q,
		       struct dns_resp *ret)
{
	uint8_t *copy = arena_memdup(&q->arena, msg, len);
	uint16_t flags = leader->resp.flags;
	if (copy == NULL)
		return false;
	if (!q->req.opt.dnssec_ok && (q->req.flags & DNS_FLAG_AD) == 0)
		flags &= (uint16_t)~DNS_FLAG_AD;
	memcpy(copy + DNS_HEADER_BYTES, q->req.qname, q->qname.len);
	*ret = (struct dns_resp){
		.flags = flags,
		.rcode = leader->resp.rcode,
		.count = { leader->resp.count[0], leader->resp.count[1], leader->resp.count[2] },
		.msg = copy,
		.msg_len = (uint32_t)len,
		.body_at = (uint16_t)(DNS_HEADER_BYTES + q->qname.len + 4),
		.full_size = leader->resp.full_size,
	};
	return true;
}

void cache_coalesce(struct plugin_inst *self, struct query *q, const struct pass *pass)
{
	struct cache_worker *worker = cache_worker(self, q);
	struct flight *next, *f = flight_waiting(worker, pass->flight.group->hash);
	unsigned others = 0;
	assert(pass->flight.asks);
	if (f == NULL || q->hit_limit || q->tally != 0 || q->resp.rcode > 15 ||
	    !cache_has_question(&q->resp) || !cache_matches(q, &q->resp))
		return;
	int n = cache_message(self, q);
	if (n < 0 || n > COPY_MAX)
		return;
	for (; f != NULL && others < OTHERS_MAX; f = next) {
		next = f->next;
		struct pass *waiting = query_state_get(f->q, self);
		if (waiting == NULL || waiting->mode != PASS_FOLLOW ||
		    !asks_the_same(q, pass, f->q) ||
		    !copy_reply(q, worker->scratch, (size_t)n, f->q, &waiting->instead)) {
			others++;
			continue;
		}
		waiting->coalesced = true;
		flight_remove(f);
		query_resume(f->q);
	}
}
