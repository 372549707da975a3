/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs controllers: one election for each, health and metrics for all, and an orderly end.
 *
 * Order at the start: copies of watched objects, election, workers. At the end: workers, lease,
 * Events, copies. A controller that loses its lease ends the whole program: whoever restarts it
 * gets a clean follower. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err_text.h"
#include "base/strbuf.h"
#include "kube/leader/elect.h"

struct admission_hook;
struct controller;
struct controller_lease;
struct controller_options;
struct controller_writes;
struct hookserver_conf;
struct kube_client;
struct manager;

struct manager_conf {
	struct kube_client *client;
	struct kube_client *lease_client; /* where the leases are; NULL: the same */
	const struct controller *const *controllers;
	size_t n_controllers;
	/* Limits on writes of each of them, in place of those of its table; NULL: none is said. */
	const struct controller_writes *writes;
	/* Leases of rivals that each of them must hold as well; NULL: none. */
	const struct controller_lease *rivals;
	const char *ns;		  /* the program's own: leases, sources */
	bool no_election;	  /* there is only one of us for sure */
	struct elect_times times; /* zeroes: defaults */
	const char *listen;	  /* /healthz, /readyz, /metrics; NULL: none */
	/* The web hooks' server, its table of hooks left out; NULL: none. It serves whether we lead
	 * or not. */
	const struct hookserver_conf *webhooks;
	const struct controller_options *options; /* for the controllers; NULL: none */
	/* May this controller run with that API? Negative with a sentence: it ends, and all others. Called on
	 * the controller's own thread, once the API has listed what it watches, before it waits to lead; may
	 * block. NULL: it may. */
	int (*check)(struct kube_client *client, const struct controller *controller,
		     struct err_text err);
};

MUST_CHECK int manager_start(const struct manager_conf *conf, struct manager **ret,
			     struct err_text err);
/* Waits for manager_stop, or for a controller that ends by itself, and ends all. Negative in the
 * second case. Frees. */
int manager_run(struct manager *manager);
/* From any thread, once or more often, while manager_run has not returned. */
void manager_stop(struct manager *manager);
/* The port of `listen`; 0 without. */
unsigned manager_port(const struct manager *manager);
/* The port of `webhooks`; 0 without. */
unsigned manager_webhook_port(const struct manager *manager);
/* The hooks of all controllers, with their contexts: what the web hooks' server calls, for an API in
 * the same process. Valid until manager_run() is called. */
const struct admission_hook *manager_hooks(const struct manager *manager, size_t *ret_count);
/* Whether all copies of watched objects are complete; hooks read them. Any thread. */
bool manager_is_synced(struct manager *manager);
/* Adds a line about each controller that is not well: lists that are incomplete ten seconds after
 * the start, a reconcile or an engine that hangs, a controller that has ended. From any thread, while
 * manager_run has not returned. */
void manager_report_problems(struct manager *manager, struct strbuf *out);
