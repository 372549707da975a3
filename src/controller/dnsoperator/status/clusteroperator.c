/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Computes and writes the status of the ClusterOperator `dns`. */
#include "controller/dnsoperator/status/clusteroperator.h"
#include "controller/dnsoperator/status/clusteroperator_test.h"

#include <stdlib.h>
#include <string.h>

#include "api/condition.h"
#include "api/kind.h"
#include "api/meta.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "controller/dnsoperator/pass.h"
#include "controller/dnsoperator/plan/configmap_objects.h"
#include "controller/dnsoperator/status/dns_status.h"
#include "kube/decode/tree.h"

/* Whose version it is, by container; "": the operator's. Sorted by name. */
static const struct version_row {
	const char *name, *env, *container;
	bool on_nodes; /* in DaemonSet node-resolver */
} version_rows[DNSOPERATOR_VERSIONS] = {
	[DNSOPERATOR_VERSION_COREDNS] = { "coredns", "IMAGE", "dns", false },
	[DNSOPERATOR_VERSION_PROXY] = { "kube-rbac-proxy", "KUBE_RBAC_PROXY_IMAGE",
					"kube-rbac-proxy", false },
	[DNSOPERATOR_VERSION_CLI] = { "openshift-cli", "OPENSHIFT_CLI_IMAGE", "dns-node-resolver",
				      true },
	[DNSOPERATOR_VERSION_OPERATOR] = { "operator", "RELEASE_VERSION", "", false },
};

static const char unknown[] = "unknown";

void dnsoperator_versions_env(const char *wanted[DNSOPERATOR_VERSIONS])
{
	for (int i = 0; i < DNSOPERATOR_VERSIONS; i++) {
		const char *v = getenv(version_rows[i].env);
		wanted[i] = v != NULL && v[0] != '\0' ? v : NULL;
	}
}

/* ---- versions ---- */

struct versions {
	const char *wanted[DNSOPERATOR_VERSIONS]; /* NULL: not known */
	const char *current[DNSOPERATOR_VERSIONS];
	bool upgrading;
};

/* Of a container in a DaemonSet; NULL: it has none of that name. */
static const char *image_of(const json_t *daemonset, const char *container)
{
	const json_t *c;
	size_t i;
	json_array_foreach (api_get(daemonset, "spec.template.spec.containers"), i, c) {
		if (strcmp(api_get_string(c, "name"), container) == 0)
			return api_get_string(c, "image");
	}
	return NULL;
}

static int64_t number_at(const json_t *object, const char *path)
{
	return json_integer_value(api_get(object, path));
}

/* Do all pods run the DaemonSet's present template? */
static bool is_rolled_out(const json_t *object)
{
	int64_t want = number_at(object, "status.desiredNumberScheduled");
	return object != NULL &&
	       number_at(object, "status.observedGeneration") >= api_generation(object) &&
	       number_at(object, "status.updatedNumberScheduled") >= want &&
	       number_at(object, "status.numberAvailable") >= want;
}

static const char *old_version(const json_t *co, const char *name)
{
	const json_t *v;
	size_t i;
	json_array_foreach (api_get(co, "status.versions"), i, v) {
		if (strcmp(api_get_string(v, "name"), name) == 0 &&
		    api_get_string(v, "version")[0] != '\0')
			return api_get_string(v, "version");
	}
	return unknown;
}

static void compare_versions(const json_t *co, const struct dnsoperator_clusteroperator *in,
			     struct versions *ret)
{
	bool all = true;
	*ret = (struct versions){ 0 };
	for (int i = 0; i < DNSOPERATOR_VERSIONS; i++) {
		const struct version_row *row = &version_rows[i];
		const json_t *set =
			row->on_nodes ? in->workload->node_resolver : in->workload->servers;
		const char *has = image_of(set, row->container);
		const char *want = in->wanted[i] != NULL ? in->wanted[i] : has;
		bool there = all; /* the operator's own version comes last, after all operands */
		if (row->container[0] != '\0') {
			/* what has no container has nothing to wait for */
			there = is_rolled_out(set) && (has == NULL || strcmp(has, want) == 0);
			all = all && there;
		}
		ret->wanted[i] = want;
		ret->current[i] = there && want != NULL ? want : old_version(co, row->name);
		ret->upgrading |= want != NULL && strcmp(ret->current[i], want) != 0;
	}
}

static json_t *versions_list(const struct versions *versions)
{
	json_t *list = json_array();
	for (int i = 0; i < DNSOPERATOR_VERSIONS; i++)
		json_array_append_new(list, json_pack("{ss,ss}", "name", version_rows[i].name,
						      "version", versions->current[i]));
	return list;
}

/* ---- conditions ---- */

struct job {
	const struct dnsoperator_clusteroperator *in;
	const struct versions *versions;
	const json_t *dns; /* conditions of the DNS object */
	json_t *conditions;
	uint64_t now;
	bool changed;
};

static const char absent_reason[] = "DNSDoesNotExist";
static const char absent_text[] = "DNS \"default\" does not exist.";

static void set_condition(struct job *job, const char *type, enum api_status status,
			  const char *reason, const char *message)
{
	struct api_condition c = {
		.type = type, .status = status, .reason = reason, .message = message
	};
	job->changed |= api_condition_set(job->conditions, &c, job->now);
}

static const char *message_of(const struct job *job, const char *type)
{
	return api_get_string(api_condition_find(job->dns, type), "message");
}

static void set_available(struct job *job)
{
	if (job->in->dns == NULL)
		set_condition(job, "Available", API_FALSE, absent_reason, absent_text);
	else if (api_condition_status(job->dns, "Available") != API_TRUE)
		set_condition(job, "Available", API_FALSE, "DNSUnavailable",
			      "DNS \"default\" is unavailable.");
	else
		set_condition(job, "Available", API_TRUE, "AsExpected",
			      "DNS \"default\" is available.");
}

/* Pods that an upgrade replaces do not count as degraded. */
static void set_degraded(struct job *job)
{
	CLEANUP(strbuf_done) struct strbuf m = STRBUF_INIT;
	if (job->in->dns == NULL) {
		set_condition(job, "Degraded", API_TRUE, absent_reason, absent_text);
	} else if (!job->versions->upgrading &&
		   api_condition_status(job->dns, "Degraded") == API_TRUE) {
		strbuf_addf(&m, "DNS default is degraded: %s", message_of(job, "Degraded"));
		set_condition(job, "Degraded", API_TRUE, "DNSDegraded", m.s);
	} else {
		set_condition(job, "Degraded", API_FALSE, "DNSNotDegraded", "");
	}
}

static void set_upgradeable(struct job *job)
{
	bool no = api_condition_find(job->dns, "Upgradeable") != NULL &&
		  api_condition_status(job->dns, "Upgradeable") != API_TRUE;
	const char *why = message_of(job, "Upgradeable");
	CLEANUP(strbuf_done) struct strbuf m = STRBUF_INIT;
	strbuf_addf(&m, "DNS default is %supgradeable%s%s", no ? "not " : "",
		    why[0] != '\0' ? ": " : "", why);
	set_condition(job, "Upgradeable", no ? API_FALSE : API_TRUE,
		      no ? "DNSNotUpgradeable" : "DNSUpgradeable", m.s);
}

struct progress {
	enum api_status status;
	struct strbuf reason, message;
};

static void add_progress(struct progress *progress, const char *reason, const char *text,
			 const char *more)
{
	strbuf_addf(&progress->reason, "%s%s", progress->reason.n != 0 ? "And" : "", reason);
	strbuf_addf(&progress->message, "%s%s%s", progress->message.n != 0 ? "\n" : "", text, more);
}

static void add_dns_progress(const struct job *job, struct progress *progress)
{
	const json_t *c = api_condition_find(job->dns, "Progressing");
	enum api_status s = api_condition_status(job->dns, "Progressing");
	const char *why = message_of(job, "Progressing");
	if (job->in->dns == NULL) {
		progress->status = API_TRUE;
		add_progress(progress, absent_reason, absent_text, "");
	} else if (c == NULL) {
		add_progress(progress, "DNSDoesNotReportProgressingStatus",
			     "DNS \"default\" has no condition Progressing.", "");
	} else if (s == API_TRUE) {
		progress->status = API_TRUE;
		add_progress(progress, "DNSReportsProgressingIsTrue",
			     "DNS \"default\" reports Progressing=True: ", why);
	} else if (s == API_UNKNOWN) {
		add_progress(progress, "DNSReportsProgressingIsUnknown",
			     "DNS \"default\" reports Progressing=Unknown: ", why);
	}
}

static void add_upgrades(const struct versions *versions, struct progress *progress)
{
	CLEANUP(strbuf_done) struct strbuf m = STRBUF_INIT;
	for (int i = 0; i < DNSOPERATOR_VERSIONS; i++) {
		if (versions->wanted[i] != NULL &&
		    strcmp(versions->wanted[i], versions->current[i]) != 0)
			strbuf_addf(&m, "%sUpgrading %s to \"%s\".", m.n != 0 ? "\n" : "",
				    version_rows[i].name, versions->wanted[i]);
	}
	if (m.n != 0) {
		progress->status = API_TRUE;
		add_progress(progress, "Upgrading", m.s, "");
	}
}

static void set_progressing(struct job *job)
{
	struct progress p = { API_UNKNOWN, STRBUF_INIT, STRBUF_INIT };
	add_dns_progress(job, &p);
	add_upgrades(job->versions, &p);
	if (p.reason.n != 0)
		set_condition(job, "Progressing", p.status, p.reason.s, p.message.s);
	else
		set_condition(job, "Progressing", API_FALSE, "AsExpected",
			      "Desired and current number of DNSes are equal");
	strbuf_done(&p.reason);
	strbuf_done(&p.message);
}

/* ---- all of it ---- */

/* The objects that `oc adm must-gather` collects. */
static json_t *related_objects(const char *ns)
{
	static const char rbac[] = "rbac.authorization.k8s.io", us[] = "fairlead-dnsoperator";
	return json_pack("[{ss,ss,ss},{ss,ss,ss},{ss,ss,ss},{ss,ss,ss},{ss,ss,ss},"
			 "{ss,ss,ss,ss}]",
			 "group", "", "resource", "namespaces", "name", ns, "group",
			 "operator.openshift.io", "resource", "dnses", "name", "default", "group",
			 rbac, "resource", "clusterroles", "name", us, "group", rbac, "resource",
			 "clusterrolebindings", "name", us, "group", "", "resource", "namespaces",
			 "name", "openshift-dns", "group", "networking.k8s.io", "resource",
			 "networkpolicies", "namespace", "openshift-dns", "name", "");
}

/* Takes it over; true when it was another one. */
static bool replace_member(json_t *left, const char *name, json_t *right)
{
	bool same = json_equal(json_object_get(left, name), right) != 0;
	json_object_set_new(left, name, right);
	return !same;
}

bool dnsoperator_clusteroperator_set(json_t *co, const struct dnsoperator_clusteroperator *in,
				     uint64_t now_wall_ns)
{
	json_t *status = dnsoperator_member(co, "status", json_object);
	struct versions versions;
	struct job j = { .in = in,
			 .versions = &versions,
			 .dns = api_get(in->dns, "status.conditions"),
			 .conditions = dnsoperator_member(status, "conditions", json_array),
			 .now = now_wall_ns };
	compare_versions(co, in, &versions);
	set_degraded(&j);
	set_progressing(&j);
	set_available(&j);
	set_upgradeable(&j);
	json_t *list = versions_list(&versions); /* its strings may be in the old one */
	j.changed |= replace_member(status, "versions", list);
	j.changed |= replace_member(status, "relatedObjects", related_objects(in->ns));
	return j.changed;
}

/* ---- reading and writing ---- */

static int set_status(void *ctx, json_t *copy)
{
	return dnsoperator_clusteroperator_set(copy, ctx, clock_wall_ns());
}

static bool is_settled(const struct kube_obj *obj, const struct dnsoperator_clusteroperator *in)
{
	json_t *copy = json_deep_copy(kube_tree_of(obj));
	bool changed = dnsoperator_clusteroperator_set(copy, in, clock_wall_ns());
	json_decref(copy);
	return !changed;
}

/* 1: there is no such kind. */
static int create_object(struct controller_ctx *ctx, const struct kube_ref *ref)
{
	struct kube_status st = { 0 };
	json_t *o = json_pack("{ss,ss,s{ss},s{}}", "apiVersion", "config.openshift.io/v1", "kind",
			      "ClusterOperator", "metadata", "name", ref->name, "spec");
	int r = kube_create(ctx->conn, ref, o, NULL, &st);
	if (r == ERR_NOTFOUND)
		r = 1;
	else if (r == ERR_DUPLICATE)
		r = 0; /* another writer created it */
	else if (r < 0)
		r = dnsoperator_set_error(ctx, r, "ClusterOperator", &st);
	kube_status_done(&st);
	json_decref(o);
	return r;
}

int dnsoperator_clusteroperator_write(struct controller_ctx *ctx,
				      const struct dnsoperator_clusteroperator *in)
{
	struct kube_ref ref = { .kind = api_kind_find("config.openshift.io", "ClusterOperator"),
				.name = DNSOPERATOR_CLUSTEROPERATOR };
	struct kube_obj *o = kube_store_get(ctx->stores[DNSOPERATOR_WATCH_CLUSTEROPERATOR],
					    SLICE(""), SLICE(DNSOPERATOR_CLUSTEROPERATOR));
	struct kube_status st = { 0 };
	struct dnsoperator_clusteroperator now = *in;
	bool settled = o != NULL && is_settled(o, in);
	int r = o == NULL ? create_object(ctx, &ref) : 0;
	kube_obj_unref(o);
	if (settled || r != 0)
		return r < 0 ? r : 0;
	r = kube_edit(ctx->conn, &ref, "status", set_status, &now, &st);
	if (r == ERR_NOTFOUND)
		r = 0; /* deleted meanwhile: its watch starts another pass */
	else if (r < 0)
		r = dnsoperator_set_error(ctx, r, "status of the ClusterOperator", &st);
	kube_status_done(&st);
	return r < 0 ? r : 0;
}
