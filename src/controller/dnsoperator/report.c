/* From a look at the cluster to what is told of it. */
#include "controller/dnsoperator/report_priv.h"

#include "base/clock.h"
#include "controller/dnsoperator/clusteroperator.h"
#include "controller/dnsoperator/gauges.h"
#include "controller/dnsoperator/health.h"
#include "controller/dnsoperator/objects.h"

static struct dnsoperator_alive count_servers(const struct dnsoperator_look *pass)
{
	enum dnsoperator_platform p = pass->facts.platform;
	if (p == DNSOPERATOR_MACHINE || dnsoperator_options(pass->c)->n_dns_instances != 0)
		return dnsoperator_alive_answers(pass->instances);
	json_t *pods = dnsoperator_pods_of(pass->c, p);
	struct dnsoperator_alive s = dnsoperator_alive_pods(pods);
	json_decref(pods);
	return s;
}

int dnsoperator_report_read(struct dnsoperator_look *pass)
{
	int r = pass->facts.platform == DNSOPERATOR_OPENSHIFT
			? dnsoperator_workload_read(pass->c, &pass->workload)
			: 0;
	pass->workload_known = r >= 0;
	return r;
}

bool dnsoperator_report_set(struct dnsoperator_look *pass, json_t *copy,
			    const struct dnsoperator_observed *observed, uint64_t now_wall_ns)
{
	struct dnsoperator_health h;
	struct dnsoperator_health_in in = {
		.platform = pass->facts.platform,
		.dns = copy,
		.plan = &pass->plan,
		.workload = &pass->workload,
		.instances = pass->instances,
		.now_wall_ns = now_wall_ns,
		.settle_ns = dnsoperator_options(pass->c)->dns_settle_ns,
	};
	struct dnsoperator_state *s = pass->c->state;
	uint64_t wait = in.settle_ns != 0 ? in.settle_ns : DNSOPERATOR_SETTLE_NS;
	if (!pass->workload_known)
		return false;
	if (s->unwritten_ns != 0 && clock_mono_ns() >= s->unwritten_ns + wait)
		in.unwritten = s->unwritten;
	if (pass->contested[0] != '\0')
		in.contested = pass->contested;
	if (pass->facts.platform != DNSOPERATOR_OPENSHIFT)
		in.seen = count_servers(pass);
	dnsoperator_health_make(&in, &h);
	bool changed = dnsoperator_health_set(copy, &h, observed, now_wall_ns);
	if (h.again_ns != 0)
		dnsoperator_again(pass->c, h.again_ns);
	dnsoperator_health_done(&h);
	return changed;
}

/* Of an object that is not managed what was accepted before is in force. */
static void set_gauges(struct dnsoperator_look *pass, const json_t *dns)
{
	struct dnsoperator_state *s = pass->c->state;
	json_t *kept =
		dns != NULL && !pass->plan.write ? dnsoperator_accepted_read(pass->accepted) : NULL;
	const json_t *accepted = dns == NULL ? NULL : pass->plan.write ? pass->plan.accepted : kept;
	dnsoperator_gauges_conditions(dns);
	dnsoperator_gauges_servers(dns != NULL ? pass->instances : NULL, pass->plan.hash);
	dnsoperator_gauges_templates(s->gauges, json_object_get(accepted, "templates"),
				     dnsoperator_domain(&pass->facts));
	json_decref(kept);
}

int dnsoperator_report_publish(struct dnsoperator_look *pass, const json_t *dns)
{
	set_gauges(pass, dns);
	struct dnsoperator_clusteroperator in = { .dns = dns,
						  .workload = &pass->workload,
						  .ns = pass->c->ns };
	if (pass->facts.platform != DNSOPERATOR_OPENSHIFT || !pass->workload_known)
		return 0;
	dnsoperator_versions_env(in.wanted);
	return dnsoperator_clusteroperator_write(pass->c, &in);
}

void dnsoperator_report_done(struct dnsoperator_look *pass)
{
	dnsoperator_workload_done(&pass->workload);
	pass->workload = (struct dnsoperator_workload){ 0 };
}
