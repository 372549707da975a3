/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The orders in which loadbalance puts the records of a section: groups by type, and within the
 * addresses by chance, by weight or by network. */
#include "plugin/loadbalance/order.h"

#include <assert.h>
#include <string.h>

#include "plugin/loadbalance/weights.h"

enum group { CNAMES, ADDRESSES, MAILS, OTHERS };
enum { GROUPS = OTHERS + 1 };

static const enum group by_chance[GROUPS] = { CNAMES, OTHERS, ADDRESSES, MAILS };
static const enum group by_network[GROUPS] = { CNAMES, ADDRESSES, MAILS, OTHERS };

struct groups {
	struct dns_rr **rr; /* all records of the section, one group after the other */
	size_t total;
	size_t start[GROUPS], n[GROUPS];
};

static enum group group_of(const struct dns_rr *rr)
{
	switch (rr->type) {
	case DNS_TYPE_CNAME:
		return CNAMES;
	case DNS_TYPE_A:
	case DNS_TYPE_AAAA:
		return ADDRESSES;
	case DNS_TYPE_MX:
		return MAILS;
	default:
		return OTHERS;
	}
}

/* False when there is nothing to order, or no memory for it: then the section stays as it is. */
static bool split_section(struct groups *groups, const struct loadbalance_job *job,
			  enum dns_section section, const enum group order[GROUPS])
{
	size_t at[GROUPS];
	*groups = (struct groups){ .total = job->resp->count[section] };
	if (groups->total < 2)
		return false;
	groups->rr = arena_alloc(job->arena, groups->total * sizeof(struct dns_rr *));
	if (groups->rr == NULL)
		return false;
	DNS_RR_FOREACH(rr, job->resp, section)
	groups->n[group_of(rr)]++;
	size_t start = 0;
	for (int i = 0; i < GROUPS; i++) {
		groups->start[order[i]] = start;
		start += groups->n[order[i]];
	}
	assert(start == groups->total); /* a response counts the records of its lists */
	memcpy(at, groups->start, sizeof(at));
	DNS_RR_FOREACH(rr, job->resp, section)
	groups->rr[at[group_of(rr)]++] = rr;
	return true;
}

static void join_section(const struct groups *groups, const struct loadbalance_job *job,
			 enum dns_section section)
{
	dns_resp_clear(job->resp, section);
	for (size_t i = 0; i < groups->total; i++)
		dns_resp_link(job->resp, section, groups->rr[i]);
}

static void swap_records(struct dns_rr **left, struct dns_rr **right)
{
	struct dns_rr *tmp = *left;
	*left = *right;
	*right = tmp;
}

static void shuffle_records(const struct loadbalance_job *job, struct dns_rr **rr, size_t count)
{
	for (size_t i = 0; i + 1 < count; i++)
		swap_records(&rr[i], &rr[i + rng_below(job->rng, (uint32_t)(count - i))]);
}

void loadbalance_shuffle(const struct loadbalance_job *job)
{
	for (int s = 0; s < DNS_SECTIONS; s++) {
		struct groups g;
		if (!split_section(&g, job, (enum dns_section)s, by_chance))
			continue;
		shuffle_records(job, g.rr + g.start[ADDRESSES], g.n[ADDRESSES]);
		shuffle_records(job, g.rr + g.start[MAILS], g.n[MAILS]);
		join_section(&g, job, (enum dns_section)s);
	}
}

/* The address of an A or AAAA record; IPv4 also where it comes as ::ffff:a.b.c.d. */
static union net_addr address_of(const struct dns_rr *rr)
{
	union net_addr a = { 0 };
	if (rr->type == DNS_TYPE_A && rr->rdlen == 4) {
		a.family = AF_INET;
		memcpy(&a.v4.sin_addr, rr->rdata, 4);
	} else if (rr->type == DNS_TYPE_AAAA && rr->rdlen == 16) {
		a.family = AF_INET6;
		memcpy(&a.v6.sin6_addr, rr->rdata, 16);
		net_addr_unmap(&a);
	}
	return a;
}

unsigned loadbalance_record_weight(const struct loadbalance_weights *weights,
				   const struct dns_rr *rr)
{
	union net_addr ip = address_of(rr);
	return weights == NULL
		       ? 1
		       : loadbalance_weight_of(loadbalance_weights_find(weights, rr->owner), &ip);
}

/* Each address is chosen with the chance of its weight among all. */
static size_t choose_record(const struct loadbalance_job *job,
			    const struct loadbalance_weights *weights, struct dns_rr **rr,
			    size_t count)
{
	uint32_t sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += loadbalance_record_weight(weights, rr[i]);
	uint32_t left = rng_below(job->rng, sum);
	for (size_t i = 0; i < count; i++) {
		unsigned weight = loadbalance_record_weight(weights, rr[i]);
		if (left < weight)
			return i;
		left -= weight;
	}
	return 0;
}

void loadbalance_weigh(const struct loadbalance_job *job, const struct loadbalance_weights *weights)
{
	static const enum dns_section sections[] = { DNS_ANSWER, DNS_ADDITIONAL };
	for (size_t i = 0; i < ARRAY_LEN(sections); i++) {
		struct groups g;
		if (!split_section(&g, job, sections[i], by_chance) || g.n[ADDRESSES] == 0)
			continue;
		struct dns_rr **rr = g.rr + g.start[ADDRESSES];
		swap_records(&rr[0], &rr[choose_record(job, weights, rr, g.n[ADDRESSES])]);
		join_section(&g, job, sections[i]);
	}
}

/* The first network that has the address; n: none. */
static size_t rank_of_net(const struct dns_rr *rr, const struct net_cidr *net, size_t count)
{
	union net_addr ip = address_of(rr);
	size_t i = 0;
	while (i < count && !net_cidr_has(&net[i], &ip))
		i++;
	return i;
}

static void sort_by_network(const struct loadbalance_job *job, struct dns_rr **rr, size_t count,
			    const struct net_cidr *net, size_t n_net)
{
	struct dns_rr **out = arena_alloc(job->arena, count * sizeof(struct dns_rr *));
	size_t *ranks = arena_alloc(job->arena, count * sizeof(*ranks));
	size_t at = 0;
	if (out == NULL || ranks == NULL)
		return;
	for (size_t i = 0; i < count; i++)
		ranks[i] = rank_of_net(rr[i], net, n_net);
	for (size_t r = 0; r <= n_net; r++) {
		for (size_t i = 0; i < count; i++) {
			if (ranks[i] == r)
				out[at++] = rr[i];
		}
	}
	assert(at == count);
	memcpy(rr, out, count * sizeof(struct dns_rr *));
}

void loadbalance_prefer(const struct loadbalance_job *job, const struct net_cidr *net, size_t count)
{
	static const enum dns_section sections[] = { DNS_ANSWER, DNS_ADDITIONAL };
	for (size_t i = 0; i < ARRAY_LEN(sections); i++) {
		struct groups g;
		if (!split_section(&g, job, sections[i], by_network))
			continue;
		if (g.n[ADDRESSES] > 1)
			sort_by_network(job, g.rr + g.start[ADDRESSES], g.n[ADDRESSES], net, count);
		join_section(&g, job, sections[i]);
	}
}
