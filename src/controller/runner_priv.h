/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A runner runs one controller: it fills the copies of what the controller watches, waits to lead with
 * warm copies, reconciles with workers, and at the end stops the workers before it releases the lease. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err_text.h"
#include "base/strbuf.h"
#include "controller/controller.h"
#include "kube/leader/elect.h"

struct informers;
struct kube_client;
struct runner;

struct runner_conf {
	const struct controller *controller;
	struct kube_client *client, *lease_client;
	const char *ns, *identity;
	bool elect;
	struct elect_times times;
	struct controller_writes writes; /* per_s is not 0 */
	struct controller_lease rival;	 /* to be held as well, in order to lead; no name: none */
	struct informers *informers;
	const struct controller_options *options;
	int (*check)(struct kube_client *client, const struct controller *controller,
		     struct err_text err); /* as struct manager_conf has it */
	/* Called on the runner's thread when it has ended, by runner_stop() or because it lost its lease. */
	void (*ended)(void *ctx);
	void *ctx;
};

/* In this order: make it, which adds its watches to the informers; create the informers; use their
 * stores; start the informers; start it. */
MUST_CHECK int runner_new(const struct runner_conf *conf, struct runner **ret, struct err_text err);
void runner_use_stores(struct runner *runner);
MUST_CHECK int runner_start(struct runner *runner, struct err_text err);
/* Begins to end; any thread. */
void runner_stop(struct runner *runner);
/* Waits for the end, if it was started; negative when the lease was lost. */
int runner_join(struct runner *runner);
/* After runner_join() and informers_stop(). NULL is fine. */
void runner_free(struct runner *runner);

/* The context for hooks; valid until runner_free(). */
struct controller_ctx *runner_hook_ctx(struct runner *runner);
/* Are all copies complete? `why` gets a line about one that is not. */
bool runner_is_synced(struct runner *runner, struct strbuf *why);
/* Does each reconcile end? `why` gets a line about one that does not. */
bool runner_is_alive(struct runner *runner, struct strbuf *why);
/* Adds the controller's own lines for /readyz. */
void runner_note(struct runner *runner, struct strbuf *out);
void runner_collect(struct runner *runner); /* its gauges */
