/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dnsoperator: makes the DNS servers' configuration, the operands and the status follow the object
 * `DNS default`. This file holds the controller's row; docs/ARCHITECTURE.md, "Life of a reconcile",
 * names the files of a pass in order.
 *
 *   reconcile.c   the table of steps of a pass
 *   plan/         what servers should run and what the status should say: pure
 *   operands/     the objects that run DNS: made from manifests, applied
 *   rollout/      polls servers for the Corefile that they run
 *   status/       conditions, ClusterOperator, metrics */
#include <stdlib.h>

#include "base/err_text.h"
#include "base/mem.h"
#include "controller/dnsoperator/admission.h"
#include "controller/dnsoperator/ignored_dns.h"
#include "controller/dnsoperator/operands/apply.h"
#include "controller/dnsoperator/reconcile.h"
#include "controller/dnsoperator/rival_operator.h"
#include "controller/dnsoperator/rollout/poller.h"
#include "controller/dnsoperator/state.h"
#include "controller/dnsoperator/status/gauges.h"
#include "controller/dnsoperator/watches.h"

static int start_operator(void **ret, struct err_text err)
{
	(void)err;
	struct dnsoperator_state *state = xcalloc(1, sizeof(*state));
	atomic_init(&state->platform, -1);
	state->poller = dnsoperator_poller_new();
	own_writes_init(&state->own_writes);
	dnsoperator_rival_init(state);
	state->operands = dnsoperator_operands_state_new();
	state->gauges = dnsoperator_gauges_new();
	dnsoperator_ignored_init(&state->ignored);
	pthread_mutex_init(&state->seen_never.lock, NULL);
	*ret = state;
	return 0;
}

static void stop_operator(void *ptr)
{
	struct dnsoperator_state *state = ptr;
	dnsoperator_poller_free(state->poller);
	own_writes_done(&state->own_writes);
	dnsoperator_operands_state_free(state->operands);
	dnsoperator_gauges_free(state->gauges);
	dnsoperator_ignored_done(&state->ignored);
	pthread_mutex_destroy(&state->seen_never.lock);
	free(state);
}

const struct controller dnsoperator_controller = {
	.name = "dnsoperator",
	.help = "configures DNS servers from the object DNS default",
	.makes_corefile = true,
	.watch = dnsoperator_watches,
	.n_watch = DNSOPERATOR_WATCH_COUNT,
	.workers = 2, /* one of them may wait for servers */
	.reconcile = dnsoperator_reconcile,
	.start = start_operator,
	.stop = stop_operator,
	.note = dnsoperator_rival_note,
	.hooks = dnsoperator_admission_hooks,
	.n_hooks = DNSOPERATOR_ADMISSION_HOOKS,
};
