/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Deadlines of exchanges: a hashed wheel of lists and one loop timer. */
#include "resolve/wheel_priv.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "resolve/exchange_priv.h"
#include "resolve/resolver_priv.h"
#include "resolve/types_priv.h"

/* 8.4 ms a slot, 8.6 s a turn. */
enum { SLOT_SHIFT = 23 };

static void mark_slot(struct wheel *wheel, unsigned slot, bool used)
{
	uint64_t bit = UINT64_C(1) << (slot % 64);
	if (used)
		wheel->used[slot / 64] |= bit;
	else
		wheel->used[slot / 64] &= ~bit;
}

void wheel_add(struct resolver *resolver, struct resolve_exchange *exchange)
{
	struct wheel *w = &resolver->wheel;
	/* One that is late already must not go into a slot behind us. */
	uint64_t due = MAX(exchange->deadline_ns, loop_now(resolver->env.loop));
	exchange->slot = (uint16_t)(due >> SLOT_SHIFT & (WHEEL_SLOTS - 1));
	struct resolve_exchange *head = w->slot[exchange->slot];
	exchange->prev = NULL;
	exchange->next = head;
	if (head != NULL)
		head->prev = exchange;
	else
		mark_slot(w, exchange->slot, true);
	w->slot[exchange->slot] = exchange;
	if (w->timer.heap_at == 0 || due < w->timer.due_ns)
		loop_timer_set(resolver->env.loop, &w->timer, due);
}

void wheel_remove(struct resolver *resolver, struct resolve_exchange *exchange)
{
	struct wheel *w = &resolver->wheel;
	if (exchange->next != NULL)
		exchange->next->prev = exchange->prev;
	if (exchange->prev != NULL) {
		exchange->prev->next = exchange->next;
		return;
	}
	assert(w->slot[exchange->slot] == exchange);
	w->slot[exchange->slot] = exchange->next;
	if (exchange->next == NULL)
		mark_slot(w, exchange->slot, false);
}

/* The first slot in use at or after `tick`, as a tick, at most one turn later. */
static uint64_t next_used(const struct wheel *wheel, uint64_t tick, uint64_t end)
{
	while (tick < end) {
		unsigned slot = tick & (WHEEL_SLOTS - 1);
		uint64_t bits = wheel->used[slot / 64] >> (slot % 64);
		if (bits != 0)
			return MIN(tick + (unsigned)__builtin_ctzll(bits), end);
		tick += 64 - slot % 64;
	}
	return end;
}

static uint64_t earliest_in(const struct wheel *wheel, uint64_t tick)
{
	uint64_t best = UINT64_MAX;
	for (const struct resolve_exchange *exchange = wheel->slot[tick & (WHEEL_SLOTS - 1)];
	     exchange != NULL; exchange = exchange->next)
		best = MIN(best, exchange->deadline_ns);
	return best;
}

static void set_timer(struct resolver *resolver, uint64_t now)
{
	struct wheel *w = &resolver->wheel;
	uint64_t best = UINT64_MAX;
	uint64_t end = w->tick + WHEEL_SLOTS;
	for (uint64_t t = next_used(w, w->tick, end); t < end; t = next_used(w, t + 1, end)) {
		best = MIN(best, earliest_in(w, t));
		if (best >> SLOT_SHIFT <= t)
			break; /* those of later slots are later */
	}
	/* A slot full of deadlines must not be walked for each one of them. */
	if (best != UINT64_MAX)
		loop_timer_set(resolver->env.loop, &w->timer, MAX(best, now + NS_PER_MS));
}

void wheel_fire(struct loop_timer *timer)
{
	struct wheel *w = CONTAINER_OF(timer, struct wheel, timer);
	struct resolver *resolver = CONTAINER_OF(w, struct resolver, wheel);
	uint64_t now = loop_now(resolver->env.loop);
	uint64_t end = (now >> SLOT_SHIFT) + 1;
	if (w->tick + WHEEL_SLOTS < end)
		w->tick = end - WHEEL_SLOTS;
	resolver_enter(resolver);
	for (uint64_t t = next_used(w, w->tick, end); t < end; t = next_used(w, t + 1, end)) {
		struct resolve_exchange *after;
		for (struct resolve_exchange *exchange = w->slot[t & (WHEEL_SLOTS - 1)];
		     exchange != NULL; exchange = after) {
			after = exchange->next;
			if (exchange->deadline_ns > now)
				continue;
			if (exchange->link != NULL && exchange->link->ops->timed_out != NULL)
				exchange->link->ops->timed_out(exchange->link, exchange);
			exchange_fail(resolver, exchange, RESOLVE_TIMEOUT, ERR_TIMEOUT);
		}
	}
	w->tick = now >> SLOT_SHIFT;
	set_timer(resolver, now);
	resolver_leave(resolver);
}
