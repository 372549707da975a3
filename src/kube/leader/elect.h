/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Leader election by a Lease, as a state machine without I/O: it returns the next request, and is
 * given the answer. kube/leader/lease.h runs it on a thread.
 *
 * Glossary
 *   holder    whose name stands in the Lease
 *   expiry    when a holder that stopped renewing loses it: the record's own duration after the
 *             moment *we saw* the record change. Clocks of two machines are never compared
 *   deadline  until when a leader may act without having renewed: earlier than anybody's expiry */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/compiler.h"
#include "base/err_text.h"
#include "base/rng.h"

struct elect_times {
	uint64_t duration_ns; /* others wait so long after the last renewal; whole seconds */
	uint64_t renew_ns;    /* a leader that could not renew for so long is none any more */
	uint64_t retry_ns;    /* between two requests */
};

/* A leader that could not renew ends its work between its deadline and the expiry. */
enum { ELECT_GAP_MIN_MS = 500 };

/* Zeroes become 15, 10 and 2 s. ERR_CONFIG with a sentence unless renew > 1.2 retry, and duration is
 * longer than renew by ELECT_GAP_MIN_MS. */
MUST_CHECK int elect_times_check(struct elect_times *times, struct err_text err);

enum elect_act { ELECT_WAIT, ELECT_GET, ELECT_CREATE, ELECT_UPDATE };

struct elect {
	struct elect_times times;
	const char *ns, *name, *identity; /* borrowed */
	/* On one machine: the process that a holder is (kube/leader/holder_process.h), borrowed, and
	 * whether that of another holder has ended. Both NULL elsewhere. */
	const char *process;
	bool (*has_ended)(const char *process);
	struct rng rng;
	json_t *lease;	     /* as last read or written; NULL: none seen */
	uint64_t changed_ns; /* when its spec was seen to be another */
	uint64_t due_ns;     /* of the next request */
	uint64_t renewed_ns; /* leading: when the last write that succeeded was sent */
	bool leading;
	bool missing;	    /* the server has no Lease */
	bool take;	    /* it has no holder, or an expired one: claim it */
	bool stale;	    /* leading: another process wrote it; read it first */
	unsigned conflicts; /* in a row */
};

void elect_init(struct elect *elect, const struct elect_times *times, const char *ns,
		const char *name, const char *identity);
void elect_done(struct elect *elect);

/* What to do now. ELECT_WAIT: nothing before *ret_until_ns. CREATE and UPDATE: *ret_body is what to
 * send, a reference of the caller's. */
enum elect_act elect_next(struct elect *elect, uint64_t now_ns, uint64_t wall_ns, json_t **ret_body,
			  uint64_t *ret_until_ns);
/* The result of a request: `ret` as kube_call returns it; `answer`, borrowed, the object when `ret` is
 * 0; when it was sent, and now. */
void elect_result(struct elect *elect, enum elect_act act, int ret, const json_t *answer,
		  uint64_t sent_ns, uint64_t now_ns);
/* Until when we may act as the leader; 0: we are none. */
uint64_t elect_deadline_ns(const struct elect *elect, uint64_t now_ns);
/* After it was led once: by when all work of the leader must have ended, whether it leads still or
 * not. A moment before anybody's expiry, since the last renewal. */
uint64_t elect_end_by_ns(const struct elect *elect);
/* Who held the lease when it was last read or written; "": nobody. Valid until the next result. */
const char *elect_holder(const struct elect *elect);
/* The object that releases the lease, or NULL when it is not ours (any more). */
json_t *elect_release(const struct elect *elect, uint64_t now_ns, uint64_t wall_ns);
