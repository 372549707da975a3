/* Templates that a CRD without the field has dropped are put back into the DNS object, and no write
 * of ours destroys them before a copy is saved (stored.h). */
#include "api/kind.h"
#include "api/meta.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "controller/dnsoperator/look_priv.h"
#include "controller/dnsoperator/objects.h"
#include "kube/tree.h"

/* An API server may go on for a moment with the CRD of before, and drop the list again. */
#define AGAIN_NS (2 * NS_PER_S)

bool dnsoperator_may_write_dns(struct dnsoperator_look *l)
{
	struct dnsoperator_state *s = l->c->state;
	const struct dnsoperator_site *site = &dnsoperator_sites[l->facts.platform];
	bool held = l->plan.at_risk && !l->accepted_saved;
	if (held && !s->told_held) {
		CLEANUP(freep)
		char *text = xasprintf(
			"the installed CRD drops spec.templates, so that any write of DNS default "
			"destroys the stored list; its status is not written until a copy is "
			"saved to the ConfigMap %s/%s-accepted",
			site->ns, site->configmap);
		dnsoperator_tell(l, true, "TemplatesAtRisk", "Write", text);
	}
	s->told_held = held;
	return !held;
}

static void tell_restored(struct dnsoperator_look *l)
{
	const struct dnsoperator_site *site = &dnsoperator_sites[l->facts.platform];
	CLEANUP(freep)
	char *text = xasprintf("spec.templates, which a CRD without the field had dropped, was "
			       "restored from the ConfigMap %s/%s-accepted",
			       site->ns, site->configmap);
	dnsoperator_tell(l, false, "TemplatesRestored", "Write", text);
}

/* For a moment an API server goes on with the CRD of before, and shows the list that the new one
 * drops; no event tells when that is over. */
static void look_again_at_new_crd(struct dnsoperator_look *l)
{
	enum { NEW_S = 60 };
	const struct dnsoperator_state *s = l->c->state;
	if (l->plan.at_risk && api_get(kube_tree_of(l->dns), "spec.templates") != NULL &&
	    clock_mono_ns() < s->crd_ns + NEW_S * NS_PER_S)
		dnsoperator_again(l->c, AGAIN_NS);
}

int dnsoperator_restore_templates(struct dnsoperator_look *l)
{
	struct kube_ref ref = { .kind = api_kind_find("operator.openshift.io", "DNS"),
				.name = DNS_NAME };
	struct kube_status st = { 0 };
	json_t *now = NULL;
	look_again_at_new_crd(l);
	if (l->plan.restore == NULL)
		return 0;
	json_t *patch = json_pack("{s{ss},s{sO}}", "metadata", "resourceVersion", l->dns->rv,
				  "spec", "templates", l->plan.restore);
	int r = kube_merge(l->c->conn, &ref, NULL, patch, &now, &st);
	dnsoperator_again(l->c, AGAIN_NS);
	if (r >= 0 && api_get(now, "spec.templates") != NULL)
		tell_restored(l);
	else if (r == ERR_NOTFOUND || r == ERR_CONFLICT)
		r = 0; /* it has changed meanwhile, and is looked at again */
	else if (r < 0)
		r = dnsoperator_failed(l->c, r, "restoring spec.templates", &st);
	kube_status_done(&st);
	json_decref(patch);
	json_decref(now);
	return r < 0 ? r : 0;
}
