/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Restores templates in the DNS object that a CRD without the field has dropped, and holds our own
 * writes, which would destroy them, until a copy is saved (plan/pruned_templates.h). */
#include "controller/dnsoperator/templates_restore.h"

#include "api/kind.h"
#include "api/meta.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "controller/dnsoperator/plan/configmap_objects.h"
#include "kube/decode/tree.h"

/* An API server may use the old CRD for a moment, and drop the list again. */
#define RECHECK_NS (2 * NS_PER_S)

bool dnsoperator_may_write_dns(struct dnsoperator_pass *pass)
{
	struct dnsoperator_state *state = pass->ctx->state;
	const struct dnsoperator_site *site = &dnsoperator_sites[pass->facts.platform];
	bool held = pass->plan.at_risk && !pass->accepted_saved;
	if (held && !state->held_reported) {
		CLEANUP(freep)
		char *text = xasprintf(
			"the installed CRD drops spec.templates, so that any write of DNS default "
			"destroys the stored list; its status is not written until a copy is "
			"saved to the ConfigMap %s/%s-accepted",
			site->ns, site->configmap);
		dnsoperator_emit_event(pass, true, "TemplatesAtRisk", "Write", text);
	}
	state->held_reported = held;
	return !held;
}

static void report_restored(struct dnsoperator_pass *pass)
{
	const struct dnsoperator_site *site = &dnsoperator_sites[pass->facts.platform];
	CLEANUP(freep)
	char *text = xasprintf("spec.templates, which a CRD without the field had dropped, was "
			       "restored from the ConfigMap %s/%s-accepted",
			       site->ns, site->configmap);
	dnsoperator_emit_event(pass, false, "TemplatesRestored", "Write", text);
}

/* For a moment an API server still uses the old CRD, and shows the list that the new one drops; no
 * watch event marks the end of that. */
static void requeue_while_crd_is_new(struct dnsoperator_pass *pass)
{
	enum { NEW_S = 60 };
	const struct dnsoperator_state *state = pass->ctx->state;
	if (pass->plan.at_risk && api_get(kube_tree_of(pass->dns), "spec.templates") != NULL &&
	    clock_mono_ns() < state->crd_ns + NEW_S * NS_PER_S)
		dnsoperator_requeue_after(pass->ctx, RECHECK_NS);
}

int dnsoperator_restore_templates(struct dnsoperator_pass *pass)
{
	struct kube_ref ref = { .kind = api_kind_find("operator.openshift.io", "DNS"),
				.name = DNSOPERATOR_DNS_NAME };
	struct kube_status st = { 0 };
	json_t *now = NULL;
	requeue_while_crd_is_new(pass);
	if (pass->plan.restore == NULL)
		return 0;
	json_t *patch = json_pack("{s{ss},s{sO}}", "metadata", "resourceVersion", pass->dns->rv,
				  "spec", "templates", pass->plan.restore);
	int r = kube_merge(pass->ctx->conn, &ref, NULL, patch, &now, &st);
	dnsoperator_requeue_after(pass->ctx, RECHECK_NS);
	if (r >= 0 && api_get(now, "spec.templates") != NULL)
		report_restored(pass);
	else if (r == ERR_NOTFOUND || r == ERR_CONFLICT)
		r = 0; /* it has changed meanwhile: another pass follows */
	else if (r < 0)
		r = dnsoperator_set_error(pass->ctx, r, "restoring spec.templates", &st);
	kube_status_done(&st);
	json_decref(patch);
	json_decref(now);
	return r < 0 ? r : 0;
}
