/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The conditions of the operator. Reasons and messages are those of OpenShift's own operator,
 * because alerts and people search for them; ours are added. */
#include "controller/dnsoperator/status/operator_conditions.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "api/time.h"
#include "base/clock.h"
#include "controller/dnsoperator/operands/node_placement.h"
#include "controller/dnsoperator/plan/configmap_objects.h"

static const char no_address[] = "No IP address is assigned to the DNS service.";
static const char no_daemonset[] = "The DNS daemonset does not exist.";

struct job {
	const struct dnsoperator_health_in *in;
	struct dnsoperator_health *out;
	const json_t *old; /* conditions */
	uint64_t settle_ns;
	bool openshift;
};

static void recheck_after(struct job *job, uint64_t after)
{
	if (job->out->again_ns == 0 || after < job->out->again_ns)
		job->out->again_ns = after;
}

/* Frees the message. */
static void set_condition(struct job *job, int which, enum api_status status, const char *reason,
			  struct strbuf *message)
{
	static const char *const types[DNSOPERATOR_HEALTH_CONDITIONS] = {
		[DNSOPERATOR_PROGRESSING] = "Progressing",
		[DNSOPERATOR_AVAILABLE] = "Available",
		[DNSOPERATOR_UPGRADEABLE] = "Upgradeable",
		[DNSOPERATOR_DEGRADED] = "Degraded",
	};
	job->out->conditions[which] = (struct dnsoperator_condition){ types[which], status, reason,
								      strbuf_take(message) };
}

static void set_fixed(struct job *job, int which, enum api_status status, const char *reason,
		      const char *message)
{
	struct strbuf m = STRBUF_INIT;
	strbuf_adds(&m, message);
	set_condition(job, which, status, reason, &m);
}

/* Nanoseconds until the condition has had this status for longer than the settling time; 0: it has,
 * or it has another status. A time in the future comes from a clock that was wrong. */
static uint64_t settling_ns(const struct job *job, const char *type, enum api_status status)
{
	const json_t *c = api_condition_find(job->old, type);
	uint64_t since, now = job->in->now_wall_ns;
	if (c == NULL || api_condition_status(job->old, type) != status ||
	    api_time_parse(api_get_string(c, "lastTransitionTime"), &since) < 0 || since > now ||
	    now - since > job->settle_ns)
		return 0;
	return job->settle_ns - (now - since) + NS_PER_MS;
}

static void add_line(struct strbuf *message, const char *line)
{
	strbuf_addf(message, "%s%s", message->n != 0 ? "\n" : "", line);
}

static bool has_address(const struct job *job)
{
	return api_get_string(job->in->workload->service, "spec.clusterIP")[0] != '\0';
}

static int64_t count_pods(const json_t *daemonset, const char *path)
{
	int64_t n = json_integer_value(api_get(daemonset, path));
	return MIN(MAX(n, 0), INT32_MAX); /* as the API has it */
}

/* ---- Progressing ---- */

static void add_pods(struct strbuf *message, const json_t *daemonset, const char *what)
{
	int64_t want = count_pods(daemonset, "status.desiredNumberScheduled");
	int64_t have = count_pods(daemonset, "status.updatedNumberScheduled");
	if (have < want)
		strbuf_addf(message, "%sHave %" PRId64 " %s pods, want %" PRId64 ".",
			    message->n != 0 ? "\n" : "", have, what, want);
}

/* `want` is taken over. */
static void add_difference(struct strbuf *message, const char *what, const json_t *have,
			   json_t *want)
{
	if (!json_equal(api_tree(have), want)) {
		char *h = have != NULL ? json_dumps(have, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
		char *w = json_dumps(want, JSON_COMPACT | JSON_SORT_KEYS);
		strbuf_addf(message, "%sHave DNS daemonset with %s %s, want %s.",
			    message->n != 0 ? "\n" : "", what, h != NULL ? h : "none", w);
		free(h);
		free(w);
	}
	json_decref(want);
}

static void add_rolling(const struct job *job, struct strbuf *message)
{
	const struct dnsoperator_workload *w = job->in->workload;
	if (!has_address(job))
		add_line(message, no_address);
	if (w->servers == NULL) {
		add_line(message, no_daemonset);
	} else {
		add_pods(message, w->servers, "up-to-date DNS");
		add_difference(message, "node selector",
			       api_get(w->servers, "spec.template.spec.nodeSelector"),
			       dnsoperator_node_selector(job->in->dns));
		add_difference(message, "tolerations",
			       api_get(w->servers, "spec.template.spec.tolerations"),
			       dnsoperator_tolerations(job->in->dns, job->in->platform));
	}
	if (w->node_resolver == NULL)
		add_line(message, "The node-resolver daemonset does not exist.");
	else
		add_pods(message, w->node_resolver, "up-to-date node-resolver");
}

/* Elsewhere than on OpenShift: servers that run another Corefile. */
static void add_loading(const struct job *job, struct strbuf *message)
{
	const struct dnsoperator_answers *all = job->in->answers;
	size_t other = 0;
	for (size_t i = 0; i < all->n; i++)
		other += all->v[i].reached && strcmp(all->v[i].hash, job->in->plan->hash) != 0;
	if (other != 0)
		strbuf_addf(message, "%zu of %zu servers are still to load the configuration.",
			    other, all->n);
}

/* True when it is or stays True. */
static bool set_progressing(struct job *job)
{
	struct strbuf m = STRBUF_INIT;
	if (job->openshift) {
		add_rolling(job, &m);
	} else if (job->in->plan->write) {
		if (job->in->answers == NULL)
			return api_condition_status(job->old, "Progressing") == API_TRUE;
		add_loading(job, &m);
	}
	if (m.n == 0) {
		strbuf_done(&m);
		set_fixed(job, DNSOPERATOR_PROGRESSING, API_FALSE, "AsExpected",
			  job->openshift
				  ? "All DNS and node-resolver pods are updated, and the DNS "
				    "service has a cluster IP address."
			  : job->in->plan->write
				  ? "No server runs another configuration, as far as is known."
			  : job->in->plan->domain_unknown
				  ? "Nothing is rolled out, because the cluster's domain is not "
				    "known."
				  : "spec.managementState is Unmanaged, so nothing is rolled "
				    "out.");
		return false;
	}
	uint64_t left = settling_ns(job, "Progressing", API_FALSE);
	if (left != 0) {
		recheck_after(job, left);
		strbuf_done(&m);
		return false;
	}
	set_condition(job, DNSOPERATOR_PROGRESSING, API_TRUE, "Reconciling", &m);
	return true;
}

/* ---- Available ---- */

static void set_available_openshift(struct job *job)
{
	const json_t *servers = job->in->workload->servers;
	struct strbuf m = STRBUF_INIT;
	const char *pods = "", *service = "";
	if (servers == NULL) {
		pods = "NoDaemonSet";
		add_line(&m, no_daemonset);
	} else if (count_pods(servers, "status.numberAvailable") == 0) {
		pods = "NoDaemonSetPods";
		add_line(&m, "The DNS daemonset has no pods available.");
	}
	if (!has_address(job)) {
		service = "NoService";
		add_line(&m, no_address);
	}
	if (m.n == 0) {
		strbuf_adds(&m, "The DNS daemonset has available pods, and the DNS service has a "
				"cluster IP address.");
		set_condition(job, DNSOPERATOR_AVAILABLE, API_TRUE, "AsExpected", &m);
		return;
	}
	snprintf(job->out->unavailable, sizeof(job->out->unavailable), "%s%s", pods, service);
	set_condition(job, DNSOPERATOR_AVAILABLE, API_FALSE, job->out->unavailable, &m);
}

/* The message has no number of servers: each pod that comes or goes would rewrite the object. */
static void set_available_elsewhere(struct job *job)
{
	const struct dnsoperator_alive *s = &job->in->seen;
	if (!s->known) {
		if (job->in->plan->domain_unknown)
			set_fixed(job, DNSOPERATOR_AVAILABLE, API_UNKNOWN, "ClusterDomainUnknown",
				  "Servers are not polled, because the cluster's domain is not "
				  "known.");
		else if (!job->in->plan->write)
			set_fixed(job, DNSOPERATOR_AVAILABLE, API_UNKNOWN, "Unmanaged",
				  "spec.managementState is Unmanaged, so servers are not polled.");
		return;
	}
	if (s->n == 0)
		set_fixed(job, DNSOPERATOR_AVAILABLE, API_UNKNOWN, "NoInstances",
			  "No server is known.");
	else if (s->ready == 0 && s->by_pods)
		set_fixed(job, DNSOPERATOR_AVAILABLE, API_FALSE, "NoReadyInstances",
			  "No DNS pod is ready.");
	else if (s->ready == 0)
		set_fixed(job, DNSOPERATOR_AVAILABLE, API_FALSE, "InstancesUnreachable",
			  "No server answered the last poll.");
	else
		set_fixed(job, DNSOPERATOR_AVAILABLE, API_TRUE, "AsExpected",
			  s->by_pods ? "At least one DNS pod is ready."
				     : "At least one server answered the last poll.");
}

/* ---- Upgradeable ---- */

static void set_upgradeable(struct job *job)
{
	if (job->in->plan->write || job->in->plan->domain_unknown)
		set_fixed(job, DNSOPERATOR_UPGRADEABLE, API_TRUE, "AsExpected",
			  "DNS Operator can be upgraded");
	else
		set_fixed(job, DNSOPERATOR_UPGRADEABLE, API_FALSE, "OperatorUnmanaged",
			  "Cannot upgrade while managementState is Unmanaged");
}

/* ---- Degraded ---- */

static void add_reason(struct strbuf *msg, const char *reason, const char *message)
{
	strbuf_addf(msg, "%s%s=True (%s: %s)", msg->n != 0 ? ", " : "", reason, reason, message);
}

static void add_unavailable(struct strbuf *message, int64_t want, int64_t have)
{
	enum { PERCENT = 10 };
	int64_t max = (want * PERCENT + 99) / 100;
	char text[128];
	if (want == 0) {
		add_reason(message, "NoDNSPodsDesired",
			   "No DNS pods are desired; this could mean all nodes are tainted or "
			   "unschedulable.");
	} else if (have == 0) {
		add_reason(message, "NoDNSPodsAvailable", "No DNS pods are available.");
	} else if (want - have > max) {
		snprintf(text, sizeof(text),
			 "Too many DNS pods are unavailable (%" PRId64 " > %" PRId64
			 " max unavailable).",
			 want - have, max);
		add_reason(message, "MaxUnavailableDNSPodsExceeded", text);
	}
}

/* Errors that come and go with pods; not reported during a rollout. */
static void add_pod_errors(const struct job *job, struct strbuf *message)
{
	const struct dnsoperator_alive *s = &job->in->seen;
	if (!job->openshift) {
		if (s->known && s->n != 0)
			add_unavailable(message, (int64_t)s->n, (int64_t)s->ready);
		return;
	}
	const json_t *servers = job->in->workload->servers;
	if (!has_address(job))
		add_reason(message, "NoService", no_address);
	if (servers == NULL)
		add_reason(message, "NoDNSDaemonSet", no_daemonset);
	else
		add_unavailable(message, count_pods(servers, "status.desiredNumberScheduled"),
				count_pods(servers, "status.numberAvailable"));
}

/* OP-T15: templates that servers do not run count only when that lasts. */
static bool is_lasting(struct job *job, const char *type)
{
	uint64_t left = settling_ns(job, type, API_FALSE);
	if (left != 0)
		recheck_after(job, left);
	return left == 0 && api_condition_status(job->old, type) == API_FALSE;
}

/* Configuration that servers do not run, reported even during a rollout. */
static void add_config_errors(struct job *job, struct strbuf *message)
{
	const struct dnsoperator_plan *p = job->in->plan;
	const struct dnsoperator_condition *applied = &p->conditions[DNSOPERATOR_APPLIED];
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	if (p->servers.n != 0) {
		dnsoperator_problems_text(&p->servers, &text);
		add_reason(message, "InvalidServers", text.s);
	}
	if (p->domain_unknown)
		add_reason(message, "ClusterDomainUnknown", dnsoperator_domain_unknown);
	if (job->in->unwritten != NULL)
		add_reason(message, "CorefileNotWritten", job->in->unwritten);
	if (job->in->contested != NULL)
		add_reason(message, "ConfigMapContested", job->in->contested);
	if (p->templates.n != 0 && is_lasting(job, "TemplateConfigurationValid"))
		add_reason(message, "InvalidTemplates", p->conditions[DNSOPERATOR_VALID].message);
	if (applied->reason != NULL && strcmp(applied->reason, "ReloadFailed") == 0 &&
	    is_lasting(job, "TemplateConfigurationApplied"))
		add_reason(message, "ReloadFailed", applied->message);
}

static void set_degraded(struct job *job, bool progressing)
{
	static const char intro[] =
		"One or more other status conditions indicate a degraded state: ";
	CLEANUP(strbuf_done) struct strbuf inner = STRBUF_INIT;
	struct strbuf m = STRBUF_INIT;
	if (!progressing)
		add_pod_errors(job, &inner);
	add_config_errors(job, &inner);
	uint64_t left = settling_ns(job, "Degraded", API_FALSE);
	if (inner.n != 0 && left != 0) {
		recheck_after(job, left);
		return;
	}
	if (inner.n != 0) {
		strbuf_addf(&m, "%s%s", intro, inner.s);
		set_condition(job, DNSOPERATOR_DEGRADED, API_TRUE, "DegradedConditions", &m);
		recheck_after(job, job->settle_ns);
		return;
	}
	set_fixed(job, DNSOPERATOR_DEGRADED, API_FALSE, "AsExpected",
		  progressing ? "No errors, apart from the rollout in progress."
		  : job->openshift
			  ? "Enough DNS pods are available, and the DNS service has a cluster IP "
			    "address."
			  : "No errors are known.");
}

/* ---- all of them ---- */

void dnsoperator_health_make(const struct dnsoperator_health_in *in, struct dnsoperator_health *ret)
{
	struct job j = { .in = in,
			 .out = ret,
			 .old = api_get(in->dns, "status.conditions"),
			 .settle_ns = in->settle_ns != 0 ? in->settle_ns : DNSOPERATOR_SETTLE_NS,
			 .openshift = in->platform == DNSOPERATOR_OPENSHIFT };
	*ret = (struct dnsoperator_health){ 0 };
	bool progressing = set_progressing(&j);
	if (j.openshift)
		set_available_openshift(&j);
	else
		set_available_elsewhere(&j);
	set_upgradeable(&j);
	set_degraded(&j, progressing);
}

void dnsoperator_health_done(struct dnsoperator_health *health)
{
	for (int i = 0; i < DNSOPERATOR_HEALTH_CONDITIONS; i++)
		free(health->conditions[i].message);
	*health = (struct dnsoperator_health){ 0 };
}

bool dnsoperator_health_set(json_t *dns, const struct dnsoperator_health *health,
			    const struct dnsoperator_observed *observed, uint64_t now_wall_ns)
{
	return dnsoperator_conditions_set(api_get(dns, "status.conditions"), health->conditions,
					  DNSOPERATOR_HEALTH_CONDITIONS, observed, now_wall_ns);
}

/* ---- servers elsewhere ---- */

struct dnsoperator_alive dnsoperator_alive_pods(const json_t *pods)
{
	struct dnsoperator_alive s = { .known = true, .by_pods = true };
	const json_t *o;
	size_t i;
	json_array_foreach (pods, i, o) {
		if (api_is_deleting(o))
			continue;
		s.n++;
		s.ready +=
			api_condition_status(api_get(o, "status.conditions"), "Ready") == API_TRUE;
	}
	return s;
}

struct dnsoperator_alive dnsoperator_alive_answers(const struct dnsoperator_answers *instances)
{
	struct dnsoperator_alive s = { .known = instances != NULL,
				       .n = instances != NULL ? instances->n : 0 };
	for (size_t i = 0; i < s.n; i++)
		s.ready += instances->v[i].reached;
	return s;
}
