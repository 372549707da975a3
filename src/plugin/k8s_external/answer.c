/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Answers for Services. Those with host names (of load balancers) are put together when all their
 * names were looked up, one after the other, through the whole server. */
#include "plugin/k8s_external/answer.h"

#include <string.h>

#include "base/err.h"
#include "plugin/k8s_external/apex.h"
#include "plugin/shared/byteset.h"
#include "server/subquery.h"

enum { SRV_FIXED = 6, WEIGHT_ALL = 100 };

/* What is built in one pass over the hits. */
struct answer {
	const struct k8s_external_conf *c;
	struct query *q;
	struct k8s_external_state *st; /* NULL: nothing was looked up */
	size_t zone;
	uint32_t ttl_s; /* of kubernetes, which some records have */
	size_t n;	/* hits */
	uint16_t weight;
	struct byteset seen[DNS_SECTIONS];
};

static void ask_services(struct answer *answer,
			 bool (*each)(void *ctx, const struct external_hit *hit),
			 struct external_ask *ret)
{
	*ret = (struct external_ask){ .zone_labels = answer->c->zone_labels[answer->zone],
				      .headless = answer->c->headless,
				      .each = each,
				      .ctx = answer };
	answer->c->services->find(answer->c->from, answer->q, ret);
	answer->ttl_s = ret->ttl_s;
}

static bool is_v4(const uint8_t *ip)
{
	static const uint8_t v4[12] = { [10] = 0xff, [11] = 0xff };
	return memcmp(ip, v4, sizeof(v4)) == 0;
}

static bool host_name(const char *text, uint8_t out[DNS_NAME_MAX])
{
	return dns_name_from_text(slice_of(text), out) > 1;
}

/* ---- host names ---- */

static bool count_hit(void *ctx, const struct external_hit *hit)
{
	struct answer *a = ctx;
	uint8_t name[DNS_NAME_MAX];
	struct k8s_external_state *st = a->st;
	a->n++;
	if (hit->host == NULL || !host_name(hit->host, name) || st == NULL ||
	    st->n_hosts == K8S_EXTERNAL_HOSTS_MAX)
		return true;
	for (size_t i = 0; i < st->n_hosts; i++) {
		if (dns_name_eq(st->host[i], name))
			return true;
	}
	const uint8_t *copy = arena_memdup(&a->q->arena, name, dns_name_len(name));
	if (copy != NULL)
		st->host[st->n_hosts++] = copy;
	return true;
}

/* Types that are looked up: the one asked for, or both. */
static uint16_t type_at(const struct query *q, size_t index)
{
	static const uint16_t both[K8S_EXTERNAL_TYPES] = { DNS_TYPE_A, DNS_TYPE_AAAA };
	if (q->req.qtype == DNS_TYPE_SRV)
		return both[index];
	return both[index] == q->req.qtype ? both[index] : 0;
}

/* Starts the next look-up; false when all are done. */
static bool start_lookup(struct plugin_inst *self, struct query *q, struct k8s_external_state *st)
{
	for (; st->at < st->n_hosts * K8S_EXTERNAL_TYPES; st->at++) {
		uint16_t type = type_at(q, st->at % K8S_EXTERNAL_TYPES);
		const uint8_t *host = st->host[st->at / K8S_EXTERNAL_TYPES];
		if (type != 0 && query_sub(q, self, SUB_SERVER, host, type) == 0)
			return true;
	}
	return false;
}

/* The answers of a look-up behind ours. */
static void add_found(struct answer *answer, const struct external_hit *hit, size_t type,
		      enum dns_section section)
{
	uint8_t name[DNS_NAME_MAX];
	for (size_t i = 0; answer->st != NULL && i < answer->st->n_hosts; i++) {
		struct query *sub = answer->st->reply[i][type];
		if (sub == NULL || !host_name(hit->host, name) ||
		    !dns_name_eq(answer->st->host[i], name))
			continue;
		answer->q->resp.flags |= section == DNS_ANSWER ? sub->resp.flags & DNS_FLAG_TC : 0;
		if (dns_resp_thaw(&sub->resp, &answer->q->arena) < 0)
			return;
		DNS_RR_FOREACH(rr, &sub->resp, DNS_ANSWER)
		{
			if (!k8s_external_add(answer->q, section, rr))
				return;
		}
	}
}

/* ---- records ---- */

/* Is it the first such record that is made of a hit? False, too, when there is no more room. */
static bool is_new(struct answer *answer, enum dns_section section, const struct dns_rr *rr)
{
	uint8_t key[2 + DNS_NAME_MAX + SRV_FIXED + DNS_NAME_MAX];
	size_t owner_n = dns_name_len(rr->owner), n = 2 + owner_n + rr->rdlen;
	dns_put16(key, rr->type);
	memcpy(key + 2, rr->owner, owner_n);
	memcpy(key + 2 + owner_n, rr->rdata, rr->rdlen);
	const char *copy = arena_memdup(&answer->q->arena, key, n);
	answer->seen[section].full = answer->seen[section].full || copy == NULL;
	bool is = byteset_add(&answer->seen[section], (struct slice){ copy, n });
	if (answer->seen[section].full)
		answer->q->resp.flags |= DNS_FLAG_TC;
	return is;
}

/* False when there is no more room. */
static bool add_once(struct answer *answer, enum dns_section section, const struct dns_rr *rr)
{
	return is_new(answer, section, rr) ? k8s_external_add(answer->q, section, rr)
					   : !answer->seen[section].full;
}

static bool add_address(void *ctx, const struct external_hit *hit)
{
	struct answer *a = ctx;
	uint16_t type = a->q->req.qtype;
	uint8_t name[DNS_NAME_MAX];
	if (hit->ip != NULL) {
		size_t n = is_v4(hit->ip) ? 4 : 16;
		return (n == 4) != (type == DNS_TYPE_A) ||
		       add_once(a, DNS_ANSWER,
				&(struct dns_rr){ .owner = a->q->req.qname,
						  .type = type,
						  .ttl = (uint32_t)a->c->ttl_s,
						  .rdata = hit->ip + 16 - n,
						  .rdlen = (uint16_t)n });
	}
	if (!host_name(hit->host, name))
		return true;
	struct dns_rr rr = { .owner = a->q->req.qname,
			     .type = DNS_TYPE_CNAME,
			     .ttl = a->ttl_s,
			     .rdata = name,
			     .rdlen = (uint16_t)dns_name_len(name) };
	if (!is_new(a, DNS_ANSWER, &rr))
		return !a->seen[DNS_ANSWER].full;
	if (!k8s_external_add(a->q, DNS_ANSWER, &rr))
		return false;
	add_found(a, hit, type != DNS_TYPE_A, DNS_ANSWER);
	return true;
}

/* [endpoint.]service.namespace.ZONE; 0: no such name. */
static size_t own_name(const struct external_hit *hit, const uint8_t *zone,
		       uint8_t out[DNS_NAME_MAX])
{
	size_t n = 0, zone_n = dns_name_len(zone);
	for (unsigned i = 0; i < hit->n_labels; i++) {
		if (hit->label[i].n > DNS_LABEL_MAX ||
		    n + 1 + hit->label[i].n + zone_n > DNS_NAME_MAX)
			return 0;
		out[n] = (uint8_t)hit->label[i].n;
		memcpy(out + n + 1, hit->label[i].p, hit->label[i].n);
		n += 1 + hit->label[i].n;
	}
	memcpy(out + n, zone, zone_n);
	return n + zone_n;
}

/* Further ports of a host name bring no new addresses. */
static bool add_srv_of_host(struct answer *answer, const struct external_hit *hit,
			    const struct dns_rr *rr)
{
	bool known = false;
	DNS_RR_FOREACH(have, &answer->q->resp, DNS_ANSWER)
	known = known || dns_name_eq_case(have->rdata + SRV_FIXED, rr->rdata + SRV_FIXED);
	if (!add_once(answer, DNS_ANSWER, rr))
		return false;
	for (size_t i = 0; i < K8S_EXTERNAL_TYPES && !known; i++)
		add_found(answer, hit, i, DNS_ADDITIONAL);
	return true;
}

static bool add_srv(void *ctx, const struct external_hit *hit)
{
	struct answer *a = ctx;
	uint8_t rdata[SRV_FIXED + DNS_NAME_MAX], *target = rdata + SRV_FIXED;
	size_t n = hit->host == NULL		  ? own_name(hit, a->c->zones.wire[a->zone], target)
		   : host_name(hit->host, target) ? dns_name_len(target)
						  : 0;
	if (hit->port == -1 || n == 0)
		return true;
	dns_put16(rdata, 0);
	dns_put16(rdata + 2, a->weight);
	dns_put16(rdata + 4, (uint16_t)hit->port);
	struct dns_rr rr = { .owner = a->q->req.qname,
			     .type = DNS_TYPE_SRV,
			     .ttl = a->ttl_s,
			     .rdata = rdata,
			     .rdlen = (uint16_t)(SRV_FIXED + n) };
	if (hit->host != NULL)
		return add_srv_of_host(a, hit, &rr);
	if (!add_once(a, DNS_ANSWER, &rr))
		return false;
	size_t size = is_v4(hit->ip) ? 4 : 16;
	const uint8_t *owner = arena_memdup(&a->q->arena, target, n);
	return owner != NULL &&
	       add_once(a, DNS_ADDITIONAL,
			&(struct dns_rr){ .owner = owner,
					  .type = size == 4 ? DNS_TYPE_A : DNS_TYPE_AAAA,
					  .ttl = (uint32_t)a->c->ttl_s,
					  .rdata = hit->ip + 16 - size,
					  .rdlen = (uint16_t)size });
}

static bool add_ptr(void *ctx, const struct external_hit *hit)
{
	struct answer *a = ctx;
	uint8_t name[DNS_NAME_MAX];
	size_t n = own_name(hit, a->c->zones.wire[0], name);
	return n == 0 || add_once(a, DNS_ANSWER,
				  &(struct dns_rr){ .owner = a->q->req.qname,
						    .type = DNS_TYPE_PTR,
						    .ttl = (uint32_t)a->c->ttl_s,
						    .rdata = name,
						    .rdlen = (uint16_t)n });
}

/* ---- the reply ---- */

static const struct {
	uint16_t type;
	bool (*each)(void *ctx, const struct external_hit *hit);
} by_type[] = { { DNS_TYPE_A, add_address },
		{ DNS_TYPE_AAAA, add_address },
		{ DNS_TYPE_SRV, add_srv },
		{ DNS_TYPE_PTR, add_ptr } };

static enum verdict reply_with_hits(struct answer *answer)
{
	struct external_ask x;
	k8s_external_open(answer->q);
	for (size_t i = 0; i < DNS_SECTIONS; i++)
		answer->seen[i] = (struct byteset){ .arena = &answer->q->arena };
	answer->weight = (uint16_t)(answer->n != 0 ? MAX(WEIGHT_ALL / answer->n, 1) : WEIGHT_ALL);
	for (size_t i = 0; i < ARRAY_LEN(by_type); i++) {
		if (by_type[i].type == answer->q->req.qtype)
			ask_services(answer, by_type[i].each, &x);
	}
	return answer->q->resp.count[DNS_ANSWER] != 0
		       ? V_ANSWERED
		       : k8s_external_denial(answer->c, answer->q, answer->zone, DNS_RCODE_NOERROR);
}

enum verdict k8s_external_answer(struct plugin_inst *self, struct query *q, size_t zone)
{
	const struct k8s_external_conf *c = self->conf;
	struct answer a = { .c = c, .q = q, .zone = zone, .st = query_state(q, self) };
	struct external_ask x;
	ask_services(&a, count_hit, &x);
	if (a.n == 0 && x.rcode == DNS_RCODE_NXDOMAIN && fallthrough_covers(&c->fall, &q->qname))
		return V_NEXT;
	if (a.n == 0)
		return k8s_external_denial(c, q, zone, x.rcode);
	if (a.st != NULL && start_lookup(self, q, a.st))
		return V_WAIT;
	return reply_with_hits(&a);
}

enum verdict k8s_external_resume(struct plugin_inst *self, struct query *q)
{
	const struct k8s_external_conf *c = self->conf;
	struct k8s_external_state *st = query_state_get(q, self);
	struct query *sub = q->sub;
	struct external_ask x;
	struct answer a = {
		.c = c, .q = q, .st = st, .zone = (size_t)zone_list_match(&c->zones, &q->qname)
	};
	/* Kept over the next wait. */
	if (sub->outcome == V_ANSWERED && dns_resp_own(&sub->resp, &q->arena) == 0)
		st->reply[st->at / K8S_EXTERNAL_TYPES][st->at % K8S_EXTERNAL_TYPES] = sub;
	st->at++;
	if (start_lookup(self, q, st))
		return V_WAIT;
	a.st = NULL; /* the names are known by now */
	ask_services(&a, count_hit, &x);
	a.st = st;
	return reply_with_hits(&a);
}
