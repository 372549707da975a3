/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Looks for OpenShift's own DNS operator, by its Deployment. */
#include "controller/dnsoperator/rival_operator.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics/metrics.h"
#include "controller/shared/rival.h"

#define RIVAL "the Deployment openshift-dns-operator/dns-operator"

enum {
	CHECK_S = 5, /* between two checks, one read each */
	LOG_S = 300, /* between two log lines */
};

static const struct metrics_family family = {
	.name = "fairlead_dnsoperator_original_runs",
	.help = "1 while OpenShift's own DNS operator runs, so that nothing is written.",
	.kind = METRICS_GAUGE,
};

static const char advice[] =
	RIVAL " runs, so nothing is changed; to take over, set an override for it in "
	      "ClusterVersion version (spec.overrides, unmanaged: true), then scale it to 0";

void dnsoperator_rival_init(struct dnsoperator_state *state)
{
	atomic_init(&state->rival, RIVAL_NONE);
	state->rival_runs = metrics_get(&family, NULL);
}

void dnsoperator_rival_note(void *state, struct strbuf *out)
{
	const struct dnsoperator_state *s = state;
	if (atomic_load(&s->rival) != RIVAL_NONE)
		strbuf_addf(out, "controller dnsoperator waits: %s\n", advice);
}

static int read_rival(struct controller_ctx *ctx, enum rival_state *ret)
{
	json_t *o = NULL;
	int r = dnsoperator_get(
		ctx, "/apis/apps/v1/namespaces/openshift-dns-operator/deployments/dns-operator",
		"the Deployment of OpenShift's DNS operator", &o);
	*ret = rival_state_of(o);
	json_decref(o);
	return r;
}

/* Logs it, and emits an Event, if the DNS object exists by then. */
static void report_rival(const struct dnsoperator_pass *pass)
{
	struct dnsoperator_state *state = pass->ctx->state;
	uint64_t now = clock_mono_ns(), last = state->rival_logged_ns;
	bool due = last == 0 || now >= last + LOG_S * NS_PER_S;
	if (!due && (pass->dns == NULL || state->rival_event))
		return;
	if (due)
		state->rival_logged_ns = now;
	state->rival_event = pass->dns != NULL;
	dnsoperator_emit_event(pass, true, "OriginalOperatorRuns", "Refuse", advice);
}

int dnsoperator_rival_check(struct dnsoperator_pass *pass)
{
	struct dnsoperator_state *state = pass->ctx->state;
	enum rival_state now = RIVAL_NONE;
	int r = dnsoperator_machine(pass->ctx) != NULL ? 0 : read_rival(pass->ctx, &now);
	if (r < 0)
		return r;
	int before = atomic_exchange(&state->rival, (int)now);
	metrics_set(state->rival_runs, now != RIVAL_NONE);
	if (now == RIVAL_NONE) {
		if (before != RIVAL_NONE)
			log_info(DNSOPERATOR_LOG_AREA, RIVAL " does not run any more: taking over");
		state->rival_logged_ns = 0;
		state->rival_event = false;
		return 0;
	}
	if (now == RIVAL_RUNS)
		report_rival(pass);
	else if (before != RIVAL_ENDING)
		log_info(DNSOPERATOR_LOG_AREA, "waiting for the pods of " RIVAL " to end");
	pass->ctx->again_ns = CHECK_S * NS_PER_S;
	return 1;
}
