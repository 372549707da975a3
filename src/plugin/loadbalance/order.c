/* The orders in which loadbalance puts the records of a section: groups by type, and within the
 * addresses by chance, by weight or by network. */
#include <string.h>

#include "plugin/loadbalance/loadbalance.h"
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
static bool split(struct groups *g, const struct loadbalance_job *j, enum dns_section s,
		  const enum group order[GROUPS])
{
	size_t at[GROUPS];
	*g = (struct groups){ .total = j->resp->count[s] };
	if (g->total < 2)
		return false;
	g->rr = arena_alloc(j->arena, g->total * sizeof(struct dns_rr *));
	if (g->rr == NULL)
		return false;
	DNS_RR_FOREACH(rr, j->resp, s)
	g->n[group_of(rr)]++;
	size_t start = 0;
	for (int i = 0; i < GROUPS; i++) {
		g->start[order[i]] = start;
		start += g->n[order[i]];
	}
	memcpy(at, g->start, sizeof(at));
	DNS_RR_FOREACH(rr, j->resp, s)
	g->rr[at[group_of(rr)]++] = rr;
	return true;
}

static void join(const struct groups *g, const struct loadbalance_job *j, enum dns_section s)
{
	dns_resp_clear(j->resp, s);
	for (size_t i = 0; i < g->total; i++)
		dns_resp_link(j->resp, s, g->rr[i]);
}

static void swap(struct dns_rr **a, struct dns_rr **b)
{
	struct dns_rr *tmp = *a;
	*a = *b;
	*b = tmp;
}

static void shuffle(const struct loadbalance_job *j, struct dns_rr **rr, size_t n)
{
	for (size_t i = 0; i + 1 < n; i++)
		swap(&rr[i], &rr[i + rng_below(j->rng, (uint32_t)(n - i))]);
}

void loadbalance_shuffle(const struct loadbalance_job *j)
{
	for (int s = 0; s < DNS_SECTIONS; s++) {
		struct groups g;
		if (!split(&g, j, (enum dns_section)s, by_chance))
			continue;
		shuffle(j, g.rr + g.start[ADDRESSES], g.n[ADDRESSES]);
		shuffle(j, g.rr + g.start[MAILS], g.n[MAILS]);
		join(&g, j, (enum dns_section)s);
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

unsigned loadbalance_record_weight(const struct loadbalance_weights *w, const struct dns_rr *rr)
{
	union net_addr ip = address_of(rr);
	return w == NULL ? 1 : loadbalance_weight_of(loadbalance_weights_find(w, rr->owner), &ip);
}

/* Each address is chosen with the chance of its weight among all. */
static size_t choose(const struct loadbalance_job *j, const struct loadbalance_weights *w,
		     struct dns_rr **rr, size_t n)
{
	uint32_t sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += loadbalance_record_weight(w, rr[i]);
	uint32_t left = rng_below(j->rng, sum);
	for (size_t i = 0; i < n; i++) {
		unsigned weight = loadbalance_record_weight(w, rr[i]);
		if (left < weight)
			return i;
		left -= weight;
	}
	return 0;
}

void loadbalance_weigh(const struct loadbalance_job *j, const struct loadbalance_weights *w)
{
	static const enum dns_section sections[] = { DNS_ANSWER, DNS_ADDITIONAL };
	for (size_t i = 0; i < ARRAY_LEN(sections); i++) {
		struct groups g;
		if (!split(&g, j, sections[i], by_chance) || g.n[ADDRESSES] == 0)
			continue;
		struct dns_rr **rr = g.rr + g.start[ADDRESSES];
		swap(&rr[0], &rr[choose(j, w, rr, g.n[ADDRESSES])]);
		join(&g, j, sections[i]);
	}
}

/* The first network that has the address; n: none. */
static size_t rank(const struct dns_rr *rr, const struct net_cidr *net, size_t n)
{
	union net_addr ip = address_of(rr);
	size_t i = 0;
	while (i < n && !net_cidr_has(&net[i], &ip))
		i++;
	return i;
}

static void sort_by_network(const struct loadbalance_job *j, struct dns_rr **rr, size_t n,
			    const struct net_cidr *net, size_t n_net)
{
	struct dns_rr **out = arena_alloc(j->arena, n * sizeof(struct dns_rr *));
	size_t *ranks = arena_alloc(j->arena, n * sizeof(*ranks));
	size_t at = 0;
	if (out == NULL || ranks == NULL)
		return;
	for (size_t i = 0; i < n; i++)
		ranks[i] = rank(rr[i], net, n_net);
	for (size_t r = 0; r <= n_net; r++) {
		for (size_t i = 0; i < n; i++) {
			if (ranks[i] == r)
				out[at++] = rr[i];
		}
	}
	memcpy(rr, out, n * sizeof(struct dns_rr *));
}

void loadbalance_prefer(const struct loadbalance_job *j, const struct net_cidr *net, size_t n)
{
	static const enum dns_section sections[] = { DNS_ANSWER, DNS_ADDITIONAL };
	for (size_t i = 0; i < ARRAY_LEN(sections); i++) {
		struct groups g;
		if (!split(&g, j, sections[i], by_network))
			continue;
		if (g.n[ADDRESSES] > 1)
			sort_by_network(j, g.rr + g.start[ADDRESSES], g.n[ADDRESSES], net, n);
		join(&g, j, sections[i]);
	}
}
