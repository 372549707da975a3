/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reviews: a client asks what it may do, or who it is. The answer is returned and not stored. */
#include <string.h>

#include "api/meta.h"
#include "apiserver/kind/resource.h"
#include "apiserver/kind/strategy.h"
#include "apiserver/rules/field_errors.h"

/* Asks the authorizer; without one nothing is allowed. */
static bool is_allowed(const struct apiserver_env *env, const char *user,
		       const struct apiserver_action *action)
{
	return env->may != NULL && env->may(env->ctx, user, action);
}

/* ---- SelfSubjectAccessReview ---- */

static void check_access(const struct apiserver_env *env, const json_t *object, const json_t *old,
			 struct api_errors *errs)
{
	const json_t *resource = api_get(object, "spec.resourceAttributes");
	const json_t *path = api_get(object, "spec.nonResourceAttributes");
	(void)env, (void)old;
	if ((resource != NULL) == (path != NULL)) {
		/* The error shows the field names of the Go type. */
		json_t *shown = path == NULL
					? json_null()
					: json_pack("{ss,ss}", "Path", api_get_string(path, "path"),
						    "Verb", api_get_string(path, "verb"));
		apiserver_add_invalid(
			errs, "spec", shown,
			"exactly one of nonResourceAttributes or resourceAttributes must "
			"be specified");
		json_decref(shown);
	}
	if (json_object_size(json_object_get(object, "metadata")) != 0)
		apiserver_add_invalid(errs, "metadata", json_object_get(object, "metadata"),
				      "must be empty");
}

static void review_access(const struct apiserver_env *env, json_t *object, const char *user)
{
	const json_t *r = api_get(object, "spec.resourceAttributes");
	const json_t *p = api_get(object, "spec.nonResourceAttributes");
	const struct apiserver_action a = {
		.verb = api_get_string(r != NULL ? r : p, "verb"),
		.group = api_get_string(r, "group"),
		.resource = api_get_string(r, "resource"),
		.subresource = api_get_string(r, "subresource"),
		.ns = api_get_string(r, "namespace"),
		.name = api_get_string(r, "name"),
		.path = api_get_string(p, "path"),
	};
	json_object_set_new(object, "status",
			    json_pack("{sb}", "allowed", is_allowed(env, user, &a)));
}

/* ---- SelfSubjectRulesReview ---- */

static const struct {
	const char *name;
	unsigned verb;
} verbs[] = {
	{ "get", APISERVER_GET },	{ "list", APISERVER_LIST },
	{ "watch", APISERVER_WATCH },	{ "create", APISERVER_CREATE },
	{ "update", APISERVER_UPDATE }, { "patch", APISERVER_PATCH },
	{ "delete", APISERVER_DELETE }, { "deletecollection", APISERVER_DELETECOLLECTION },
};

struct subject {
	const struct apiserver_env *env;
	const char *user, *ns;
};

/* A new array of the verbs that are allowed; NULL: none. */
static json_t *list_allowed_verbs(const struct subject *subject,
				  const struct apiserver_resource *resource, const char *sub)
{
	json_t *list = json_array();
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
		const struct apiserver_action a = {
			.verb = verbs[i].name,
			.group = resource->kind->group,
			.resource = resource->kind->plural,
			.subresource = sub,
			.ns = resource->kind->namespaced ? subject->ns : "",
			.name = "",
			.path = "",
		};
		if ((resource->verbs & verbs[i].verb) != 0 &&
		    is_allowed(subject->env, subject->user, &a))
			json_array_append_new(list, json_string(verbs[i].name));
	}
	if (json_array_size(list) != 0)
		return list;
	json_decref(list);
	return NULL;
}

/* Appends a rule, or extends the last one if that allows the same verbs in the same group. Takes
 * ownership of `resource` and `allowed_verbs`. */
static void add_rule(json_t *rules, const char *group, json_t *resource, json_t *allowed_verbs)
{
	size_t n = json_array_size(rules);
	json_t *last = n != 0 ? json_array_get(rules, n - 1) : NULL;
	if (last != NULL && json_equal(json_object_get(last, "verbs"), allowed_verbs) &&
	    strcmp(api_get_string(last, "apiGroups[0]"), group) == 0) {
		json_array_append_new(json_object_get(last, "resources"), resource);
		json_decref(allowed_verbs);
		return;
	}
	json_array_append_new(rules, json_pack("{so,s[s],s[o]}", "verbs", allowed_verbs,
					       "apiGroups", group, "resources", resource));
}

static void add_resource(const struct subject *subject, const struct apiserver_resource *resource,
			 json_t *rules)
{
	json_t *list = list_allowed_verbs(subject, resource, "");
	if (list != NULL)
		add_rule(rules, resource->kind->group, json_string(resource->kind->plural), list);
	list = resource->status ? list_allowed_verbs(subject, resource, "status") : NULL;
	if (list != NULL)
		add_rule(rules, resource->kind->group,
			 json_pack("s+", resource->kind->plural, "/status"), list);
}

static void review_rules(const struct apiserver_env *env, json_t *object, const char *user)
{
	const struct subject q = { env, user, api_get_string(object, "spec.namespace") };
	json_t *rules = json_array();
	size_t n;
	const struct apiserver_resource *const *rows = apiserver_resources(&n);
	for (size_t i = 0; i < n; i++) {
		if (rows[i]->stored == rows[i] || rows[i]->stored->kind != rows[i]->kind)
			add_resource(&q, rows[i], rules); /* once for all versions */
	}
	json_object_set_new(object, "status",
			    json_pack("{so,s[{s[s],s[s]}],sb}", "resourceRules", rules,
				      "nonResourceRules", "verbs", "get", "nonResourceURLs", "*",
				      "incomplete", 0));
}

/* ---- SelfSubjectReview ---- */

static void review_self(const struct apiserver_env *env, json_t *object, const char *user)
{
	json_t *info = json_pack("{ss,s[]}", "username", user, "groups");
	for (size_t i = 0; env->groups != NULL && env->groups[i] != NULL; i++)
		json_array_append_new(json_object_get(info, "groups"), json_string(env->groups[i]));
	json_object_set_new(object, "status", json_pack("{so}", "userInfo", info));
}

const struct apiserver_strategy apiserver_access_review_strategy = {
	.kind = "SelfSubjectAccessReview",
	.group = "authorization.k8s.io",
	.validate = check_access,
	.review = review_access,
};

const struct apiserver_strategy apiserver_rules_review_strategy = {
	.kind = "SelfSubjectRulesReview",
	.group = "authorization.k8s.io",
	.review = review_rules,
};

const struct apiserver_strategy apiserver_self_review_strategy = {
	.kind = "SelfSubjectReview",
	.group = "authentication.k8s.io",
	.review = review_self,
};
