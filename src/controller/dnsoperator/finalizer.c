/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The finalizer that OpenShift's operator puts on the DNS object, handled as it does: where the
 * operands are ours it is added, and when the object is deleted, the servers' DaemonSet and the
 * Service default/openshift are deleted before it is removed. The status of an object that others
 * still hold reports that it is being deleted. */
#include "controller/dnsoperator/finalizer.h"

#include <string.h>

#include "api/kind.h"
#include "api/meta.h"
#include "api/tree.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "controller/dnsoperator/gather.h"
#include "controller/dnsoperator/operands/apply.h"
#include "controller/dnsoperator/operands/manifests.h"
#include "controller/dnsoperator/plan/configmap_objects.h"
#include "controller/dnsoperator/rival_operator.h"
#include "controller/dnsoperator/status/report.h"
#include "controller/shared/finalizer.h"
#include "kube/decode/tree.h"

#define FINALIZER "dns.operator.openshift.io/dns-controller"

static bool is_unmanaged(const json_t *dns)
{
	return strcmp(api_get_string(dns, "spec.managementState"), "Unmanaged") == 0;
}

/* Where the operands of OpenShift are ours: elsewhere nothing has to be deleted with the object. */
static bool needs_finalizer(const struct dnsoperator_pass *pass)
{
	return pass->facts.platform == DNSOPERATOR_OPENSHIFT && dnsoperator_operands_wanted(pass);
}

/* ---- adding and removing ---- */

static struct kube_ref dns_ref(void)
{
	return (struct kube_ref){ .kind = api_kind_find("operator.openshift.io", "DNS"),
				  .name = DNSOPERATOR_DNS_NAME };
}

/* The result of a call about the object; 1: it is gone meanwhile, or going. Releases `st`. */
static int end_call(struct dnsoperator_pass *pass, int ret, const char *what,
		    struct kube_status *st)
{
	if (ret == ERR_NOTFOUND || ret == ERR_GONE)
		ret = 1;
	else if (ret < 0)
		ret = dnsoperator_set_error(pass->ctx, ret, what, st);
	else
		ret = 0;
	kube_status_done(st);
	return ret;
}

static int change_finalizer(struct dnsoperator_pass *pass,
			    int (*change)(struct kube_conn *conn, const struct kube_ref *ref,
					  const char *finalizer, struct kube_status *reterr))
{
	struct kube_ref ref = dns_ref();
	struct kube_status st = { 0 };
	ref.uid = api_uid(kube_tree_of(pass->dns));
	int r = change(pass->ctx->conn, &ref, FINALIZER, &st);
	return end_call(pass, r, "finalizer of DNS default", &st);
}

int dnsoperator_finalizer_ensure(struct dnsoperator_pass *pass)
{
	if (!needs_finalizer(pass) || api_has_finalizer(kube_tree_of(pass->dns), FINALIZER))
		return 0;
	return change_finalizer(pass, finalizer_add);
}

/* ---- deletion ---- */

static int delete_operands(struct dnsoperator_pass *pass)
{
	static const struct {
		const char *group, *kind, *ns, *name;
	} operands[] = {
		{ "", "Service", "default", "openshift" },
		{ "apps", "DaemonSet", DNSOPERATOR_OPENSHIFT_NS, "dns-default" },
	};
	int first = 0;
	for (size_t i = 0; i < ARRAY_LEN(operands); i++) {
		struct kube_ref ref = { .kind = api_kind_find(operands[i].group, operands[i].kind),
					.ns = operands[i].ns,
					.name = operands[i].name };
		struct kube_status st = { 0 };
		int r = kube_delete(pass->ctx->conn, &ref, &(struct kube_delete_opts){ 0 }, &st);
		if (r < 0 && r != ERR_NOTFOUND && first == 0)
			first = dnsoperator_set_error(pass->ctx, r, ref.name, &st);
		kube_status_done(&st);
	}
	return first;
}

static int release_dns(struct dnsoperator_pass *pass, const json_t *dns)
{
	int r = 0;
	if (is_unmanaged(dns) || !api_has_finalizer(dns, FINALIZER))
		return 0; /* as OpenShift's operator: it acts on nothing that is not managed */
	if (needs_finalizer(pass))
		r = delete_operands(pass);
	if (r == 0)
		r = change_finalizer(pass, finalizer_remove);
	return r < 0 ? r : 0;
}

/* ---- status ---- */

static void add_holders(struct strbuf *message, const json_t *dns)
{
	json_t *name;
	size_t i, n = 0;
	json_array_foreach (api_get(dns, "metadata.finalizers"), i, name) {
		const char *text = api_text(name);
		if (text[0] == '\0' || (strcmp(text, FINALIZER) == 0 && !is_unmanaged(dns)))
			continue;
		strbuf_addf(message, "%s%s", n++ == 0 ? " It waits for these finalizers: " : ", ",
			    text);
	}
	strbuf_adds(message, n != 0 ? "." : "");
	if (is_unmanaged(dns) && api_has_finalizer(dns, FINALIZER))
		strbuf_adds(message,
			    " " FINALIZER " stays as long as spec.managementState is Unmanaged; "
			    "set it to Managed to let the object go.");
}

/* The CRD requires them in any status; an object may be deleted before it has got one. */
static void fill_required(json_t *status)
{
	static const char *const members[] = { "clusterDomain", "clusterIP" };
	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		if (json_object_get(status, members[i]) == NULL)
			json_object_set_new(status, members[i], json_string(""));
	}
}

static int set_terminating(void *ctx, json_t *copy)
{
	static const struct {
		const char *type, *message;
		enum api_status status;
	} rows[] = {
		{ "TemplateConfigurationApplied", "nothing is applied", API_UNKNOWN },
		{ "Progressing", "it is not reconciled", API_TRUE },
	};
	json_t *status = dnsoperator_member(copy, "status", json_object);
	json_t *conditions = dnsoperator_member(status, "conditions", json_array);
	/* Only where conditions have it already: a CRD that drops it would be written for ever. */
	struct dnsoperator_observed g = dnsoperator_observed_of(copy, api_generation(copy));
	bool *ret_changed = ctx;
	*ret_changed = false;
	fill_required(status);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct strbuf m = STRBUF_INIT;
		strbuf_addf(&m, "DNS " DNSOPERATOR_DNS_NAME " is being deleted since %s, so %s.",
			    api_get_string(copy, "metadata.deletionTimestamp"), rows[i].message);
		add_holders(&m, copy);
		struct dnsoperator_condition c = { rows[i].type, rows[i].status, "Terminating",
						   strbuf_take(&m) };
		*ret_changed |= dnsoperator_conditions_set(conditions, &c, 1, &g, clock_wall_ns());
		free(c.message);
	}
	return *ret_changed;
}

static int write_terminating(struct dnsoperator_pass *pass, bool *ret_changed)
{
	const struct kube_ref ref = dns_ref();
	struct kube_status st = { 0 };
	int r = kube_edit(pass->ctx->conn, &ref, "status", set_terminating, ret_changed, &st);
	return end_call(pass, r, "status", &st);
}

static int report_terminating(struct dnsoperator_pass *pass, const json_t *dns)
{
	json_t *copy = json_deep_copy(dns);
	bool changed = false;
	int r = dnsoperator_report_read(pass), wrote = 0;
	IGNORE(set_terminating(&changed, copy)); /* of the copy */
	if (changed)
		wrote = write_terminating(pass, &changed);
	if (changed && wrote >= 0)
		dnsoperator_emit_event(
			pass, true, "Terminating", "Delete",
			api_get_string(api_condition_find(api_get(copy, "status.conditions"),
							  "Progressing"),
				       "message"));
	if (r >= 0)
		r = dnsoperator_report_publish(pass, copy);
	dnsoperator_report_done(pass);
	json_decref(copy);
	return wrote < 0 ? wrote : r;
}

static bool is_held(const json_t *dns)
{
	json_t *name;
	size_t i;
	json_array_foreach (api_get(dns, "metadata.finalizers"), i, name) {
		if (is_unmanaged(dns) || strcmp(api_text(name), FINALIZER) != 0)
			return true;
	}
	return false;
}

int dnsoperator_terminate(struct dnsoperator_pass *pass)
{
	const json_t *dns = kube_tree_of(pass->dns);
	int r = dnsoperator_rival_check(pass), reported = 0;
	if (r == 0)
		r = dnsoperator_find_microshift(pass);
	if (r == 0)
		r = dnsoperator_gather_facts(pass);
	if (r != 0)
		return r < 0 ? r : 0;
	r = release_dns(pass, dns);
	if (r < 0 || is_held(dns))
		reported = report_terminating(pass, dns);
	return r < 0 ? r : reported;
}
