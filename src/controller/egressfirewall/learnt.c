/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Adds learnt pairs to the table of hosts. */
#include "controller/egressfirewall/learnt.h"

#include "api/egress/name.h"
#include "controller/egressfirewall/counters.h"
#include "controller/egressfirewall/state.h"
#include "controller/egressfirewall/watches.h"
#include "kube/decode/tree.h"
#include "kube/events/events.h"

static bool stop_at_first(void *ctx, const char *object)
{
	(void)ctx;
	(void)object;
	return false;
}

static bool is_covered(const struct egressfirewall_state *state, const char *host)
{
	return !egressfirewall_each_covering(state, host, stop_at_first, NULL);
}

/* One Event for each object and process. */
static bool emit_event(void *arg, const char *name)
{
	struct controller_ctx *ctx = arg;
	struct egressfirewall_object *object =
		map_get(&egressfirewall_state_of(ctx)->objects, slice_of(name));
	struct kube_obj *copy = egressfirewall_find_name(ctx, name);
	if (copy != NULL && ctx->events != NULL && !object->overflow_reported) {
		object->overflow_reported = true;
		events_emit(
			ctx->events,
			&(struct event){ .regarding = kube_tree_of(copy),
					 .warning = true,
					 .reason = "TooManyNames",
					 .action = "Learn" },
			"clients ask for more names than can be tracked: those of the client that "
			"asked for most are left out, the ones that it used longest ago first");
	}
	kube_obj_unref(copy);
	return true;
}

/* With the lock held. False: nothing can go. */
static bool make_room(struct controller_ctx *ctx, const char *wildcard, uint64_t client_id)
{
	struct egressfirewall_state *state = egressfirewall_state_of(ctx);
	struct tracked_host *oldest = tracked_oldest_for(&state->hosts, wildcard, client_id);
	if (oldest == NULL)
		return false;
	egressfirewall_counters_add(EGRESSFIREWALL_EVICTED);
	egressfirewall_each_covering(state, oldest->name, emit_event, ctx);
	egressfirewall_queue_users(ctx, oldest->name);
	tracked_remove(&state->hosts, oldest);
	return true;
}

/* With the lock held: the host, which some object covers. Hosts that rules name are in the table already,
 * or wait for nothing but their turn. NULL: there is no room. */
static struct tracked_host *get_host(struct controller_ctx *ctx, const char *name,
				     uint64_t client_id, const struct tracked_now *now)
{
	struct egressfirewall_state *state = egressfirewall_state_of(ctx);
	char wildcard[EGRESS_NAME_MAX + 1];
	if (!egressfirewall_find_wildcard(state, name, wildcard))
		return tracked_add(&state->hosts, name, now);
	struct tracked_host *host =
		tracked_add_learnt(&state->hosts, name, wildcard, client_id, now);
	if (host == NULL && make_room(ctx, wildcard, client_id))
		host = tracked_add_learnt(&state->hosts, name, wildcard, client_id, now);
	return host;
}

/* The end of the chain. NULL: there is none, or it is no name that could be shown. */
static const char *read_owner(const char *text, struct egress_name *out)
{
	if (text == NULL || egress_name_parse_host(slice_of(text), out) != NULL)
		return NULL;
	return out->text;
}

/* With the lock held. */
static bool learn_pair(struct controller_ctx *ctx, const struct egressfirewall_pair *pair)
{
	struct egressfirewall_state *state = egressfirewall_state_of(ctx);
	struct tracked_now now = egressfirewall_now();
	struct egress_name name, owner;
	if (egress_name_parse_host(slice_of(pair->name), &name) != NULL ||
	    !is_covered(state, name.text) ||
	    !egressfirewall_may_learn(ctx, name.text, &pair->address))
		return false;
	bool is_new = tracked_find(&state->hosts, name.text) == NULL;
	struct tracked_host *host = get_host(ctx, name.text, pair->client, &now);
	if (host == NULL)
		return false;
	shares_use(&host->place, pair->client);
	struct tracked_sighting sighting = { .address = &pair->address,
					     .ttl_s = pair->ttl_s,
					     .canonical = read_owner(pair->owner, &owner),
					     .first_ns = pair->first_ns };
	if (tracked_host_learn(host, &sighting, &now))
		egressfirewall_queue_users(ctx, name.text);
	if (host->addresses.n == 0) {
		if (is_new)
			tracked_remove(&state->hosts, host);
		return false;
	}
	if (is_new) {
		IGNORE(tracked_host_looked_up(host, pair->ttl_s,
					      rng_below(&state->rng, TRACKED_SPREAD), &now));
		egressfirewall_queue(ctx, EGRESSFIREWALL_HOST_KEY, name.text);
	}
	return true;
}

size_t egressfirewall_learn(struct controller_ctx *ctx, const struct egressfirewall_pair *pairs,
			    size_t count)
{
	struct egressfirewall_state *state = egressfirewall_state_of(ctx);
	size_t known = 0;
	pthread_mutex_lock(&state->lock);
	for (size_t i = 0; i < count; i++)
		known += learn_pair(ctx, &pairs[i]);
	pthread_mutex_unlock(&state->lock);
	return known;
}
