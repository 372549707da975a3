/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Leader election on a thread and a connection of its own (kube/leader/elect.h has the rules).
 *
 * A program that acts only as the leader waits for the lease, works, and stops at once when it is
 * lost:
 *
 *	if (lease_wait(l, false)) {
 *		... start to work
 *		lease_wait(l, true);
 *		... end all work
 *	}
 *	lease_stop(l);
 *
 * A lease is lost by the clock, not by an answer of the server: a request that hangs delays nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err_text.h"
#include "kube/leader/elect.h"

struct kube_client;
struct lease;

struct lease_conf {
	struct kube_client *client; /* borrowed */
	const char *ns, *name;
	const char *identity;	  /* NULL: lease_make_identity's */
	struct elect_times times; /* zeroes: 15, 10 and 2 s */
	/* The Lease of a rival, another program for the same work, to be held as well; NULL: none. It is
	 * asked for only while ours is held, so that one of us competes with the rival, which is a
	 * candidate for its Lease while we hold it. `rival_ns` NULL: as `ns`. */
	const char *rival_ns, *rival_name;
	/* Called on the lease's thread whenever the rival's Lease was found to have another holder.
	 * May be NULL. */
	void (*on_rival)(void *ctx, const char *holder);
	/* Called on the lease's thread: false when the process cannot do a leader's work (any more).
	 * Then the lease is neither renewed nor acquired. May be NULL. */
	bool (*is_healthy)(void *ctx);
	/* Called on the lease's thread when a request failed, with a sentence that names the Lease; the
	 * request is repeated. May be NULL. */
	void (*on_error)(void *ctx, const char *text);
	void *ctx;
};

/* The host name, so that people find the process, and random letters, so that a restarted process
 * does not take itself for the one before. The caller frees it. */
char *lease_make_identity(void) MUST_CHECK;

/* ERR_CONFIG for times that cannot work, or libcurl's absence; `err` gets a sentence. */
MUST_CHECK int lease_start(const struct lease_conf *conf, struct lease **ret, struct err_text err);
/* Gives the lease back if it is ours, so that another need not wait; frees. NULL is fine. */
void lease_stop(struct lease *lease);

/* Waits until the lease is held (held false) or lost (held true), or for lease_wake. Returns whether
 * it is held now. */
bool lease_wait(struct lease *lease, bool held);
/* By when (clock_mono_ns) all work of the leader must have ended: a moment before another process may
 * lead. Moves on as long as the lease is renewed, and stays when it is lost. UINT64_MAX for NULL: no
 * election. After lease_wait has returned that it is held. Any thread. */
uint64_t lease_end_by_ns(struct lease *lease);
/* From any thread: ends this wait and all later ones. */
void lease_wake(struct lease *lease);
const char *lease_identity(const struct lease *lease);
