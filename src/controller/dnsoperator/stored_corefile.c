/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the stored configuration of one machine before its DNS server starts, and renders it by the
 * operator's own plan. */
#include "controller/dnsoperator/stored_corefile.h"

#include <string.h>

#include "api/meta.h"
#include "base/mem.h"
#include "controller/dnsoperator/machine_corefile.h"
#include "controller/dnsoperator/pass.h"
#include "controller/dnsoperator/plan/configmap_objects.h"
#include "controller/dnsoperator/plan/plan.h"
#include "controller/dnsoperator/stored_corefile_test.h"

/* ---- rendering ---- */

static bool is_unmanaged(const json_t *dns)
{
	return strcmp(api_get_string(dns, "spec.managementState"), "Unmanaged") == 0;
}

/* A copy of the object as if it were managed and asked for what was accepted last. */
static json_t *copy_accepted(const json_t *dns, const json_t *accepted)
{
	static const char *const members[] = { "templates", "servers", "upstreamResolvers" };
	json_t *copy = json_deep_copy(dns);
	json_t *spec = json_object_get(copy, "spec");
	json_object_del(spec, "managementState");
	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		json_t *value = json_object_get(accepted, members[i]);
		if (value != NULL)
			json_object_set_new(spec, members[i], json_deep_copy(value));
		else
			json_object_del(spec, members[i]);
	}
	return copy;
}

static void render(const struct controller_machine *machine,
		   const struct dnsoperator_stored *stored, const struct dnsoperator_plan_in *in,
		   struct strbuf *out)
{
	struct dnsoperator_plan_in complete = *in;
	struct dnsoperator_facts facts = { .platform = DNSOPERATOR_MACHINE, .domain = "" };
	struct dnsoperator_plan plan;
	facts.gate = dnsoperator_gate_of(DNSOPERATOR_MACHINE, "", stored->feature_gate, "",
					 &facts.gate_source);
	facts.keeps = dnsoperator_keeps_of(stored->crd);
	dnsoperator_set_machine(&facts, machine);
	complete.facts = &facts;
	dnsoperator_plan_make(&complete, &plan);
	strbuf_reset(out);
	strbuf_add_slice(out, strbuf_slice(&plan.corefile));
	dnsoperator_plan_done(&plan);
}

bool dnsoperator_stored_render(const struct controller_machine *machine,
			       const struct dnsoperator_stored *stored, struct strbuf *out)
{
	if (stored->dns == NULL || api_is_deleting(stored->dns))
		return false;
	json_t *accepted = dnsoperator_accepted_read(stored->accepted_map);
	bool unmanaged = is_unmanaged(stored->dns);
	bool any = !unmanaged || json_object_get(accepted, "generation") != NULL;
	if (any) {
		json_t *dns =
			unmanaged ? copy_accepted(stored->dns, accepted) : json_incref(stored->dns);
		render(machine, stored,
		       &(struct dnsoperator_plan_in){ .dns = dns, .accepted = accepted }, out);
		json_decref(dns);
	}
	json_decref(accepted);
	return any;
}

/* ---- reading ---- */

static int read_objects(struct controller_ctx *ctx, struct dnsoperator_stored *ret)
{
	const struct dnsoperator_site *site = &dnsoperator_sites[DNSOPERATOR_MACHINE];
	CLEANUP(freep) char *name = dnsoperator_accepted_name(site);
	CLEANUP(freep)
	char *accepted = xasprintf("/api/v1/namespaces/%s/configmaps/%s", site->ns, name);
	const struct {
		const char *path, *what;
		json_t **ret;
	} rows[] = {
		{ "/apis/operator.openshift.io/v1/dnses/" DNSOPERATOR_DNS_NAME,
		  "DNS " DNSOPERATOR_DNS_NAME, &ret->dns },
		{ accepted, name, &ret->accepted_map },
		{ "/apis/config.openshift.io/v1/featuregates/cluster", "FeatureGate cluster",
		  &ret->feature_gate },
		{ "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/" DNSOPERATOR_CRD_NAME,
		  "CustomResourceDefinition " DNSOPERATOR_CRD_NAME, &ret->crd },
	};
	int r = 0;
	for (size_t i = 0; i < ARRAY_LEN(rows) && r >= 0; i++)
		r = dnsoperator_get(ctx, rows[i].path, rows[i].what, rows[i].ret);
	return r;
}

static void stored_done(struct dnsoperator_stored *stored)
{
	json_decref(stored->dns);
	json_decref(stored->accepted_map);
	json_decref(stored->feature_gate);
	json_decref(stored->crd);
}

int dnsoperator_stored_corefile(struct kube_conn *conn, const struct controller_machine *machine,
				struct strbuf *out, struct err_text why)
{
	CLEANUP(stored_done) struct dnsoperator_stored stored = { 0 };
	struct controller_ctx ctx = { .conn = conn };
	int r = read_objects(&ctx, &stored);
	if (r < 0) {
		err_text_set(why, "cannot read the stored DNS configuration: %s", ctx.err);
		return r;
	}
	return dnsoperator_stored_render(machine, &stored, out) ? 1 : 0;
}
