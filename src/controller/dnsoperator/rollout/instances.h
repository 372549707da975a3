/* Who runs the text? The servers there are, what each told when it was asked (ack.h), and when to
 * ask whom again: at once when the text changes or a server is new, then later and later until all
 * of them run it, and seldom from then on, so that one that came back with an old text is noticed.
 * Silence counts when it lasts: one lost packet, or a server that is just starting, is no news.
 * No clock, no lock, no network. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/vec.h"
#include "controller/dnsoperator/rollout/marker_query.h"
#include "controller/dnsoperator/plan/plan.h"

/* A server by the name that people know it by. */
struct dnsoperator_server_at {
	const char *name;
	union net_addr addr;
};

struct dnsoperator_instance {
	char *name;
	union net_addr addr;
	bool due;	 /* to be asked at the next occasion */
	bool fresh;	 /* it was heard since the wanted text is wanted */
	unsigned silent; /* so often in a row it did not answer */
	bool told;	 /* something is known: */
	bool reached;
	char hash[DNSOPERATOR_MARKER_HASH_MAX];
	const char *why; /* it was not reached; NULL: it was silent */
};

struct dnsoperator_instances {
	VEC(struct dnsoperator_instance) servers; /* by name */
	bool taken;				  /* it is known which there are */
	bool wants;				  /* there is a text that they are to run */
	bool apart; /* they are asked through the API server, which must not be asked too often */
	char wanted[DNSOPERATOR_MARKER_HASH_MAX]; /* "": one without the marker */
	uint64_t since_ns, late_ns;		  /* wanted since; late after this time */
	bool told_late, told_new;		  /* that has been answered with true */
	unsigned rounds;			  /* that left some unsettled, in a row */
	uint64_t next_ns, all_ns; /* the next question to the unsettled ones, to all */
	uint64_t doubt_ns;	  /* until then nobody counts as settled */
};

void dnsoperator_instances_done(struct dnsoperator_instances *roll);
/* The text that they are to run; NULL: nobody is to be asked. `age` is how long it has been there,
 * which matters when it is another one than before: true then. */
bool dnsoperator_instances_want(struct dnsoperator_instances *roll, const char *hash,
				uint64_t late_ns, uint64_t age, uint64_t now);
/* Servers may load another text than the wanted one, and come back from it, within `late_ns` from
 * now: all of them are asked, at once and again. False when nobody is to be asked. */
bool dnsoperator_instances_recheck(struct dnsoperator_instances *roll, uint64_t now);
/* Those that are there. True when what is known of them is another thing than before. */
bool dnsoperator_instances_set_list(struct dnsoperator_instances *roll,
				    const struct dnsoperator_server_at *at, size_t count);
/* Who is to be asked now: indexes into `servers`, good until the next roll_take. */
size_t dnsoperator_instances_due(struct dnsoperator_instances *roll, uint64_t now, size_t *ret,
				 size_t max);
/* What some of them said while others are still silent; to be repeated to
 * dnsoperator_instances_note_answers(). True when it is another thing than the last time. */
bool dnsoperator_instances_note_early(struct dnsoperator_instances *roll, const size_t *which,
				      const struct dnsoperator_ack *said, size_t count);
/* What they said. True when it is another thing than the last time, when it is the first word on
 * this text, or when it got late. */
bool dnsoperator_instances_note_answers(struct dnsoperator_instances *roll, const size_t *which,
					const struct dnsoperator_ack *said, size_t count,
					uint64_t now);
/* When to look again; 0: no need to. */
uint64_t dnsoperator_instances_next_ns(const struct dnsoperator_instances *roll, uint64_t now);
/* For the conditions; false when there is one of which nothing is known yet: what was said before
 * is not replaced by a part of the truth. All of it is in the arena. */
bool dnsoperator_instances_view(const struct dnsoperator_instances *roll, uint64_t now,
				struct arena *arena, struct dnsoperator_answers *ret);

/* The pods of a list that are ready, at their first address; names are those of the list. */
typedef VEC(struct dnsoperator_server_at) dnsoperator_servers_at;
void dnsoperator_ready_pods(const json_t *pods, uint16_t port, dnsoperator_servers_at *ret);
