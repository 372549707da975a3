/* What runs in the cluster beside us. Two operators must not own one object (OP-D7): while the
 * original runs nothing is written, not even the status, and all that can be told without that
 * tells how to take over: log, Event, /readyz, a metric. */
#include <string.h>

#include "api/meta.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "controller/dnsoperator/look_priv.h"

#define ORIGINAL "the Deployment openshift-dns-operator/dns-operator"

enum {
	LOOK_S = 5,   /* between two looks whether it is gone: one read each */
	TELL_S = 300, /* between two lines about it */
};

static const struct metrics_family family = {
	.name = "fairlead_dnsoperator_original_runs",
	.help = "1 while OpenShift's own DNS operator runs, so that nothing is written.",
	.kind = METRICS_GAUGE,
};

static const char advice[] =
	ORIGINAL " runs, so nothing is changed; to take over, set an override for it in "
		 "ClusterVersion version (spec.overrides, unmanaged: true), then scale it to 0";

void dnsoperator_place_start(struct dnsoperator_state *state)
{
	atomic_init(&state->beside, DNSOPERATOR_ALONE);
	state->original_runs = metrics_get(&family, NULL);
}

void dnsoperator_note(void *state, struct strbuf *out)
{
	const struct dnsoperator_state *s = state;
	if (atomic_load(&s->beside) != DNSOPERATOR_ALONE)
		strbuf_addf(out, "controller dnsoperator waits: %s\n", advice);
}

/* ---- MicroShift ---- */

/* It has neither an operator nor the object Network, but it says its name. */
int dnsoperator_find_microshift(struct dnsoperator_look *pass)
{
	const struct controller_options *o = dnsoperator_options(pass->c);
	json_t *found = NULL;
	bool told = o->platform != NULL && strcmp(o->platform, "auto") != 0;
	if (told || dnsoperator_machine_of(pass->c) != NULL)
		return 0;
	int r = dnsoperator_get(pass->c,
				"/api/v1/namespaces/kube-public/configmaps/microshift-version",
				"is this MicroShift? (--platform says it, too) "
				"kube-public/microshift-version",
				&found);
	pass->microshift = found != NULL;
	json_decref(found);
	return r;
}

/* ---- the original ---- */

static bool has_any(const json_t *object, const char *path)
{
	return json_integer_value(api_get(object, path)) > 0;
}

/* Pods that were told to end may still write. */
static enum dnsoperator_beside beside_of(const json_t *deployment)
{
	const json_t *n = api_get(deployment, "spec.replicas");
	if (n == NULL || json_integer_value(n) > 0)
		return DNSOPERATOR_BESIDE;
	return has_any(deployment, "status.replicas") ||
			       has_any(deployment, "status.terminatingReplicas")
		       ? DNSOPERATOR_ENDING
		       : DNSOPERATOR_ALONE;
}

static int look(struct controller_ctx *ctx, enum dnsoperator_beside *ret)
{
	json_t *o = NULL;
	int r = dnsoperator_get(
		ctx, "/apis/apps/v1/namespaces/openshift-dns-operator/deployments/dns-operator",
		"the original operator's Deployment", &o);
	*ret = o != NULL ? beside_of(o) : DNSOPERATOR_ALONE;
	json_decref(o);
	return r;
}

/* The object may come after the line in the log. */
static void tell(const struct dnsoperator_look *pass)
{
	struct dnsoperator_state *s = pass->c->state;
	uint64_t now = clock_mono_ns(), last = s->told_ns;
	bool due = last == 0 || now >= last + TELL_S * NS_PER_S;
	if (!due && (pass->dns == NULL || s->told_event))
		return;
	if (due)
		s->told_ns = now;
	s->told_event = pass->dns != NULL;
	dnsoperator_tell(pass, true, "OriginalOperatorRuns", "Refuse", advice);
}

int dnsoperator_look_beside(struct dnsoperator_look *pass)
{
	struct dnsoperator_state *s = pass->c->state;
	enum dnsoperator_beside now = DNSOPERATOR_ALONE;
	int r = dnsoperator_machine_of(pass->c) != NULL ? 0 : look(pass->c, &now);
	if (r < 0)
		return r;
	int before = atomic_exchange(&s->beside, (int)now);
	metrics_set(s->original_runs, now != DNSOPERATOR_ALONE);
	if (now == DNSOPERATOR_ALONE) {
		if (before != DNSOPERATOR_ALONE)
			log_info(AREA, ORIGINAL " does not run any more: taking over");
		s->told_ns = 0;
		s->told_event = false;
		return 0;
	}
	if (now == DNSOPERATOR_BESIDE)
		tell(pass);
	else if (before != DNSOPERATOR_ENDING)
		log_info(AREA, "waiting for the pods of " ORIGINAL " to end");
	pass->c->again_ns = LOOK_S * NS_PER_S;
	return 1;
}
