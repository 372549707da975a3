/* Inside of the manager: one controller with all that it needs to run. Its life: copies of what it
 * watches are filled; then it waits to lead (with warm copies); then workers reconcile; at the end
 * the workers stop before the lease is given back. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/strbuf.h"
#include "kube/leader/elect.h"
#include "kube/informer/reflector_plan.h"

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
	/* On a thread of the unit's, when it has ended, by unit_stop or since it lost its lease. */
	void (*ended)(void *ctx);
	void *ctx;
};

MUST_CHECK int unit_start(const struct unit_conf *conf, struct unit **ret, char *err, size_t err_n);
/* Begins to end; any thread. */
void unit_stop(struct unit *unit);
/* Waits for the end and frees; negative when the lease was lost. NULL is fine. */
int unit_join(struct unit *unit);

/* What hooks see; as long as the unit is there. */
struct controller_ctx *unit_view(struct unit *unit);
/* Are all copies filled? A sentence about one that is not. */
bool unit_is_synced(struct unit *unit, struct strbuf *why);
/* Does each reconcile end? A sentence about one that does not. */
bool unit_is_alive(struct unit *unit, struct strbuf *why);
/* What its controller has to say. */
void unit_note(const struct unit *unit, struct strbuf *out);
void unit_collect(struct unit *unit); /* its gauges */
