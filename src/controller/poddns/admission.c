/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The web hooks. Only creations are reviewed: a pod's DNS settings cannot be changed later (its
 * annotations can; deploy/policies/poddns.yaml looks at those). Nothing outside the reply is written,
 * so a dry run is no different. */
#include "controller/poddns/admission.h"

#include <stdio.h>
#include <string.h>

#include "api/meta.h"
#include "api/pod_dns.h"
#include "controller/controller.h"
#include "controller/poddns/apply.h"
#include "controller/poddns/check.h"
#include "controller/poddns/view.h"
#include "controller/poddns/watches.h"

enum {
	CODE_FORBIDDEN = 403,
	HOOK_CONFIG_BYTES_MAX = 64 << 10, /* fairlead-hook reads no more */
};

/* Annotations that fairlead-hook reads on the node (docs/oci-hook.md), and the label of namespaces
 * whose pods may have them: name servers that no check of dnsConfig sees. */
#define HOOK_CONFIG  "dns.fairlead.dev/config"
#define HOOK_POLICY  "dns.fairlead.dev/policy"
#define HOOK_PROFILE "dns.fairlead.dev/profile"
#define HOOK_LIBC    "dns.fairlead.dev/libc"
#define HOOK_LABEL   "dns.fairlead.dev/hook-config"
#define HOOK_ALLOWED "allowed"
#define FIELD(key)   "metadata.annotations[" key "]"

static const char *namespace_of(const struct admission_request *req)
{
	return req->ns[0] != '\0' ? req->ns : api_namespace(req->object);
}

/* ---- changes ---- */

static void change_pod(void *ctx, const struct admission_request *req,
		       struct admission_reply *reply)
{
	const char *ns = namespace_of(req);
	struct poddns_view view;
	if (poddns_is_exempt(ctx, ns) || reply->object == NULL)
		return;
	if (!controller_is_synced(ctx, poddns_watches, PODDNS_WATCH_COUNT)) {
		admission_warn(reply,
			       "Pod DNS policies are still being loaded: none was applied to "
			       "this pod.");
		return;
	}
	poddns_view_open(ctx, ns, PODDNS_MAY_BE_OLD, &view);
	if (view.ns == NULL) {
		admission_warn(reply,
			       "Namespace %.60s is not known yet: no DNS policy was applied.", ns);
	} else if (view.policy.set != 0) {
		json_t *changed = poddns_apply_policy(&view, reply->object, reply);
		json_decref(reply->object);
		reply->object = changed;
	}
	poddns_view_close(&view);
}

/* ---- checks of what fairlead-hook would read ---- */

/* NULL with an error if it is no JSON object. */
static json_t *parse_hook_config(const char *text, struct api_errors *errors)
{
	json_error_t error;
	char why[JSON_ERROR_TEXT_LENGTH + 64];
	if (strlen(text) > HOOK_CONFIG_BYTES_MAX) {
		snprintf(why, sizeof(why), "may not be more than %d bytes", HOOK_CONFIG_BYTES_MAX);
		api_errors_add(errors, API_FIELD_TOO_LONG, FIELD(HOOK_CONFIG), NULL, why);
		return NULL;
	}
	json_t *tree = json_loads(text, JSON_REJECT_DUPLICATES, &error);
	if (json_is_object(tree))
		return tree;
	if (tree != NULL)
		snprintf(why, sizeof(why), "must be a JSON object");
	else
		snprintf(why, sizeof(why), "no JSON: line %d, column %d: %s", error.line,
			 error.column, error.text);
	api_errors_add(errors, API_FIELD_INVALID, FIELD(HOOK_CONFIG), NULL, why);
	json_decref(tree);
	return NULL;
}

/* Members that the reader of dnsConfig passes over, and fairlead-hook refuses. `known` ends with
 * NULL. */
static void check_members(const json_t *object, const char *const *known, const char *field,
			  struct api_errors *errors)
{
	const char *key;
	json_t *value;
	json_object_foreach (api_tree(object), key, value) {
		CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
		size_t i = 0;
		while (known[i] != NULL && strcmp(known[i], key) != 0)
			i++;
		if (known[i] != NULL)
			continue;
		strbuf_addf(&path, "%s.%.64s", field, key);
		api_errors_add(errors, API_FIELD_INVALID, path.s, NULL, "is not known");
	}
}

static void check_all_members(const json_t *config, struct api_errors *errors)
{
	static const char *const members[] = { "nameservers", "searches", "options", NULL };
	static const char *const of_options[] = { "name", "value", NULL };
	const json_t *options = json_object_get(config, "options");
	char field[128];
	check_members(config, members, FIELD(HOOK_CONFIG) ".dnsConfig", errors);
	for (size_t i = 0; i < json_array_size(options); i++) {
		snprintf(field, sizeof(field), FIELD(HOOK_CONFIG) ".dnsConfig.options[%zu]", i);
		check_members(json_array_get(options, i), of_options, field, errors);
	}
}

static void refuse_word(struct api_errors *errors, const char *field, const char *word,
			const char *known)
{
	char value[80], detail[80];
	snprintf(value, sizeof(value), "\"%.64s\"", word);
	snprintf(detail, sizeof(detail), "supported values: %s", known);
	api_errors_add(errors, API_FIELD_UNSUPPORTED, field, value, detail);
}

static void read_hook_words(const json_t *pod, enum podresolv_policy *policy,
			    enum podresolv_profile *profile, struct api_errors *errors)
{
	enum podresolv_libc libc;
	const char *word = api_annotation(pod, HOOK_POLICY);
	if (word != NULL && (!podresolv_policy_from(slice_of(word), policy) ||
			     (*policy != PODRESOLV_DEFAULT && *policy != PODRESOLV_NONE)))
		refuse_word(errors, FIELD(HOOK_POLICY), word, "\"Default\", \"None\"");
	word = api_annotation(pod, HOOK_PROFILE);
	if (word != NULL && !podresolv_profile_from(slice_of(word), profile))
		refuse_word(errors, FIELD(HOOK_PROFILE), word,
			    "\"kubelet\", \"seed\", \"libc-safe\"");
	word = api_annotation(pod, HOOK_LIBC);
	if (word != NULL && !podresolv_libc_from(slice_of(word), &libc))
		refuse_word(errors, FIELD(HOOK_LIBC), word, "\"glibc\", \"musl\", \"any\"");
}

/* As fairlead-hook does, and by the namespace's profile as well. */
static void validate_hook_config(const struct poddns_view *view, const json_t *pod, json_t *config,
				 struct api_errors *errors)
{
	enum podresolv_policy policy = PODRESOLV_DEFAULT;
	enum podresolv_profile profile = PODRESOLV_KUBELET;
	read_hook_words(pod, &policy, &profile, errors);
	check_all_members(config, errors);
	if (errors->n != 0)
		return;
	json_t *spec = json_pack("{s:s, s:O}", "dnsPolicy", podresolv_policy_name(policy),
				 "dnsConfig", config);
	api_pod_dns_validate(spec, FIELD(HOOK_CONFIG), profile, errors);
	if (errors->n == 0 && view->policy.profile != profile)
		api_pod_dns_validate(spec, FIELD(HOOK_CONFIG), view->policy.profile, errors);
	json_decref(spec);
}

static void check_hook_config(const struct poddns_view *view, const json_t *pod,
			      struct admission_reply *reply)
{
	struct api_errors errors = { 0 };
	const char *text = api_annotation(pod, HOOK_CONFIG);
	const char *label = api_label(view->ns, HOOK_LABEL);
	if (text == NULL)
		return;
	if (label == NULL || strcmp(label, HOOK_ALLOWED) != 0) {
		admission_refuse(reply,
				 FIELD(HOOK_CONFIG) ": Forbidden: namespace %s has no label "
						    "" HOOK_LABEL "=" HOOK_ALLOWED,
				 api_name(view->ns));
		reply->code = CODE_FORBIDDEN;
		return;
	}
	json_t *config = parse_hook_config(text, &errors);
	if (config != NULL)
		validate_hook_config(view, pod, config, &errors);
	if (errors.n != 0)
		poddns_refuse_errors(&errors, pod, reply);
	json_decref(config);
	api_errors_done(&errors);
}

static void check_pod(void *ctx, const struct admission_request *req, struct admission_reply *reply)
{
	const char *ns = namespace_of(req);
	struct poddns_view view;
	if (poddns_is_exempt(ctx, ns) || req->object == NULL ||
	    !json_is_object(json_object_get(req->object, "spec")) ||
	    !controller_is_synced(ctx, poddns_watches, PODDNS_WATCH_COUNT))
		return;
	poddns_view_open(ctx, ns, PODDNS_MAY_BE_OLD, &view);
	if (view.ns != NULL && !view.is_opted_out)
		check_hook_config(&view, req->object, reply);
	if (view.ns != NULL && !view.is_opted_out && reply->allowed)
		poddns_check_spec(&view, req->object, reply);
	poddns_view_close(&view);
}

#define HOOK_NAME "pods.poddns.fairlead.dev"

const struct admission_hook poddns_admission_hooks[PODDNS_ADMISSION_HOOKS] = {
	{ ADMISSION_MUTATE, HOOK_NAME, "", "Pod", ADMISSION_CREATE, .review = change_pod },
	{ ADMISSION_VALIDATE, HOOK_NAME, "", "Pod", ADMISSION_CREATE, .review = check_pod },
};
