/* Asks the cluster's DNS servers which text they run, on a thread that may wait, and tells others
 * what it knows. Who is asked: on one machine its server; else those of --dns-instances; else the
 * ready pods of the platform, over DNS or through the API server (--dns-ask). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "controller/controller.h"
#include "controller/dnsoperator/plan/cluster_facts.h"
#include "controller/dnsoperator/plan/plan.h"

struct dnsoperator_poller;

struct dnsoperator_poller *dnsoperator_poller_new(void);
void dnsoperator_poller_free(struct dnsoperator_poller *asker);
/* The hash of the text that servers are to run, in which cluster domain, and how long it has been
 * there; NULL: nobody is to be asked. True when it is another one than before, so that
 * dnsoperator_ask should run soon. */
bool dnsoperator_poller_want(struct dnsoperator_poller *asker,
			     const struct controller_options *options,
			     const struct dnsoperator_facts *facts, const char *hash,
			     uint64_t age_ns);
/* Servers may have loaded what another writer left in the ConfigMap: all of them are asked again,
 * until they had time enough to load what it has now. True when dnsoperator_ask should run soon. */
bool dnsoperator_poller_recheck(struct dnsoperator_poller *asker);
/* The text that has this hash: whoever is not asked over DNS tells another one of it. */
void dnsoperator_poller_add_corefile(struct dnsoperator_poller *asker,
				     const struct controller_options *options, struct slice text,
				     const char *hash);
/* Asks those whose turn it is; `pods` are the platform's. Waits for a few seconds when they are
 * silent. c->conn is for those that are asked through the API server. Calls news(c) when the status
 * should be looked at again; c->again_ns: when to come back. */
void dnsoperator_poller_poll(struct dnsoperator_poller *asker, struct controller_ctx *ctx,
			     const struct controller_options *options,
			     enum dnsoperator_platform platform, const json_t *pods,
			     void (*news)(const struct controller_ctx *c));
/* What is known, in the arena; NULL when it is not all that should be. */
const struct dnsoperator_answers *dnsoperator_poller_view(struct dnsoperator_poller *asker,
							  struct arena *arena);
