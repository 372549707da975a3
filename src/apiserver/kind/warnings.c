/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Warnings with kube-apiserver's wording and in its order. For Pods only those that concern fields
 * which something here reads: names, node labels, variables, host aliases. */
#include "apiserver/kind/warnings.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "api/tree.h"
#include "apiserver/kind/resource.h"
#include "apiserver/kind/service.h"
#include "apiserver/rules/members.h"
#include "base/mem.h"
#include "base/slice.h"

/* ---- Services ---- */

/* Some parsers read numbers with leading zeros as decimal, others as octal. */
static void warn_address(const char *field, const char *text, struct strbuf *out)
{
	CLEANUP(strbuf_done) struct strbuf plain = STRBUF_INIT;
	struct slice rest = slice_of(text);
	for (int i = 0; i < 4; i++) {
		uint64_t number;
		if (slice_u64(slice_cut(&rest, '.'), &number) < 0 || number > 255)
			return;
		strbuf_addf(&plain, "%s%llu", i != 0 ? "." : "", (unsigned long long)number);
	}
	if (rest.n == 0 && strcmp(plain.s, text) != 0)
		strbuf_addf(out, "%s: non-standard IP address \"%s\" is invalid: use \"%s\"\n",
			    field, text, plain.s);
}

static void warn_headless(const json_t *spec, struct strbuf *out)
{
	if (apiserver_has_text(spec, "loadBalancerIP"))
		strbuf_adds(out, "spec.loadBalancerIP is ignored for headless services\n");
	if (json_array_size(json_object_get(spec, "externalIPs")) != 0)
		strbuf_adds(out, "spec.externalIPs is ignored for headless services\n");
	if (!apiserver_is(spec, "sessionAffinity", "None"))
		strbuf_adds(out, "spec.SessionAffinity is ignored for headless services\n");
}

static void warn_service(const json_t *object, struct strbuf *out)
{
	const json_t *spec = json_object_get(object, "spec");
	const bool headless = apiserver_service_is_headless(spec);
	const bool external = json_array_size(json_object_get(spec, "externalIPs")) != 0;
	if (api_annotation(object, "service.kubernetes.io/topology-aware-hints") != NULL)
		strbuf_adds(out, "annotation service.kubernetes.io/topology-aware-hints is "
				 "deprecated, please use service.kubernetes.io/topology-mode "
				 "instead\n");
	if (headless)
		warn_headless(spec, out);
	if (external && apiserver_is(spec, "type", "ExternalName"))
		strbuf_adds(out,
			    "spec.externalIPs is ignored when spec.type is \"ExternalName\"\n");
	else if (external && !headless)
		strbuf_adds(out, "spec.externalIPs is deprecated and may no longer be implemented "
				 "in some clusters\n");
	warn_address("spec.loadBalancerIP", api_get_string(spec, "loadBalancerIP"), out);
}

static void warn_endpointslice(const json_t *object, struct strbuf *out)
{
	if (apiserver_is(object, "addressType", "FQDN"))
		strbuf_adds(out, "spec.addressType: FQDN endpoints are deprecated\n");
}

static void warn_serviceaccount(const json_t *object, struct strbuf *out)
{
	if (api_annotation(object, "kubernetes.io/enforce-mountable-secrets") != NULL)
		strbuf_adds(out,
			    "metadata.annotations[kubernetes.io/enforce-mountable-secrets]: "
			    "deprecated in v1.32+; prefer separate namespaces to isolate access to "
			    "mounted secrets\n");
}

/* ---- Pods ---- */

static void warn_node_labels(const json_t *spec, struct strbuf *out)
{
	static const struct {
		const char *label, *since, *now;
	} rows[] = {
		{ "beta.kubernetes.io/arch", "v1.14", "kubernetes.io/arch" },
		{ "beta.kubernetes.io/os", "v1.14", "kubernetes.io/os" },
		{ "failure-domain.beta.kubernetes.io/region", "v1.17",
		  "topology.kubernetes.io/region" },
		{ "failure-domain.beta.kubernetes.io/zone", "v1.17",
		  "topology.kubernetes.io/zone" },
		{ "beta.kubernetes.io/instance-type", "v1.17", "node.kubernetes.io/instance-type" },
	};
	const json_t *selector = json_object_get(spec, "nodeSelector");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (json_object_get(selector, rows[i].label) != NULL)
			strbuf_addf(out,
				    "spec.nodeSelector[%s]: deprecated since %s; use \"%s\" "
				    "instead\n",
				    rows[i].label, rows[i].since, rows[i].now);
	}
}

/* Repeated environment variables. */
static void warn_variables(const json_t *container, size_t index, struct strbuf *out)
{
	const json_t *env = json_object_get(container, "env");
	json_t *seen = json_object();
	for (size_t i = 0; i < json_array_size(env); i++) {
		const char *name = api_get_string(json_array_get(env, i), "name");
		if (json_object_get(seen, name) != NULL)
			strbuf_addf(out,
				    "spec.containers[%zu].env[%zu]: hides previous definition of "
				    "\"%s\", which may be dropped when using apply\n",
				    index, i, name);
		json_object_set_new(seen, name, json_true());
	}
	json_decref(seen);
}

static void warn_aliases(const json_t *spec, struct strbuf *out)
{
	const json_t *list = json_object_get(spec, "hostAliases");
	json_t *seen = json_object();
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *ip = api_get_string(json_array_get(list, i), "ip");
		if (json_object_get(seen, ip) != NULL)
			strbuf_addf(out, "spec.hostAliases[%zu].ip: duplicate ip \"%s\"\n", i, ip);
		json_object_set_new(seen, ip, json_true());
	}
	json_decref(seen);
}

static void warn_pod(const json_t *object, struct strbuf *out)
{
	const json_t *spec = json_object_get(object, "spec");
	const json_t *containers = json_object_get(spec, "containers");
	if (strchr(api_name(object), '.') != NULL)
		strbuf_adds(out,
			    "metadata.name: this is used in the Pod's hostname, which can result "
			    "in surprising behavior; a DNS label is recommended: [must not contain "
			    "dots]\n");
	warn_node_labels(spec, out);
	warn_aliases(spec, out);
	for (size_t i = 0; i < json_array_size(containers); i++)
		warn_variables(json_array_get(containers, i), i, out);
}

static void warn_ingress(const json_t *object, struct strbuf *out)
{
	if (api_annotation(object, "kubernetes.io/ingress.class") != NULL)
		strbuf_adds(out, "annotation \"kubernetes.io/ingress.class\" is deprecated, please "
				 "use 'spec.ingressClassName' instead\n");
}

/* ---- custom resources ---- */

static bool is_qualified(const char *finalizer)
{
	static const char *const standard[] = { "kubernetes", "orphan", "foregroundDeletion" };
	for (size_t i = 0; i < ARRAY_LEN(standard); i++) {
		if (strcmp(finalizer, standard[i]) == 0)
			return true;
	}
	return strchr(finalizer, '/') != NULL;
}

static int compare_texts(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* A new array of the list's texts, sorted. */
static const char **sort_texts(const json_t *list, size_t *ret_n)
{
	const size_t n = json_array_size(list);
	const char **texts = xcalloc(n + 1, sizeof(*texts));
	for (size_t i = 0; i < n; i++)
		texts[i] = api_text(json_array_get(list, i));
	qsort(texts, n, sizeof(*texts), compare_texts);
	*ret_n = n;
	return texts;
}

/* Finalizers that `old` does not have, in alphabetical order. */
static void warn_finalizers(const json_t *object, const json_t *old, struct strbuf *out)
{
	size_t n, n_old;
	const char **texts = sort_texts(api_get(object, "metadata.finalizers"), &n);
	const char **had =
		sort_texts(old != NULL ? api_get(old, "metadata.finalizers") : NULL, &n_old);
	for (size_t i = 0; i < n; i++) {
		const bool repeated = i > 0 && strcmp(texts[i], texts[i - 1]) == 0;
		if (repeated || is_qualified(texts[i]) ||
		    bsearch(&texts[i], had, n_old, sizeof(*had), compare_texts) != NULL)
			continue;
		strbuf_adds(out, "metadata.finalizers: ");
		strbuf_add_quoted(out, slice_of(texts[i]));
		strbuf_adds(out, ": prefer a domain-qualified finalizer name to avoid accidental "
				 "conflicts with other finalizer writers\n");
	}
	free(texts);
	free(had);
}

void apiserver_warnings(const struct apiserver_resource *resource, const json_t *object,
			const json_t *old, struct strbuf *out)
{
	static const struct {
		const char *kind;
		void (*warn)(const json_t *object, struct strbuf *out);
	} rows[] = {
		{ "Service", warn_service },
		{ "EndpointSlice", warn_endpointslice },
		{ "ServiceAccount", warn_serviceaccount },
		{ "Pod", warn_pod },
		{ "Ingress", warn_ingress },
	};
	if (!resource->built_in)
		warn_finalizers(object, old, out);
	for (size_t i = 0; resource->built_in && i < ARRAY_LEN(rows); i++) {
		if (strcmp(rows[i].kind, resource->kind->kind) == 0)
			rows[i].warn(object, out);
	}
}
