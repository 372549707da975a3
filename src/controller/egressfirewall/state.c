/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The state's beginning and end, and which objects carry a host. */
#include "controller/egressfirewall/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/egress/name.h"
#include "api/egress/range.h"
#include "base/clock.h"
#include "base/mem.h"
#include "controller/egressfirewall/counters.h"
#include "controller/egressfirewall/known_firewall.h"
#include "controller/egressfirewall/transfer/poll.h"
#include "controller/egressfirewall/watches.h"
#include "kube/decode/tree.h"
#include "kube/events/events.h"

enum {
	RANGES_SHARE = 100
}; /* reading the cluster's ranges may take so much of the time, one part of */

int egressfirewall_state_start(void **ret_state, struct err_text err)
{
	struct egressfirewall_state *state = xcalloc(1, sizeof(*state));
	(void)err;
	pthread_mutex_init(&state->lock, NULL);
	map_init(&state->objects);
	map_init(&state->postponed);
	map_init(&state->firewalls);
	egressfirewall_enforcement_init(&state->enforcement);
	rule_users_init(&state->users);
	tracked_init(&state->hosts);
	rng_init(&state->rng);
	state->poll = egressfirewall_poll_new();
	*ret_state = state;
	return 0;
}

static void free_values(struct map *map)
{
	const struct map_entry *entry;
	size_t pos = 0;
	while ((entry = map_next(map, &pos)) != NULL)
		free(entry->value);
	map_done(map);
}

void egressfirewall_state_stop(void *arg)
{
	struct egressfirewall_state *state = arg;
	egressfirewall_poll_free(state->poll);
	free_values(&state->objects);
	map_done(&state->postponed);
	rule_users_done(&state->users);
	egressfirewall_known_done(&state->firewalls);
	tracked_done(&state->hosts);
	egressfirewall_ranges_done(&state->ranges);
	egressfirewall_enforcement_done(&state->enforcement);
	pthread_mutex_destroy(&state->lock);
	free(state);
}

struct tracked_now egressfirewall_now(void)
{
	return (struct tracked_now){ clock_mono_ns(), clock_wall_ns() };
}

struct refusal {
	struct controller_ctx *ctx;
	const char *host;
	const union net_addr *address;
};

/* One Event for each object and process. */
static bool emit_refusal(void *arg, const char *name)
{
	const struct refusal *refusal = arg;
	struct controller_ctx *ctx = refusal->ctx;
	struct egressfirewall_object *object =
		map_get(&egressfirewall_state_of(ctx)->objects, slice_of(name));
	if (object->never_reported || ctx->events == NULL)
		return true;
	struct kube_obj *copy = egressfirewall_find_name(ctx, name);
	char address[NET_ADDR_TEXT_MAX];
	net_addr_ip_str(refusal->address, address);
	if (copy != NULL) {
		object->never_reported = true;
		events_emit(
			ctx->events,
			&(struct event){ .regarding = kube_tree_of(copy),
					 .warning = true,
					 .reason = "AddressNeverLearnt",
					 .action = "Learn" },
			"an answer for %s has %s, which is the cluster's own or reserved and not "
			"learnt; rules by cidrSelector or nodeSelector can allow it",
			refusal->host, address);
	}
	kube_obj_unref(copy);
	return true;
}

static bool is_reserved(const union net_addr *address)
{
	size_t n;
	const uint8_t *bytes = net_addr_bytes(address, &n);
	return egress_range_is_never_learnt(bytes, n);
}

/* Nodes report often, each report may change a range, and there may be thousands. */
bool egressfirewall_may_learn(struct controller_ctx *ctx, const char *host,
			      const union net_addr *address)
{
	struct egressfirewall_state *state = egressfirewall_state_of(ctx);
	struct egressfirewall_ranges *ranges = &state->ranges;
	if (ranges->read_ns == 0 ||
	    (clock_mono_ns() >= ranges->read_ns + RANGES_SHARE * ranges->took_ns &&
	     atomic_exchange(&state->ranges_stale, false)))
		egressfirewall_ranges_read(ctx, ranges);
	if (!is_reserved(address) && !egressfirewall_ranges_have(ranges, address))
		return true;
	struct refusal refusal = { ctx, host, address };
	egressfirewall_counters_add(EGRESSFIREWALL_NEVER_LEARNT);
	egressfirewall_each_covering(state, host, emit_refusal, &refusal);
	return false;
}

bool egressfirewall_each_covering(const struct egressfirewall_state *state, const char *host,
				  bool (*fn)(void *ctx, const char *object), void *ctx)
{
	const struct egressfirewall_object *object = map_get(&state->objects, slice_of(host));
	bool one_label = true;
	if (object != NULL && object->regular && !fn(ctx, host))
		return false;
	for (const char *dot = strchr(host, '.'); dot != NULL; dot = strchr(dot + 1, '.')) {
		char name[EGRESS_NAME_MAX + 1];
		egress_name_object(dot + 1, true, name);
		object = map_get(&state->objects, slice_of(name));
		/* "wildcard.example.com" was called above if a rule names it as a host, too. */
		bool called = object != NULL && object->regular && strcmp(name, host) == 0;
		if (object != NULL && object->wildcard && !called &&
		    (one_label || object->any_depth) && !fn(ctx, name))
			return false;
		one_label = false;
	}
	return true;
}

bool egressfirewall_find_wildcard(const struct egressfirewall_state *state, const char *host,
				  char out[EGRESS_NAME_MAX + 1])
{
	bool one_label = true;
	for (const char *dot = strchr(host, '.'); dot != NULL; dot = strchr(dot + 1, '.')) {
		egress_name_object(dot + 1, true, out);
		const struct egressfirewall_object *object =
			map_get(&state->objects, slice_of(out));
		if (object != NULL && object->wildcard && (one_label || object->any_depth))
			return true;
		one_label = false;
	}
	return false;
}

void egressfirewall_queue(struct controller_ctx *ctx, const char *prefix, const char *name)
{
	char key[EGRESSFIREWALL_KEY_MAX];
	snprintf(key, sizeof(key), "%s%s", prefix, name);
	ctx->emit(ctx->emit_arg, key);
}

static bool queue_object(void *arg, const char *object)
{
	struct controller_ctx *ctx = arg;
	egressfirewall_queue(ctx, EGRESSFIREWALL_NAME_KEY, object);
	egressfirewall_queue_firewalls(ctx, object);
	return true;
}

void egressfirewall_queue_users(struct controller_ctx *ctx, const char *host)
{
	egressfirewall_each_covering(egressfirewall_state_of(ctx), host, queue_object, ctx);
}
