/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The workers of one controller: threads that take keys from its queue and reconcile them. */
#pragma once

#include <stdbool.h>

#include "base/compiler.h"
#include "base/err_text.h"
#include "controller/controller.h"

struct controller_metrics;
struct kube_client;
struct kube_write_limit;
struct lease;
struct workers;
struct workqueue;

enum { WORKERS_STUCK_S = 600 }; /* a reconcile that takes so long never ends */

/* All are borrowed until workers_free(). */
struct workers_conf {
	const struct controller *controller;
	const char *area; /* of log lines */
	struct kube_client *client;
	struct kube_write_limit *writes;
	struct workqueue *queue;
	struct controller_metrics *metrics;
};

unsigned workers_count(const struct controller *controller);

/* Never NULL. */
struct workers *workers_new(const struct workers_conf *conf);
void workers_free(struct workers *workers);
/* Each worker gets a copy of the context, with a connection of its own. */
MUST_CHECK int workers_start(struct workers *workers, const struct controller_ctx *ctx,
			     struct err_text err);
/* Closes the queue and ends them. Reconciles under way may finish, within a few seconds, unless it
 * is `at_once`. One that does not end ends the process: before another one may lead, if there is a
 * `lease` (else NULL). */
void workers_stop(struct workers *workers, bool at_once, struct lease *lease);
/* Is a reconcile stuck? Any thread. */
bool workers_are_stuck(const struct workers *workers);
/* Has each of them been in one reconcile for longer than this? Any thread. */
bool workers_are_blocked(const struct workers *workers, uint64_t longest_ns);
