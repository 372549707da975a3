/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Submits lookups to the engine, A and AAAA side by side, and passes their answers on to the table. An
 * answer about one family counts, whatever became of the other. */
#include "controller/egressfirewall/lookups.h"

#include <assert.h>
#include <string.h>

#include "api/egress/name.h"
#include "base/clock.h"
#include "base/hash.h"
#include "controller/egressfirewall/counters.h"
#include "controller/egressfirewall/state.h"
#include "controller/engine.h"
#include "controller/shared/name_lookup.h"
#include "dns/name.h"

enum { ONE_FAMILY_S = 60 };

/* Hosts are due at multiples of this time, so that many are looked up together: a thread that wakes up
 * for each of them costs more than the lookup. */
#define TICK_NS (25 * NS_PER_MS)

static bool stop_at_first(void *ctx, const char *object)
{
	(void)ctx;
	(void)object;
	return false;
}

/* ---- results ---- */

static const sa_family_t families[] = { AF_INET, AF_INET6 }; /* as name_lookup has its parts */

/* The end of the CNAME chain. NULL: it is no name that could be shown. */
static const char *read_owner(const struct name_lookup_part *part, struct egress_name *out)
{
	char text[DNS_NAME_TEXT_MAX];
	dns_name_to_text(part->owner, true, text);
	return egress_name_parse_host(slice_of(text), out) == NULL ? out->text : NULL;
}

/* Both are of one family. */
static bool is_lower(const union net_addr *left, const union net_addr *right)
{
	size_t n;
	const uint8_t *bytes = net_addr_bytes(left, &n);
	return memcmp(bytes, net_addr_bytes(right, &n), n) < 0;
}

/* One family's answer without the cluster's own addresses; the lowest of these is in `*left_out`, unless that has one
 * already: servers change the order of addresses, and the report must not change with it. */
static bool use_answer(struct controller_ctx *ctx, struct tracked_host *host,
		       const struct name_lookup_part *part, const struct tracked_now *now,
		       const union net_addr **left_out)
{
	union net_addr kept[NAME_LOOKUP_ADDRESSES_MAX];
	struct egress_name owner;
	struct tracked_answer answer = { .family = families[part - part->whole->part],
					 .addresses = kept,
					 .ttl_s = part->ttl,
					 .canonical = read_owner(part, &owner) };
	assert(part->n_addresses <= ARRAY_LEN(kept));
	const size_t none = part->n_addresses;
	size_t lowest = none; /* of those left out */
	for (size_t i = 0; i < part->n_addresses; i++) {
		if (egressfirewall_may_learn(ctx, host->name, &part->addresses[i]))
			kept[answer.n++] = part->addresses[i];
		else if (lowest == none || is_lower(&part->addresses[i], &part->addresses[lowest]))
			lowest = i;
	}
	if (lowest != none && *left_out == NULL)
		*left_out = &part->addresses[lowest];
	return tracked_host_answer(host, &answer, now);
}

/* For how long an answer holds. That a host has no addresses of one family is not asked for all the
 * time, as long as it has some of the other. */
static uint32_t lookup_pause_s(const struct name_lookup *lookup,
			       const struct name_lookup_part *part)
{
	bool has_any = lookup->part[0].n_addresses != 0 || lookup->part[1].n_addresses != 0;
	return has_any && part->n_addresses == 0 ? MAX(part->ttl, (uint32_t)ONE_FAMILY_S)
						 : part->ttl;
}

/* The answers of both families into the table; true: something to report has changed. */
static bool use_answers(struct controller_ctx *ctx, struct tracked_host *host,
			const struct name_lookup *lookup, const struct tracked_now *now)
{
	struct egressfirewall_state *state = egressfirewall_state_of(ctx);
	uint32_t spread = rng_below(&state->rng, TRACKED_SPREAD);
	uint32_t ttl_s = UINT32_MAX;
	bool changed = false;
	const union net_addr *left_out = NULL;
	for (size_t i = 0; i < ARRAY_LEN(lookup->part); i++) {
		const struct name_lookup_part *part = &lookup->part[i];
		if (part->result < 0)
			continue;
		changed = use_answer(ctx, host, part, now, &left_out) || changed;
		ttl_s = MIN(ttl_s, lookup_pause_s(lookup, part));
	}
	egressfirewall_counters_add(ttl_s == UINT32_MAX ? EGRESSFIREWALL_LOOKUPS_FAILED
							: EGRESSFIREWALL_LOOKUPS_ANSWERED);
	if (ttl_s == UINT32_MAX)
		return tracked_host_failed(
			host, lookup->work.timed_out ? "no server answered in time" : lookup->error,
			spread, now);
	bool first = !host->answered;
	changed = tracked_host_leave_out(host, left_out) || changed;
	return tracked_host_looked_up(host, ttl_s, spread, now) || changed || first;
}

/* ---- the pass ---- */

static uint64_t input_of(const char *name)
{
	struct slice text = slice_of(name);
	return hash_bytes(hash_process_key(), text.p, text.n);
}

static void submit_lookup(struct controller_ctx *ctx, const char *key, const char *name)
{
	struct name_lookup *lookup = name_lookup_new(name);
	if (lookup != NULL) /* names in the table are valid */
		engine_submit(ctx->engine, key, input_of(name), &lookup->work);
}

/* With the lock held: nothing needs the host, or nothing is left of it. */
static bool is_unneeded(struct controller_ctx *ctx, struct tracked_host *host)
{
	struct egressfirewall_state *state = egressfirewall_state_of(ctx);
	char wildcard[EGRESS_NAME_MAX + 1];
	if (host->is_regular)
		return false;
	bool has_wildcard = egressfirewall_find_wildcard(state, host->name, wildcard);
	if (has_wildcard) /* another one may be closer now */
		shares_join(&state->hosts.shares, &host->place, wildcard);
	return tracked_host_is_spent(host) ||
	       (!has_wildcard &&
		egressfirewall_each_covering(state, host->name, stop_at_first, NULL));
}

/* With the lock held. True: a lookup is due. */
static bool update_host(struct controller_ctx *ctx, const char *name, struct engine_work *work,
			bool is_under_way)
{
	struct egressfirewall_state *state = egressfirewall_state_of(ctx);
	struct tracked_host *host = tracked_find(&state->hosts, name);
	struct tracked_now now = egressfirewall_now();
	bool changed = false;
	if (host == NULL)
		return false;
	if (work != NULL)
		changed = use_answers(ctx, host, name_lookup_of(work), &now);
	changed = tracked_host_expire(host, &now) || changed;
	if (changed)
		egressfirewall_queue_users(ctx, name);
	if (is_unneeded(ctx, host)) {
		tracked_remove(&state->hosts, host);
		return false;
	}
	if (!is_under_way && host->next_lookup_ns <= now.mono_ns)
		return true;
	uint64_t due_ns = (tracked_host_due_ns(host) + TICK_NS - 1) / TICK_NS * TICK_NS;
	/* While a lookup is under way only expiry can be due. */
	if (due_ns > now.mono_ns)
		ctx->again_ns = due_ns - now.mono_ns;
	return false;
}

int egressfirewall_reconcile_host(struct controller_ctx *ctx, const char *name)
{
	struct egressfirewall_state *state = egressfirewall_state_of(ctx);
	CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
	struct engine_work *work = NULL;
	strbuf_addf(&key, EGRESSFIREWALL_HOST_KEY "%s", name);
	enum engine_state at = engine_take(ctx->engine, key.s, input_of(name), &work);
	pthread_mutex_lock(&state->lock);
	bool is_due = update_host(ctx, name, work, at == ENGINE_UNDER_WAY);
	bool is_known = tracked_find(&state->hosts, name) != NULL;
	pthread_mutex_unlock(&state->lock);
	engine_work_free(work);
	if (is_due)
		submit_lookup(ctx, key.s, name);
	else if (!is_known)
		engine_drop(ctx->engine, key.s);
	return 0;
}
