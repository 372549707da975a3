/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A pass while DNS default is missing. On OpenShift it must exist: the ClusterOperator reports that it
 * is missing, and it is created again after a minute, because whoever deleted it may be about to
 * create another. */
#include "controller/dnsoperator/missing_dns.h"

#include "api/kind.h"
#include "base/clock.h"
#include "base/err.h"
#include "controller/dnsoperator/gather.h"
#include "controller/dnsoperator/rival_operator.h"
#include "controller/dnsoperator/status/report.h"

#define AGAIN_NS (60 * NS_PER_S)

static int create_dns(struct controller_ctx *ctx)
{
	struct kube_ref ref = { .kind = api_kind_find("operator.openshift.io", "DNS"),
				.name = DNSOPERATOR_DNS_NAME };
	struct kube_status st = { 0 };
	json_t *o = json_pack("{ss,ss,s{ss},s{}}", "apiVersion", "operator.openshift.io/v1", "kind",
			      "DNS", "metadata", "name", ref.name, "spec");
	int r = kube_create(ctx->conn, &ref, o, NULL, &st);
	if (r == ERR_DUPLICATE)
		r = 0;
	else if (r < 0)
		r = dnsoperator_set_error(ctx, r, "DNS default", &st);
	kube_status_done(&st);
	json_decref(o);
	return r;
}

/* A program that starts creates it at once. */
static uint64_t wait_ns(struct dnsoperator_state *state)
{
	uint64_t now = clock_mono_ns();
	if (!state->had_dns)
		return 0;
	if (state->missing_ns == 0)
		state->missing_ns = now;
	return now - state->missing_ns < AGAIN_NS ? AGAIN_NS - (now - state->missing_ns) : 0;
}

int dnsoperator_handle_missing(struct dnsoperator_pass *pass)
{
	struct dnsoperator_state *state = pass->ctx->state;
	int r = dnsoperator_rival_check(pass);
	if (r == 0)
		r = dnsoperator_find_microshift(pass);
	if (r == 0)
		r = dnsoperator_gather_facts(pass);
	if (r != 0)
		return r < 0 ? r : 0;
	if (pass->facts.platform != DNSOPERATOR_OPENSHIFT)
		return dnsoperator_report_publish(pass, NULL);
	pass->ctx->again_ns = AGAIN_NS;
	r = dnsoperator_report_read(pass);
	if (r >= 0)
		r = dnsoperator_report_publish(pass, NULL);
	dnsoperator_report_done(pass);
	uint64_t wait = wait_ns(state);
	if (r >= 0 && wait == 0)
		r = create_dns(pass->ctx);
	else if (wait != 0)
		pass->ctx->again_ns = wait;
	return r;
}
