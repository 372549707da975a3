/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Polls the cluster's DNS servers for the Corefile that they run, on a worker that may wait, and keeps
 * the answers for others. Polled are: on one machine its own server; else those of --dns-instances;
 * else the ready pods of the platform, over DNS or through the API server (--dns-ask). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "controller/controller.h"
#include "controller/dnsoperator/plan/cluster_facts.h"
#include "controller/dnsoperator/plan/plan.h"

struct dnsoperator_poller;

struct dnsoperator_poller *dnsoperator_poller_new(void);
void dnsoperator_poller_free(struct dnsoperator_poller *poller);
/* Sets the hash of the Corefile that servers should run, and for how long it has been in the
 * ConfigMap; NULL: servers are not polled. True when it differs from the last one, so that
 * dnsoperator_poller_poll() should run soon. */
bool dnsoperator_poller_want(struct dnsoperator_poller *poller,
			     const struct controller_options *options,
			     const struct dnsoperator_facts *facts, const char *hash,
			     uint64_t age_ns);
/* Servers may have loaded another writer's Corefile: all of them are polled again until they had time
 * to load the present one. True when dnsoperator_poller_poll() should run soon. */
bool dnsoperator_poller_recheck(struct dnsoperator_poller *poller);
/* Remembers which Corefile has this hash: servers that are polled through the API server return a hash
 * of their own making. */
void dnsoperator_poller_add_corefile(struct dnsoperator_poller *poller,
				     const struct controller_options *options, struct slice text,
				     const char *hash);
/* Polls the servers that are due; `pods` are the platform's. Waits a few seconds when they are silent.
 * Calls on_change(ctx) when the answers changed, and sets ctx->again_ns to the time of the next poll. */
void dnsoperator_poller_poll(struct dnsoperator_poller *poller, struct controller_ctx *ctx,
			     const struct controller_options *options,
			     enum dnsoperator_platform platform, const json_t *pods,
			     void (*on_change)(const struct controller_ctx *ctx));
/* The answers, in the arena; NULL while some server has not been polled yet. */
const struct dnsoperator_answers *dnsoperator_poller_view(struct dnsoperator_poller *poller,
							  struct arena *arena);
