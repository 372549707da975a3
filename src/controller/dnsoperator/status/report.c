/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From the objects in the cluster to conditions, ClusterOperator and metrics. */
#include "controller/dnsoperator/status/report.h"

#include <string.h>

#include "base/clock.h"
#include "controller/dnsoperator/plan/configmap_objects.h"
#include "controller/dnsoperator/status/clusteroperator.h"
#include "controller/dnsoperator/status/gauges.h"
#include "controller/dnsoperator/status/operator_conditions.h"
#include "controller/dnsoperator/status/templates_backup.h"
#include "controller/dnsoperator/status/write_status.h"
#include "controller/dnsoperator/templates_restore.h"

static struct dnsoperator_alive count_servers(const struct dnsoperator_pass *pass)
{
	enum dnsoperator_platform p = pass->facts.platform;
	if (p == DNSOPERATOR_MACHINE || dnsoperator_options(pass->ctx)->n_dns_instances != 0)
		return dnsoperator_alive_answers(pass->answers);
	json_t *pods = dnsoperator_server_pods(pass->ctx, p);
	struct dnsoperator_alive s = dnsoperator_alive_pods(pods);
	json_decref(pods);
	return s;
}

int dnsoperator_report_read(struct dnsoperator_pass *pass)
{
	int r = pass->facts.platform == DNSOPERATOR_OPENSHIFT
			? dnsoperator_workload_read(pass->ctx, &pass->workload)
			: 0;
	pass->workload_known = r >= 0;
	return r;
}

bool dnsoperator_report_set(struct dnsoperator_pass *pass, json_t *copy,
			    const struct dnsoperator_observed *observed, uint64_t now_wall_ns)
{
	struct dnsoperator_health h;
	struct dnsoperator_health_in in = {
		.platform = pass->facts.platform,
		.dns = copy,
		.plan = &pass->plan,
		.workload = &pass->workload,
		.answers = pass->answers,
		.now_wall_ns = now_wall_ns,
		.settle_ns = dnsoperator_options(pass->ctx)->dns_settle_ns,
	};
	struct dnsoperator_state *state = pass->ctx->state;
	uint64_t wait = in.settle_ns != 0 ? in.settle_ns : DNSOPERATOR_SETTLE_NS;
	if (!pass->workload_known)
		return false;
	if (state->unwritten_ns != 0 && clock_mono_ns() >= state->unwritten_ns + wait)
		in.unwritten = state->unwritten;
	if (pass->contested[0] != '\0')
		in.contested = pass->contested;
	if (pass->facts.platform != DNSOPERATOR_OPENSHIFT)
		in.seen = count_servers(pass);
	dnsoperator_health_make(&in, &h);
	bool changed = dnsoperator_health_set(copy, &h, observed, now_wall_ns);
	if (h.again_ns != 0)
		dnsoperator_requeue_after(pass->ctx, h.again_ns);
	dnsoperator_health_done(&h);
	return changed;
}

/* Of an object that is not managed what was accepted before is in force. */
static void set_gauges(struct dnsoperator_pass *pass, const json_t *dns)
{
	struct dnsoperator_state *state = pass->ctx->state;
	json_t *kept = dns != NULL && !pass->plan.write
			       ? dnsoperator_accepted_read(pass->accepted_map)
			       : NULL;
	const json_t *accepted = dns == NULL ? NULL : pass->plan.write ? pass->plan.accepted : kept;
	dnsoperator_gauges_conditions(dns);
	dnsoperator_gauges_servers(dns != NULL ? pass->answers : NULL, pass->plan.hash);
	dnsoperator_gauges_templates(state->gauges, json_object_get(accepted, "templates"),
				     dnsoperator_domain(&pass->facts));
	json_decref(kept);
}

int dnsoperator_report_publish(struct dnsoperator_pass *pass, const json_t *dns)
{
	set_gauges(pass, dns);
	struct dnsoperator_clusteroperator in = { .dns = dns,
						  .workload = &pass->workload,
						  .ns = pass->ctx->ns };
	if (pass->facts.platform != DNSOPERATOR_OPENSHIFT || !pass->workload_known)
		return 0;
	dnsoperator_versions_env(in.wanted);
	return dnsoperator_clusteroperator_write(pass->ctx, &in);
}

void dnsoperator_report_done(struct dnsoperator_pass *pass)
{
	dnsoperator_workload_done(&pass->workload);
	pass->workload = (struct dnsoperator_workload){ 0 };
}

/* ---- the step of a pass ---- */

/* The status of a Corefile that was just written waits until servers had time to load it: that
 * saves a write for each change, and the next Corefile need not wait for it. */
static bool status_waits(struct dnsoperator_pass *pass)
{
	struct dnsoperator_state *state = pass->ctx->state;
	const char *reason = pass->plan.conditions[DNSOPERATOR_APPLIED].reason;
	bool settled = reason != NULL && strcmp(reason, "Updating") != 0;
	uint64_t now = clock_mono_ns();
	if (pass->corefile_result > 0 && pass->error == 0)
		dnsoperator_write_delay_wrote(&state->delay, now);
	uint64_t wait = dnsoperator_write_delay_status(&state->delay, settled, now);
	if (wait != 0)
		dnsoperator_requeue_after(pass->ctx, wait);
	return wait != 0;
}

/* Refused configuration is reported even where nothing could be written. */
int dnsoperator_report(struct dnsoperator_pass *pass)
{
	int known = dnsoperator_report_read(pass), wrote = 0;
	kube_conn_set_patient(pass->ctx->conn, true);
	bool may_write = dnsoperator_may_write_dns(pass);
	if (may_write && !status_waits(pass))
		wrote = dnsoperator_write_status(pass);
	if (may_write && wrote >= 0)
		wrote = dnsoperator_backup_write(pass);
	kube_conn_set_patient(pass->ctx->conn, false);
	dnsoperator_report_done(pass);
	return wrote < 0 ? wrote : known;
}
