/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Collects, joins and orders networks. */
#include "controller/dnsoperator/plan/never_learnt.h"

#include <stdlib.h>
#include <string.h>

#include "api/egress/own_networks.h"
#include "api/meta.h"
#include "base/vec.h"

/* Pod ranges of nodes are joined inside of such a network and not beyond: what is around it may belong
 * to others. */
enum { V4_BYTES = 4, V4_JOIN_BITS = 16, V6_JOIN_BITS = 48 };

struct collected {
	VEC(struct egress_range) exact, joined;
};

static bool parse_range(struct slice text, struct egress_range *ret)
{
	bool has_host_bits;
	return egress_range_parse(text, ret, &has_host_bits) == NULL;
}

static bool contains(const struct egress_range *outer, const struct egress_range *inner)
{
	return outer->bits <= inner->bits && egress_range_has(outer, inner->address, inner->n);
}

/* Shortens the prefix, until it has the other range as well. */
static void widen_range(struct egress_range *range, const struct egress_range *other)
{
	while (!contains(range, other)) {
		range->bits--;
		range->address[range->bits / 8] &=
			(uint8_t) ~(0x80U >> (range->bits % 8)); /* the bit behind the prefix */
	}
}

static void add_exact(void *ctx, enum egress_own what, struct slice text)
{
	struct collected *collected = ctx;
	struct egress_range range;
	if (what != EGRESS_OWN_NODES && parse_range(text, &range))
		vec_push(&collected->exact, range);
}

/* The pod range of a node. */
static void add_joined(void *ctx, enum egress_own what, struct slice text)
{
	struct collected *collected = ctx;
	struct egress_range range;
	if (what != EGRESS_OWN_PODS || !parse_range(text, &range))
		return;
	uint8_t bits = range.n == V4_BYTES ? V4_JOIN_BITS : V6_JOIN_BITS;
	for (size_t i = 0; i < collected->joined.n; i++) {
		struct egress_range *joined = &collected->joined.v[i], around = *joined;
		around.bits = bits;
		if (range.bits > bits && joined->bits >= bits && contains(&around, &range)) {
			widen_range(joined, &range);
			return;
		}
	}
	vec_push(&collected->joined, range);
}

/* Where the range of Services is not known, at least the address of the API server. */
static void add_service(struct collected *collected, const json_t *service)
{
	const json_t *list = api_get(service, "spec.clusterIPs");
	for (size_t i = 0; i < json_array_size(list); i++) {
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
		const char *ip = api_text(json_array_get(list, i));
		strbuf_addf(&text, "%s/%d", ip, strchr(ip, ':') != NULL ? 128 : 32);
		add_exact(collected, EGRESS_OWN_SERVICES, strbuf_slice(&text));
	}
}

static int compare_ranges(const void *left, const void *right)
{
	const struct egress_range *left_range = left, *right_range = right;
	if (left_range->n != right_range->n)
		return left_range->n < right_range->n ? -1 : 1;
	int order = memcmp(left_range->address, right_range->address, left_range->n);
	if (order != 0)
		return order;
	return left_range->bits < right_range->bits ? -1 : left_range->bits > right_range->bits;
}

/* In order a network comes right before those inside of it. */
static void write_list(struct collected *collected, struct dnsoperator_never *ret)
{
	for (size_t i = 0; i < collected->joined.n; i++)
		vec_push(&collected->exact, collected->joined.v[i]);
	if (collected->exact.n > 1)
		qsort(collected->exact.v, collected->exact.n, sizeof(*collected->exact.v),
		      compare_ranges);
	ret->n = 0;
	for (size_t i = 0; i < collected->exact.n && ret->n < DNSOPERATOR_NEVER_MAX; i++) {
		if (ret->n == 0 || !contains(&ret->v[ret->n - 1], &collected->exact.v[i]))
			ret->v[ret->n++] = collected->exact.v[i];
	}
}

void dnsoperator_never_of(const struct dnsoperator_network *network, struct dnsoperator_never *ret)
{
	struct collected collected = { 0 };
	egress_own_of_network(network->network, add_exact, &collected);
	for (size_t i = 0; i < json_array_size(network->service_cidrs); i++)
		egress_own_of_service_cidr(json_array_get(network->service_cidrs, i), add_exact,
					   &collected);
	for (size_t i = 0; i < json_array_size(network->nodes); i++)
		egress_own_of_node(json_array_get(network->nodes, i), add_joined, &collected);
	add_service(&collected, network->service);
	write_list(&collected, ret);
	vec_done(&collected.exact);
	vec_done(&collected.joined);
}

struct search {
	const struct dnsoperator_never *never;
	bool is_missing;
};

static void find_range(void *ctx, enum egress_own what, struct slice text)
{
	struct search *search = ctx;
	struct egress_range range;
	bool found = false;
	if (what != EGRESS_OWN_PODS || !parse_range(text, &range))
		return;
	for (size_t i = 0; i < search->never->n; i++)
		found = found || contains(&search->never->v[i], &range);
	search->is_missing |= !found;
}

bool dnsoperator_never_has(const struct dnsoperator_never *never, const json_t *node)
{
	struct search search = { .never = never };
	egress_own_of_node(node, find_range, &search);
	return !search.is_missing;
}

void dnsoperator_never_text(const struct dnsoperator_never *never, struct strbuf *out)
{
	for (size_t i = 0; i < never->n; i++) {
		char text[EGRESS_RANGE_TEXT_MAX];
		egress_range_text(&never->v[i], text);
		strbuf_addf(out, "%s%s", i != 0 ? " " : "", text);
	}
}
