/* From a look at the cluster to what is told of it. */
#include "controller/dnsoperator/report_priv.h"

#include "base/clock.h"
#include "controller/dnsoperator/clusteroperator.h"
#include "controller/dnsoperator/gauges.h"
#include "controller/dnsoperator/health.h"
#include "controller/dnsoperator/objects.h"

static struct dnsoperator_alive count_servers(const struct dnsoperator_look *l)
{
	enum dnsoperator_platform p = l->facts.platform;
	if (p == DNSOPERATOR_MACHINE || dnsoperator_options(l->c)->n_dns_instances != 0)
		return dnsoperator_alive_answers(l->instances);
	json_t *pods = dnsoperator_pods_of(l->c, p);
	struct dnsoperator_alive s = dnsoperator_alive_pods(pods);
	json_decref(pods);
	return s;
}

int dnsoperator_report_read(struct dnsoperator_look *l)
{
	int r = l->facts.platform == DNSOPERATOR_OPENSHIFT
			? dnsoperator_workload_read(l->c, &l->workload)
			: 0;
	l->workload_known = r >= 0;
	return r;
}

bool dnsoperator_report_set(struct dnsoperator_look *l, json_t *copy,
			    const struct dnsoperator_observed *g, uint64_t now_wall_ns)
{
	struct dnsoperator_health h;
	struct dnsoperator_health_in in = {
		.platform = l->facts.platform,
		.dns = copy,
		.plan = &l->plan,
		.workload = &l->workload,
		.instances = l->instances,
		.now_wall_ns = now_wall_ns,
		.settle_ns = dnsoperator_options(l->c)->dns_settle_ns,
	};
	struct dnsoperator_state *s = l->c->state;
	uint64_t wait = in.settle_ns != 0 ? in.settle_ns : DNSOPERATOR_SETTLE_NS;
	if (!l->workload_known)
		return false;
	if (s->unwritten_ns != 0 && clock_mono_ns() >= s->unwritten_ns + wait)
		in.unwritten = s->unwritten;
	if (l->contested[0] != '\0')
		in.contested = l->contested;
	if (l->facts.platform != DNSOPERATOR_OPENSHIFT)
		in.seen = count_servers(l);
	dnsoperator_health_make(&in, &h);
	bool changed = dnsoperator_health_set(copy, &h, g, now_wall_ns);
	if (h.again_ns != 0)
		dnsoperator_again(l->c, h.again_ns);
	dnsoperator_health_done(&h);
	return changed;
}

/* Of an object that is not managed what was accepted before is in force. */
static void set_gauges(struct dnsoperator_look *l, const json_t *dns)
{
	struct dnsoperator_state *s = l->c->state;
	json_t *kept =
		dns != NULL && !l->plan.write ? dnsoperator_accepted_read(l->accepted) : NULL;
	const json_t *accepted = dns == NULL ? NULL : l->plan.write ? l->plan.accepted : kept;
	dnsoperator_gauges_conditions(dns);
	dnsoperator_gauges_servers(dns != NULL ? l->instances : NULL, l->plan.hash);
	dnsoperator_gauges_templates(s->gauges, json_object_get(accepted, "templates"),
				     dnsoperator_domain(&l->facts));
	json_decref(kept);
}

int dnsoperator_report_publish(struct dnsoperator_look *l, const json_t *dns)
{
	set_gauges(l, dns);
	struct dnsoperator_clusteroperator in = { .dns = dns,
						  .workload = &l->workload,
						  .ns = l->c->ns };
	if (l->facts.platform != DNSOPERATOR_OPENSHIFT || !l->workload_known)
		return 0;
	dnsoperator_versions_env(in.wanted);
	return dnsoperator_clusteroperator_write(l->c, &in);
}

void dnsoperator_report_done(struct dnsoperator_look *l)
{
	dnsoperator_workload_done(&l->workload);
	l->workload = (struct dnsoperator_workload){ 0 };
}
