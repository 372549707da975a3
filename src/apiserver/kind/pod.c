/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pod: defaults and validation of the fields that `kubectl describe` and resolvers read; all others
 * are stored unchanged. */
#include <string.h>

#include "api/meta.h"
#include "api/pod_dns.h"
#include "api/tree.h"
#include "api/tree_copy.h"
#include "apiserver/kind/strategy.h"
#include "apiserver/kind/table_cells_pod.h"
#include "apiserver/rules/field_errors.h"
#include "apiserver/rules/members.h"
#include "apiserver/rules/name_rules.h"
#include "base/map.h"
#include "base/slice.h"

/* ---- defaults ---- */

/* True if the image's tag is `latest`, or missing, which means the same. */
static bool is_latest(const char *image)
{
	const char *name = strrchr(image, '/');
	name = name != NULL ? name + 1 : image;
	const char *tag = strchr(name, ':');
	if (strchr(name, '@') != NULL)
		return false;
	return tag == NULL || strcmp(tag, ":latest") == 0;
}

static void default_requests(json_t *resources)
{
	json_t *limits = json_object_get(resources, "limits"), *value;
	const char *key;
	json_object_foreach (limits, key, value)
		apiserver_set_default(apiserver_make_member(resources, "requests"), key,
				      api_tree_copy(value));
}

static void prepare_container(json_t *container)
{
	json_t *ports = json_object_get(container, "ports"), *port;
	size_t i;
	apiserver_set_default(container, "imagePullPolicy",
			      json_string(is_latest(api_get_string(container, "image"))
						  ? "Always"
						  : "IfNotPresent"));
	apiserver_set_default(container, "terminationMessagePath",
			      json_string("/dev/termination-log"));
	apiserver_set_default(container, "terminationMessagePolicy", json_string("File"));
	default_requests(apiserver_make_member(container, "resources"));
	json_array_foreach (ports, i, port)
		apiserver_set_default(port, "protocol", json_string("TCP"));
}

static void default_toleration(json_t *spec, const char *key)
{
	json_t *list = json_object_get(spec, "tolerations"), *t;
	size_t i;
	json_array_foreach (list, i, t) {
		if (apiserver_is(t, "key", key) ||
		    (!apiserver_has_text(t, "key") && apiserver_is(t, "operator", "Exists")))
			return;
	}
	apiserver_set_default(spec, "tolerations", json_array());
	json_array_append_new(json_object_get(spec, "tolerations"),
			      json_pack("{ss,ss,ss,si}", "key", key, "operator", "Exists", "effect",
					"NoExecute", "tolerationSeconds", 300));
}

static void prepare_spec(json_t *spec, bool is_new)
{
	static const char *const lists[] = { "containers", "initContainers" };
	json_t *c;
	size_t i;
	for (size_t k = 0; k < ARRAY_LEN(lists); k++) {
		json_array_foreach (json_object_get(spec, lists[k]), i, c)
			prepare_container(c);
	}
	if (!apiserver_has_text(spec, "serviceAccountName") &&
	    apiserver_has_text(spec, "serviceAccount"))
		json_object_set(spec, "serviceAccountName",
				json_object_get(spec, "serviceAccount"));
	if (apiserver_has_text(spec, "serviceAccountName"))
		json_object_set(spec, "serviceAccount",
				json_object_get(spec, "serviceAccountName"));
	if (!apiserver_has_text(spec, "dnsPolicy"))
		json_object_set_new(spec, "dnsPolicy", json_string("ClusterFirst"));
	apiserver_set_default(spec, "restartPolicy", json_string("Always"));
	apiserver_set_default(spec, "securityContext", json_object());
	apiserver_set_default(spec, "terminationGracePeriodSeconds", json_integer(30));
	apiserver_set_default(spec, "schedulerName", json_string("default-scheduler"));
	apiserver_set_default(spec, "enableServiceLinks", json_true());
	if (!is_new)
		return;
	apiserver_set_default(spec, "priority", json_integer(0));
	apiserver_set_default(spec, "preemptionPolicy", json_string("PreemptLowerPriority"));
	default_toleration(spec, "node.kubernetes.io/not-ready");
	default_toleration(spec, "node.kubernetes.io/unreachable");
}

/* ---- quality of service, by the resources of the containers ---- */

struct resource_use {
	bool any, all_limited;
};

static void add_resources(const json_t *container, struct resource_use *ret)
{
	static const char *const names[] = { "cpu", "memory" };
	const json_t *limits = api_get(container, "resources.limits");
	const json_t *requests = api_get(container, "resources.requests");
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const json_t *most = json_object_get(limits, names[i]);
		const json_t *least = json_object_get(requests, names[i]);
		ret->any |= most != NULL || least != NULL;
		ret->all_limited &= most != NULL && least != NULL && json_equal(most, least) != 0;
	}
}

static const char *qos_class_of(const json_t *spec)
{
	static const char *const lists[] = { "containers", "initContainers" };
	struct resource_use use = { .all_limited = true };
	for (size_t k = 0; k < ARRAY_LEN(lists); k++) {
		const json_t *list = json_object_get(spec, lists[k]);
		for (size_t i = 0; i < json_array_size(list); i++)
			add_resources(json_array_get(list, i), &use);
	}
	if (!use.any)
		return "BestEffort";
	return use.all_limited ? "Guaranteed" : "Burstable";
}

/* An update that omits the fields which admission set keeps them. */
static void keep_admitted(json_t *spec, const json_t *old)
{
	static const char *const fields[] = { "priority", "preemptionPolicy", "tolerations",
					      "nodeName" };
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		json_t *was = json_object_get(old, fields[i]);
		if (was != NULL)
			apiserver_set_default(spec, fields[i], api_tree_copy(was));
	}
}

static void prepare_pod(const struct apiserver_env *env, json_t *object, const json_t *old)
{
	json_t *spec = apiserver_make_member(object, "spec");
	(void)env;
	if (old != NULL) {
		keep_admitted(spec, json_object_get(old, "spec"));
		apiserver_copy_old(object, old, "status");
		prepare_spec(spec, false);
		return;
	}
	prepare_spec(spec, true);
	json_object_set_new(
		object, "status",
		json_pack("{ss,ss}", "phase", "Pending", "qosClass", qos_class_of(spec)));
}

/* The QoS class never changes; podIP is the first of podIPs. */
static void prepare_status(json_t *object, const json_t *old)
{
	json_t *status = apiserver_make_member(object, "status"),
	       *one = json_object_get(status, "podIP");
	json_t *class = api_get(old, "status.qosClass");
	json_t *first = api_get(status, "podIPs[0].ip");
	if (class != NULL)
		apiserver_set_default(status, "qosClass", json_incref(class));
	if (first != NULL)
		json_object_set(status, "podIP", first);
	else if (one != NULL)
		json_object_set_new(status, "podIPs", json_pack("[{sO}]", "ip", one));
}

/* ---- validation ---- */

static void check_container(const json_t *list, size_t index, const char *where, struct map *names,
			    struct api_errors *errs)
{
	static const char *const policies[] = { "Always", "IfNotPresent", "Never", NULL };
	const json_t *c = json_array_get(list, index), *image = json_object_get(c, "image");
	const char *name = api_get_string(c, "name");
	struct slice text = slice_of(api_get_string(c, "image"));
	struct apiserver_path p;
	apiserver_format_path(&p, "spec.%s[%zu].name", where, index);
	if (name[0] == '\0')
		apiserver_add_required(errs, p.s, "");
	else
		apiserver_check_label(&(struct apiserver_field){ errs, p.s, NULL }, name);
	if (name[0] != '\0' && map_set(names, slice_of(name), names) != NULL)
		apiserver_add_duplicate(errs, p.s, json_object_get(c, "name"));
	apiserver_format_path(&p, "spec.%s[%zu].image", where, index);
	if (text.n == 0)
		apiserver_add_required(errs, p.s, "");
	else if (slice_trim(text).n != text.n)
		apiserver_add_invalid(errs, p.s, image,
				      "must not have leading or trailing whitespace");
	apiserver_check_one_of(
		errs, apiserver_format_path(&p, "spec.%s[%zu].imagePullPolicy", where, index),
		api_get_string(c, "imagePullPolicy"), policies);
}

/* DNS settings of a stored Pod never change, and one that an older version stored may have some that
 * are refused today: its labels, finalizers and status can still be written. */
static bool has_same_dns(const json_t *spec, const json_t *old)
{
	static const char *const fields[] = { "dnsPolicy", "dnsConfig" };
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		const json_t *now = json_object_get(spec, fields[i]);
		const json_t *was = json_object_get(old, fields[i]);
		if (now != was && !json_equal(now, was))
			return false;
	}
	return old != NULL;
}

static void check_spec(const json_t *spec, const json_t *old, struct api_errors *errs)
{
	static const char *const restart[] = { "Always", "OnFailure", "Never", NULL };
	static const char *const lists[] = { "containers", "initContainers" };
	static const char *const labels[] = { "hostname", "subdomain" };
	struct apiserver_path p;
	if (json_array_size(json_object_get(spec, "containers")) == 0)
		apiserver_add_required(errs, "spec.containers", "");
	for (size_t k = 0; k < ARRAY_LEN(lists); k++) {
		const json_t *list = json_object_get(spec, lists[k]);
		struct map names;
		map_init(&names);
		for (size_t i = 0; i < json_array_size(list); i++)
			check_container(list, i, lists[k], &names, errs);
		map_done(&names);
	}
	apiserver_check_one_of(errs, "spec.restartPolicy", api_get_string(spec, "restartPolicy"),
			       restart);
	if (!has_same_dns(spec, old))
		api_pod_dns_validate(spec, "spec", PODRESOLV_KUBELET, errs);
	for (size_t k = 0; k < ARRAY_LEN(labels); k++) {
		apiserver_format_path(&p, "spec.%s", labels[k]);
		if (apiserver_has_text(spec, labels[k]))
			apiserver_check_label(&(struct apiserver_field){ errs, p.s, NULL },
					      api_get_string(spec, labels[k]));
	}
}

/* A copy of the spec without the fields that may change. */
static json_t *fixed_part(const json_t *object)
{
	static const char *const lists[] = { "containers", "initContainers" };
	static const char *const free_fields[] = { "activeDeadlineSeconds", "tolerations",
						   "terminationGracePeriodSeconds",
						   "ephemeralContainers" };
	json_t *spec = api_tree_copy(json_object_get(object, "spec")), *c;
	size_t i;
	for (size_t k = 0; k < ARRAY_LEN(lists); k++) {
		json_array_foreach (json_object_get(spec, lists[k]), i, c)
			json_object_del(c, "image");
	}
	for (size_t k = 0; k < ARRAY_LEN(free_fields); k++)
		json_object_del(spec, free_fields[k]);
	return spec;
}

static void check_update(const json_t *object, const json_t *old, struct api_errors *errs)
{
	json_t *now = fixed_part(object), *was = fixed_part(old);
	if (!json_equal(now, was))
		apiserver_add_forbidden(
			errs, "spec",
			"pod updates may not change fields other than `spec.containers[*].image`,"
			"`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
			"`spec.tolerations` (only additions to existing tolerations),"
			"`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was "
			"previously negative)");
	json_decref(now);
	json_decref(was);
}

static void validate_pod(const struct apiserver_env *env, const json_t *object, const json_t *old,
			 struct api_errors *errs)
{
	(void)env;
	check_spec(json_object_get(object, "spec"), json_object_get(old, "spec"), errs);
	if (old != NULL)
		check_update(object, old, errs);
}

const struct apiserver_strategy apiserver_pod_strategy = {
	.kind = "Pod",
	.group = "",
	.prepare = prepare_pod,
	.prepare_status = prepare_status,
	.validate = validate_pod,
	.cells = apiserver_cells_pod,
};
