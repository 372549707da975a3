/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tries less and less of a policy until the profile accepts the pod. */
#include "controller/poddns/apply.h"

#include "controller/poddns/change.h"
#include "controller/poddns/check.h"
#include "controller/poddns/view.h"
#include "kube/webhook/admission.h"

static bool is_refused(const struct poddns_view *view, const json_t *pod)
{
	struct admission_reply reply = { .allowed = true, .warnings = json_array() };
	strbuf_init(&reply.message);
	poddns_check_spec(view, pod, &reply);
	bool refused = !reply.allowed;
	admission_reply_done(&reply);
	return refused;
}

/* The pod with these fields of the policy; warnings are added to the array. */
static json_t *change_copy(const struct poddns_view *view, const struct poddns_policy *policy,
			   const json_t *pod, json_t *warnings)
{
	struct admission_reply reply = { .allowed = true, .warnings = warnings };
	json_t *copy = json_deep_copy(pod);
	poddns_change_pod(&(struct poddns_change_input){ view->ns, policy, &view->cluster }, copy,
			  &reply);
	return copy;
}

json_t *poddns_apply_policy(const struct poddns_view *view, const json_t *pod,
			    struct admission_reply *reply)
{
	json_t *warnings = json_array();
	json_t *changed = change_copy(view, &view->policy, pod, warnings);
	/* kubelet's limits are kept where the policy is applied */
	bool is_bad = view->policy.profile != PODRESOLV_KUBELET && is_refused(view, changed) &&
		      !is_refused(view, pod);
	if (is_bad) {
		struct poddns_policy less = view->policy;
		const char *word = view->policy.profile == PODRESOLV_SEED ? "seed" : "libc-safe";
		less.n_add = 0;
		json_array_clear(warnings);
		json_decref(changed);
		changed = change_copy(view, &less, pod, warnings);
		is_bad = is_refused(view, changed);
		admission_warn(reply,
			       "%s not applied: the profile %s would refuse the pod with it.",
			       is_bad ? "The DNS policy was" : "add-searches was", word);
	}
	if (is_bad) {
		json_decref(changed);
		changed = json_deep_copy(pod);
	} else {
		json_array_extend(reply->warnings, warnings);
	}
	json_decref(warnings);
	return changed;
}
