/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which upstream is asked first, and which ones after it. The list beyond the first is made only
 * when it is needed: nearly every query is answered by the first. */
#include "plugin/forward/policy.h"

#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "resolve/health.h"

/* fastest: upstreams whose round-trip time is within this of the best one's are alike; one query in
 * so many goes to any of them, so that all stay measured. */
enum { BAND_SHIFT = 2, EXPLORE = 32, LATE_SHIFT_MAX = 8 };
#define BAND_MIN_NS NS_PER_MS

static unsigned first_random(struct forward_query *query)
{
	return rng_below(query_rng(query->q), query->stanza->n_up);
}

/* As CoreDNS counts: the second upstream comes first. */
static unsigned first_round_robin(struct forward_query *query)
{
	return ++query->worker->robin[query->stanza->index] % query->stanza->n_up;
}

static unsigned first_sequential(struct forward_query *query)
{
	(void)query;
	return 0;
}

/* Time-outs count as a longer round trip; one not measured yet is as good as the best. */
static uint64_t cost_of(const struct forward_query *query, unsigned index)
{
	const struct forward_up *up = forward_up(query, index);
	uint64_t ns = atomic_load_explicit(&up->upstream->srtt_ns, memory_order_relaxed);
	if (resolve_upstream_down(up->upstream, (uint32_t)query->stanza->max_fails))
		return UINT64_MAX;
	if (up->late == 0)
		return ns;
	return MAX(ns, (uint64_t)NS_PER_MS) << MIN(up->late, (uint8_t)LATE_SHIFT_MAX);
}

static unsigned first_fastest(struct forward_query *query)
{
	struct rng *rng = query_rng(query->q);
	unsigned n = query->stanza->n_up, pick = 0, seen = 0;
	uint64_t best = UINT64_MAX;
	if (rng_below(rng, EXPLORE) == 0)
		return rng_below(rng, n);
	for (unsigned i = 0; i < n; i++)
		best = MIN(best, cost_of(query, i));
	uint64_t band = best >= UINT64_MAX / 2 ? best : best + MAX(best >> BAND_SHIFT, BAND_MIN_NS);
	for (unsigned i = 0; i < n; i++) {
		if (cost_of(query, i) <= band && rng_below(rng, ++seen) == 0)
			pick = i;
	}
	return pick;
}

static void list_random(struct forward_query *query)
{
	for (unsigned i = 2; i < query->stanza->n_up; i++) {
		unsigned k = 1 + rng_below(query_rng(query->q), i);
		uint8_t t = query->list[i];
		query->list[i] = query->list[k];
		query->list[k] = t;
	}
}

static void list_in_order(struct forward_query *query)
{
	(void)query;
}

/* By cost; few, so insertion. */
static void list_fastest(struct forward_query *query)
{
	for (unsigned i = 2; i < query->stanza->n_up; i++) {
		uint8_t v = query->list[i];
		unsigned k = i;
		for (; k > 1 && cost_of(query, query->list[k - 1]) > cost_of(query, v); k--)
			query->list[k] = query->list[k - 1];
		query->list[k] = v;
	}
}

static const struct {
	unsigned (*first)(struct forward_query *query);
	void (*rest)(struct forward_query *query); /* orders list[1..] */
} policies[] = {
	[FORWARD_RANDOM] = { first_random, list_random },
	[FORWARD_ROUND_ROBIN] = { first_round_robin, list_in_order },
	[FORWARD_SEQUENTIAL] = { first_sequential, list_in_order },
	[FORWARD_FASTEST] = { first_fastest, list_fastest },
};

unsigned forward_policy_first(struct forward_query *query)
{
	assert(query->stanza->n_up != 0); /* forward_upstreams_make refuses stanzas without any */
	return query->stanza->n_up == 1 ? 0 : policies[query->stanza->policy].first(query);
}

int forward_policy_at(struct forward_query *query, unsigned at)
{
	assert(at < query->stanza->n_up && query->first < query->stanza->n_up);
	if (at == 0)
		return query->first;
	if (query->list == NULL) {
		unsigned n = 0;
		query->list = arena_alloc(&query->q->arena, query->stanza->n_up);
		if (query->list == NULL)
			return -1;
		query->list[n++] = query->first;
		for (unsigned i = 0; i < query->stanza->n_up; i++) {
			if (i != query->first)
				query->list[n++] = (uint8_t)i;
		}
		policies[query->stanza->policy].rest(query);
	}
	return query->list[at];
}
