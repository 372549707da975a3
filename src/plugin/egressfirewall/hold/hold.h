/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The hold: an answer with an address that is new to the client's node waits until that node has it in force.
 * Only answers to pods of namespaces whose EgressFirewall has a rule for the name are held, and on one machine those to
 * the machine itself, whose users and cgroups may have such a rule; no lookup is allowed or denied by it. What cannot be brought into force in time is answered with SERVFAIL and an Extended DNS
 * Error, never with an address that does not work.
 *
 * It is shared by stanzas with the same options, and outlives a reload. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err_text.h"
#include "plugin/egressfirewall/hold/links.h"
#include "plugin/egressfirewall/store.h"
#include "server/handler.h"

struct egressfirewall_hold;
struct egressfirewall_park;
struct query;
struct resource;
struct worker;

/* Borrowed. */
struct egressfirewall_hold_conf {
	/* Where the API is: NULL, NULL for the pod's own cluster. */
	const char *kubeconfig, *context;
	const char *endpoint, *cert, *key, *ca;
	struct egressfirewall_links_conf links;
	/* As for what is learnt: such addresses pass, and open nothing. */
	struct egressfirewall_networks never, learn;
	bool is_machine;       /* one machine without a cluster */
	const char *report_ns; /* there: where the agent reports; NULL: the credentials' */
	uint32_t max_per_namespace, max_per_client; /* queries that are held at a time */
};

/* The hold for this configuration, until resource_put; waits a few seconds for the API server when it is made.
 * Errors have a text. Control threads. */
MUST_CHECK int egressfirewall_hold_get(const struct egressfirewall_hold_conf *conf,
				       struct resource **ret, struct err_text reterr);
struct egressfirewall_hold *egressfirewall_hold_of(const struct resource *held);
/* Are pods and firewalls known? Any thread. */
bool egressfirewall_hold_is_ready(const struct egressfirewall_hold *hold);

/* ---- workers ---- */

/* Once per worker and generation, on its thread. -ENOMEM. */
MUST_CHECK int egressfirewall_hold_worker_init(struct egressfirewall_hold *hold,
					       struct worker *worker);
/* For respond, with a response whose answer is not empty: V_NEXT, V_WAIT, or the failure. */
enum verdict egressfirewall_hold_answer(struct egressfirewall_hold *hold, struct plugin_inst *self,
					struct query *q);
/* For resume, with the park of the query's state: V_NEXT or the failure. */
enum verdict egressfirewall_hold_resume(struct plugin_inst *self, struct query *q);
