/* Which upstream is asked first, and which ones after it. The list beyond the first is made only
 * when it is needed: nearly every query is answered by the first. */
#include <string.h>

#include "base/clock.h"
#include "plugin/forward/serve.h"
#include "resolve/health.h"

/* fastest: upstreams whose round-trip time is within this of the best one's are alike; one query in
 * so many goes to any of them, so that all stay measured. */
enum { BAND_SHIFT = 2, EXPLORE = 32, LATE_SHIFT_MAX = 8 };
#define BAND_MIN_NS NS_PER_MS

static unsigned first_random(struct forward_query *f)
{
	return rng_below(query_rng(f->q), f->st->n_up);
}

/* As CoreDNS counts: the second upstream comes first. */
static unsigned first_round_robin(struct forward_query *f)
{
	return ++f->w->robin[f->st->index] % f->st->n_up;
}

static unsigned first_sequential(struct forward_query *f)
{
	(void)f;
	return 0;
}

/* Time-outs count as a longer round trip; one not measured yet is as good as the best. */
static uint64_t cost(const struct forward_query *f, unsigned i)
{
	const struct forward_up *up = forward_up(f, i);
	uint64_t ns = atomic_load_explicit(&up->u->srtt_ns, memory_order_relaxed);
	if (resolve_upstream_down(up->u, (uint32_t)f->st->max_fails))
		return UINT64_MAX;
	if (up->late == 0)
		return ns;
	return MAX(ns, (uint64_t)NS_PER_MS) << MIN(up->late, (uint8_t)LATE_SHIFT_MAX);
}

static unsigned first_fastest(struct forward_query *f)
{
	struct rng *rng = query_rng(f->q);
	unsigned n = f->st->n_up, pick = 0, seen = 0;
	uint64_t best = UINT64_MAX;
	if (rng_below(rng, EXPLORE) == 0)
		return rng_below(rng, n);
	for (unsigned i = 0; i < n; i++)
		best = MIN(best, cost(f, i));
	uint64_t band = best >= UINT64_MAX / 2 ? best : best + MAX(best >> BAND_SHIFT, BAND_MIN_NS);
	for (unsigned i = 0; i < n; i++) {
		if (cost(f, i) <= band && rng_below(rng, ++seen) == 0)
			pick = i;
	}
	return pick;
}

static void list_random(struct forward_query *f)
{
	for (unsigned i = 2; i < f->st->n_up; i++) {
		unsigned k = 1 + rng_below(query_rng(f->q), i);
		uint8_t t = f->list[i];
		f->list[i] = f->list[k];
		f->list[k] = t;
	}
}

static void list_in_order(struct forward_query *f)
{
	(void)f;
}

/* By cost; few, so insertion. */
static void list_fastest(struct forward_query *f)
{
	for (unsigned i = 2; i < f->st->n_up; i++) {
		uint8_t v = f->list[i];
		unsigned k = i;
		for (; k > 1 && cost(f, f->list[k - 1]) > cost(f, v); k--)
			f->list[k] = f->list[k - 1];
		f->list[k] = v;
	}
}

static const struct {
	unsigned (*first)(struct forward_query *f);
	void (*rest)(struct forward_query *f); /* orders list[1..] */
} policies[] = {
	[FORWARD_RANDOM] = { first_random, list_random },
	[FORWARD_ROUND_ROBIN] = { first_round_robin, list_in_order },
	[FORWARD_SEQUENTIAL] = { first_sequential, list_in_order },
	[FORWARD_FASTEST] = { first_fastest, list_fastest },
};

unsigned forward_policy_first(struct forward_query *f)
{
	return f->st->n_up == 1 ? 0 : policies[f->st->policy].first(f);
}

int forward_policy_at(struct forward_query *f, unsigned at)
{
	if (at == 0)
		return f->first;
	if (f->list == NULL) {
		unsigned n = 0;
		f->list = arena_alloc(&f->q->arena, f->st->n_up);
		if (f->list == NULL)
			return -1;
		f->list[n++] = f->first;
		for (unsigned i = 0; i < f->st->n_up; i++) {
			if (i != f->first)
				f->list[n++] = (uint8_t)i;
		}
		policies[f->st->policy].rest(f);
	}
	return f->list[at];
}
