/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The DNS servers, what each answered (marker_query.h), and when to poll whom again: at once when the
 * Corefile changes or a server is new, then less and less often until all run it, and rarely from then
 * on, to notice a server that came back with an old Corefile. Silence counts when it lasts: one lost
 * packet, or a server that is just starting, changes nothing. No clock, no lock, no network. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/vec.h"
#include "controller/dnsoperator/plan/plan.h"
#include "controller/dnsoperator/rollout/marker_query.h"

/* A server by the name that messages use. */
struct dnsoperator_server_at {
	const char *name;
	union net_addr addr;
};

struct dnsoperator_instance {
	char *name;
	union net_addr addr;
	bool due;	 /* to be polled in the next round */
	bool fresh;	 /* it answered since the Corefile is wanted */
	unsigned silent; /* polls in a row without an answer */
	bool known;	 /* the members below are known */
	bool reached;
	char hash[DNSOPERATOR_MARKER_HASH_MAX];
	const char *why; /* why it was not reached; NULL: it was silent */
};

struct dnsoperator_instances {
	VEC(struct dnsoperator_instance) servers; /* by name */
	bool list_known;			  /* the list has been set */
	bool wants;				  /* there is a Corefile that they should run */
	bool by_proxy;				  /* polled through the API server: less often */
	char wanted[DNSOPERATOR_MARKER_HASH_MAX]; /* its hash; "": without the marker */
	uint64_t since_ns, late_ns;		  /* wanted since; late after this time */
	bool late_reported, new_reported;	  /* reported by a return value */
	unsigned rounds;			  /* in a row that left some unsettled */
	uint64_t round_ns;			  /* when the last poll began */
	uint64_t next_ns, next_all_ns;		  /* next poll of the unsettled, of all */
	uint64_t recheck_until_ns;		  /* until then none counts as settled */
};

void dnsoperator_instances_done(struct dnsoperator_instances *instances);
/* Sets the hash of the Corefile that they should run; NULL: they are not polled. `age` is for how long
 * it could be read. True when it differs from the last one. */
bool dnsoperator_instances_want(struct dnsoperator_instances *instances, const char *hash,
				uint64_t late_ns, uint64_t age, uint64_t now);
/* Servers may load another Corefile for a while, within `late_ns` from now: all of them are polled, at
 * once and again. False when they are not polled at all. */
bool dnsoperator_instances_recheck(struct dnsoperator_instances *instances, uint64_t now);
/* Sets the list of servers. True when the answers of those that remain differ from before. */
bool dnsoperator_instances_set_list(struct dnsoperator_instances *instances,
				    const struct dnsoperator_server_at *at, size_t count);
/* The servers to poll now: indexes into `servers`, valid until the list is set again. */
size_t dnsoperator_instances_due(struct dnsoperator_instances *instances, uint64_t now, size_t *ret,
				 size_t max);
/* Notes answers while other servers are still silent; pass them to
 * dnsoperator_instances_note_answers() again. True when they differ from the last ones. */
bool dnsoperator_instances_note_early(struct dnsoperator_instances *instances, const size_t *which,
				      const struct dnsoperator_marker_answer *said, size_t count);
/* Notes the answers of a round. True when they differ from the last ones, are the first about this
 * Corefile, or when servers are late now. */
bool dnsoperator_instances_note_answers(struct dnsoperator_instances *instances,
					const size_t *which,
					const struct dnsoperator_marker_answer *said, size_t count,
					uint64_t now);
/* Nanoseconds until the next round; 0: none is needed. */
uint64_t dnsoperator_instances_next_ns(const struct dnsoperator_instances *instances, uint64_t now);
/* The answers for the conditions, in the arena; false while some server has not answered or timed out
 * yet, so that a condition is not replaced by half an answer. */
bool dnsoperator_instances_view(const struct dnsoperator_instances *instances, uint64_t now,
				struct arena *arena, struct dnsoperator_answers *ret);

/* The pods of a list that are ready, at their first address; names are those of the list. */
typedef VEC(struct dnsoperator_server_at) dnsoperator_servers_at;
void dnsoperator_ready_pods(const json_t *pods, uint16_t port, dnsoperator_servers_at *ret);
