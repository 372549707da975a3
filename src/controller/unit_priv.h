/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A unit runs one controller: it fills the copies of what the controller watches, waits to lead with
 * warm copies, reconciles with workers, and at the end stops the workers before it releases the lease. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err_text.h"
#include "base/strbuf.h"
#include "kube/informer/reflector_plan.h"
#include "kube/leader/elect.h"

struct controller;
struct controller_ctx;
struct controller_options;
struct kube_client;
struct unit;

struct unit_conf {
	const struct controller *controller;
	struct kube_client *client, *lease_client;
	const char *ns, *identity;
	bool elect;
	struct elect_times times;
	struct kube_server_memory *memory;
	const struct controller_options *options;
	/* Called on the unit's thread when it has ended, by unit_stop() or because it lost its lease. */
	void (*ended)(void *ctx);
	void *ctx;
};

MUST_CHECK int unit_start(const struct unit_conf *conf, struct unit **ret, struct err_text err);
/* Begins to end; any thread. */
void unit_stop(struct unit *unit);
/* Waits for the end and frees; negative when the lease was lost. NULL is fine. */
int unit_join(struct unit *unit);

/* The context for hooks; valid until unit_join(). */
struct controller_ctx *unit_view(struct unit *unit);
/* Are all copies complete? `why` gets a line about one that is not. */
bool unit_is_synced(struct unit *unit, struct strbuf *why);
/* Does each reconcile end? `why` gets a line about one that does not. */
bool unit_is_alive(struct unit *unit, struct strbuf *why);
/* Adds the controller's own lines for /readyz. */
void unit_note(const struct unit *unit, struct strbuf *out);
void unit_collect(struct unit *unit); /* its gauges */
