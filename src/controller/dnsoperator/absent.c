/* While there is no DNS default. On OpenShift it must be there: its absence is told, and it is made
 * again, though not at once, since whoever deleted it may be about to write another. */
#include "api/kind.h"
#include "base/clock.h"
#include "base/err.h"
#include "controller/dnsoperator/report_priv.h"

#define AGAIN_NS (60 * NS_PER_S)

static int create(struct controller_ctx *ctx)
{
	struct kube_ref ref = { .kind = api_kind_find("operator.openshift.io", "DNS"),
				.name = DNS_NAME };
	struct kube_status st = { 0 };
	json_t *o = json_pack("{ss,ss,s{ss},s{}}", "apiVersion", "operator.openshift.io/v1", "kind",
			      "DNS", "metadata", "name", ref.name, "spec");
	int r = kube_create(ctx->conn, &ref, o, NULL, &st);
	if (r == ERR_DUPLICATE)
		r = 0;
	else if (r < 0)
		r = dnsoperator_failed(ctx, r, "DNS default", &st);
	kube_status_done(&st);
	json_decref(o);
	return r;
}

/* A program that starts makes it at once. */
static uint64_t wait_ns(struct dnsoperator_state *state)
{
	uint64_t now = clock_mono_ns();
	if (!state->had_dns)
		return 0;
	if (state->absent_ns == 0)
		state->absent_ns = now;
	return now - state->absent_ns < AGAIN_NS ? AGAIN_NS - (now - state->absent_ns) : 0;
}

int dnsoperator_absent(struct dnsoperator_look *pass)
{
	struct dnsoperator_state *s = pass->c->state;
	int r = dnsoperator_look_beside(pass);
	if (r == 0)
		r = dnsoperator_find_microshift(pass);
	if (r == 0)
		r = dnsoperator_learn(pass);
	if (r != 0)
		return r < 0 ? r : 0;
	if (pass->facts.platform != DNSOPERATOR_OPENSHIFT)
		return dnsoperator_report_publish(pass, NULL);
	pass->c->again_ns = AGAIN_NS;
	r = dnsoperator_report_read(pass);
	if (r >= 0)
		r = dnsoperator_report_publish(pass, NULL);
	dnsoperator_report_done(pass);
	uint64_t wait = wait_ns(s);
	if (r >= 0 && wait == 0)
		r = create(pass->c);
	else if (wait != 0)
		pass->c->again_ns = wait;
	return r;
}
