/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One pass over the DNS object, as a table of steps: each gathers, decides or writes one thing, so
 * that a pass over settled objects writes nothing and a killed process arrives at the same state.
 * The writes go in this order: what to fall back to, the Corefile, the operands, the status. */
#include "controller/dnsoperator/reconcile.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "api/meta.h"
#include "base/err.h"
#include "base/log.h"
#include "controller/dnsoperator/ca_bundle_copies.h"
#include "controller/dnsoperator/finalizer.h"
#include "controller/dnsoperator/gather.h"
#include "controller/dnsoperator/ignored_dns.h"
#include "controller/dnsoperator/missing_dns.h"
#include "controller/dnsoperator/operands/apply.h"
#include "controller/dnsoperator/pass.h"
#include "controller/dnsoperator/plan/configmap_objects.h"
#include "controller/dnsoperator/reread_dns.h"
#include "controller/dnsoperator/rival_operator.h"
#include "controller/dnsoperator/rollout/poller.h"
#include "controller/dnsoperator/status/report.h"
#include "controller/dnsoperator/templates_restore.h"
#include "controller/dnsoperator/write_configmaps.h"
#include "kube/decode/tree.h"

/* ---- steps that need no file of their own ---- */

/* While OpenShift's operator runs nothing is ours to write, and nothing to ask of the servers. */
static int check_rival(struct dnsoperator_pass *pass)
{
	int r = dnsoperator_rival_check(pass);
	if (r <= 0)
		return r;
	dnsoperator_want_corefile(pass, NULL, 0);
	r = dnsoperator_report_publish(pass, NULL);
	return r < 0 ? r : 1;
}

static int gather_inputs(struct dnsoperator_pass *pass)
{
	int r = dnsoperator_find_microshift(pass);
	if (r >= 0)
		r = dnsoperator_gather_facts(pass);
	return r < 0 ? r : dnsoperator_gather_configmaps(pass);
}

/* Sets the log level of the process that runs the controllers. That of `fairlead up` is also the
 * DNS server, whose Corefile has the plugin debug for it. */
static void set_log_level(const struct dnsoperator_pass *pass)
{
	if (dnsoperator_machine(pass->ctx) == NULL)
		log_set_debug(pass->plan.verbose);
}

/* The plan uses what servers answered before this pass: another worker polls them, because that
 * takes time when they are silent. */
static int make_plan(struct dnsoperator_pass *pass)
{
	struct dnsoperator_state *state = pass->ctx->state;
	json_t *accepted = dnsoperator_accepted_read(pass->accepted_map);
	const json_t *dns = kube_tree_of(pass->dns);
	pass->answers = dnsoperator_poller_view(state->poller, &pass->arena);
	struct dnsoperator_plan_in in = {
		.dns = dns, .facts = &pass->facts, .accepted = accepted, .answers = pass->answers
	};
	in.reported.generation = json_integer_value(api_get(dns, "status.observedGeneration"));
	in.reported.hash = state->applied_reported ? state->applied_hash : NULL;
	in.reported.corefile = dnsoperator_data(pass->corefile_map, "Corefile");
	dnsoperator_plan_make(&in, &pass->plan);
	json_decref(accepted);
	/* Only copying CA bundles can have failed before; that matters only where something is written. */
	if (!pass->plan.write)
		pass->error = 0;
	set_log_level(pass);
	dnsoperator_poller_add_corefile(state->poller, dnsoperator_options(pass->ctx),
					strbuf_slice(&pass->plan.corefile), pass->plan.hash);
	return 0;
}

/* Without a Corefile in the cluster servers have nothing to run. A missing namespace is no
 * obstacle: it is among the operands. */
static int apply_operands(struct dnsoperator_pass *pass)
{
	int r = 0;
	if (!pass->plan.write ||
	    (pass->corefile_result < 0 && pass->corefile_result != ERR_NOTFOUND))
		return 0;
	if (dnsoperator_may_write_dns(pass))
		r = dnsoperator_finalizer_ensure(pass);
	return r != 0 ? r : dnsoperator_operands_apply(pass);
}

static int prune_ca_bundles(struct dnsoperator_pass *pass)
{
	return pass->plan.write && pass->error == 0 ? dnsoperator_ca_prune(pass) : 0;
}

static int restore_templates(struct dnsoperator_pass *pass)
{
	return pass->error == 0 ? dnsoperator_restore_templates(pass) : 0;
}

/* ---- the table ---- */

static const struct step {
	const char *name;
	/* 0; positive: the pass ends here; negative with ctx->err. */
	int (*run)(struct dnsoperator_pass *pass);
	bool required; /* a failure ends the pass; else later steps run, and see pass->error */
} steps[] = {
	{ "check for a rival operator", check_rival, true },
	{ "gather inputs", gather_inputs, true },
	{ "copy CA bundles", dnsoperator_ca_sync, false },
	{ "plan", make_plan, true },
	{ "write ConfigMaps", dnsoperator_write_configmaps, false },
	{ "prune CA bundles", prune_ca_bundles, false },
	{ "apply operands", apply_operands, false },
	{ "restore templates", restore_templates, false },
	{ "report", dnsoperator_report, false },
};

static void log_pass(const struct dnsoperator_pass *pass)
{
	log_debug(
		DNSOPERATOR_LOG_AREA,
		"generation %lld on %s: Corefile of %zu bytes, %s; refused: %zu in templates, %zu "
		"in servers",
		(long long)api_generation(kube_tree_of(pass->dns)),
		dnsoperator_sites[pass->facts.platform].name, pass->plan.corefile.n,
		pass->error < 0		    ? "not all written"
		: pass->corefile_result > 0 ? "written"
					    : "unchanged",
		pass->plan.templates.n, pass->plan.servers.n);
}

/* Runs the steps in order. The first error is the pass's, with its text in ctx->err. */
static int run_steps(struct dnsoperator_pass *pass)
{
	char err[sizeof(pass->ctx->err)] = "";
	bool ends = false;
	for (size_t i = 0; i < ARRAY_LEN(steps) && !ends; i++) {
		int r = steps[i].run(pass);
		if (r < 0 && pass->error == 0) {
			pass->error = r;
			snprintf(err, sizeof(err), "%s", pass->ctx->err);
			log_debug(DNSOPERATOR_LOG_AREA, "step '%s' failed: %s", steps[i].name, err);
		}
		ends = r > 0 || (r < 0 && steps[i].required);
	}
	if (!ends)
		log_pass(pass);
	if (pass->error < 0)
		snprintf(pass->ctx->err, sizeof(pass->ctx->err), "%s", err);
	return pass->error;
}

static int reconcile_dns(struct dnsoperator_pass *pass)
{
	const struct controller_machine *machine = dnsoperator_machine(pass->ctx);
	struct dnsoperator_state *state = pass->ctx->state;
	if (pass->dns != NULL) {
		state->had_dns = true;
		state->missing_ns = 0;
		int r = dnsoperator_reread_dns(pass);
		if (r < 0)
			return r;
		if (!api_is_deleting(kube_tree_of(pass->dns)))
			return run_steps(pass);
	}
	dnsoperator_want_corefile(pass, NULL, 0);
	if (machine != NULL)
		machine->publish(machine->ctx, NULL);
	int r = pass->dns == NULL ? dnsoperator_handle_missing(pass) : dnsoperator_terminate(pass);
	return r < 0 || machine == NULL ? r : dnsoperator_reset_configmaps(pass);
}

/* ---- keys ---- */

static void emit_dns(const struct controller_ctx *ctx)
{
	ctx->emit(ctx->emit_arg, DNSOPERATOR_DNS_NAME);
}

static int poll_servers(struct controller_ctx *ctx)
{
	struct dnsoperator_state *state = ctx->state;
	int platform = atomic_load(&state->platform);
	if (platform < 0)
		return 0; /* the first pass will have them polled */
	json_t *pods = dnsoperator_server_pods(ctx, (enum dnsoperator_platform)platform);
	dnsoperator_poller_poll(state->poller, ctx, dnsoperator_options(ctx),
				(enum dnsoperator_platform)platform, pods, emit_dns);
	json_decref(pods);
	return 0;
}

static void pass_init(struct dnsoperator_pass *pass, struct controller_ctx *ctx)
{
	*pass = (struct dnsoperator_pass){ .ctx = ctx };
	pass->dns = kube_store_get(ctx->stores[DNSOPERATOR_WATCH_DNS], SLICE(""),
				   SLICE(DNSOPERATOR_DNS_NAME));
	arena_init(&pass->arena);
}

static void pass_done(struct dnsoperator_pass *pass)
{
	assert(pass->workload.servers == NULL); /* the report has released it */
	dnsoperator_plan_done(&pass->plan);
	dnsoperator_ca_done(pass);
	json_decref(pass->corefile_map);
	json_decref(pass->accepted_map);
	arena_done(&pass->arena);
	kube_obj_unref(pass->dns);
}

int dnsoperator_reconcile(struct controller_ctx *ctx, const char *key)
{
	struct dnsoperator_pass pass;
	if (strcmp(key, DNSOPERATOR_SERVERS_KEY) == 0)
		return poll_servers(ctx);
	if (strcmp(key, DNSOPERATOR_DNS_NAME) != 0) {
		dnsoperator_ignore(ctx, key);
		return 0;
	}
	pass_init(&pass, ctx);
	int r = reconcile_dns(&pass);
	pass_done(&pass);
	return r < 0 ? r : 0;
}
