/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One pass: a single reconcile of the DNS object. struct dnsoperator_pass carries what each step
 * found on to the next; the functions here are what all steps need. */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "base/vec.h"
#include "controller/controller.h"
#include "controller/dnsoperator/plan/plan.h"
#include "controller/dnsoperator/state.h"
#include "controller/dnsoperator/status/workload.h"
#include "controller/dnsoperator/watches.h"
#include "kube/client/client.h"

#define DNSOPERATOR_LOG_AREA "controller/dnsoperator"

struct dnsoperator_pass {
	struct controller_ctx *ctx;
	struct kube_obj *dns; /* NULL: it is missing */

	/* gather */
	bool microshift;
	json_t *corefile_map, *accepted_map; /* the ConfigMaps as they are; NULL: missing */
	char domain[DNSOPERATOR_DOMAIN_MAX];
	char cluster_ip[INET6_ADDRSTRLEN];
	struct dnsoperator_facts facts;
	VEC(struct dnsoperator_ca) ca; /* behind facts.ca; strings are owned */

	/* plan */
	struct dnsoperator_plan plan;
	struct arena arena;
	const struct dnsoperator_answers
		*answers; /* of servers, in the arena; NULL: not known yet */

	/* write ConfigMaps */
	int corefile_result; /* 1: the Corefile was written; 0: it was right; negative: an error */
	bool accepted_saved; /* the accepted configuration is stored in its ConfigMap */
	bool restored;	     /* the ConfigMap held another writer's Corefile */
	char contested[160]; /* as in the state, found by this pass */
	bool corefile_contested; /* it is the ConfigMap with the Corefile */

	int error; /* of the first step that failed; 0: none did */

	/* report */
	struct dnsoperator_workload workload; /* OpenShift */
	bool workload_known;
};

/* Never NULL. */
const struct controller_options *dnsoperator_options(const struct controller_ctx *ctx);
/* The process's own DNS server (`fairlead up`); NULL in a cluster. */
const struct controller_machine *dnsoperator_machine(const struct controller_ctx *ctx);
/* The next pass starts after this time at the latest. */
void dnsoperator_requeue_after(struct controller_ctx *ctx, uint64_t ns);
/* Sets ctx->err to "what: reason"; returns ret. */
int dnsoperator_set_error(struct controller_ctx *ctx, int ret, const char *what,
			  const struct kube_status *st);
/* Logs a line, and emits an Event about the DNS object if it exists. */
void dnsoperator_emit_event(const struct dnsoperator_pass *pass, bool warning, const char *reason,
			    const char *action, const char *text);
/* Copies of watched objects: trees of a store are read by several threads, so nobody may take
 * references to them. All objects of a watch as an array; one of them (NULL: missing); the pods of
 * the DNS servers. The caller's. */
json_t *dnsoperator_watched_objects(const struct controller_ctx *ctx, int watch);
json_t *dnsoperator_watched_object(const struct controller_ctx *ctx, int watch, const char *ns,
				   const char *name);
json_t *dnsoperator_server_pods(const struct controller_ctx *ctx,
				enum dnsoperator_platform platform);
/* Reads an object from the API server; *ret is NULL when it is missing. Negative with ctx->err. */
MUST_CHECK int dnsoperator_get(struct controller_ctx *ctx, const char *path, const char *what,
			       json_t **ret);
