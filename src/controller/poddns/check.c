/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the DNS settings of a pod by the profile of its namespace. */
#include "controller/poddns/check.h"

#include <string.h>

#include "api/meta.h"
#include "api/pod_dns.h"
#include "controller/poddns/view.h"
#include "kube/webhook/admission.h"

enum { CODE_INVALID = 422 };

/* Warnings are short: a longer one is split between words. */
static void warn_wrapped(struct admission_reply *reply, struct slice text)
{
	while (text.n > ADMISSION_WARNING_MAX) {
		size_t n = ADMISSION_WARNING_MAX;
		while (n > 0 && text.p[n] != ' ')
			n--;
		if (n == 0)
			break;
		admission_warn(reply, "%.*s", (int)n, text.p);
		text = slice_from(text, n + 1);
	}
	admission_warn(reply, "%.*s", (int)text.n, text.p);
}

/* What the profile does not accept. Nodes do not know libc-safe, so the search list that it refuses is
 * the one that they would write. */
static bool is_refusal(const struct podresolv_finding *finding, enum podresolv_profile profile)
{
	return finding->severity == PODRESOLV_REFUSAL ||
	       (profile == PODRESOLV_LIBC_SAFE &&
		strcmp(finding->reason, "musl-search-length") == 0);
}

static void report_finding(const struct podresolv_finding *finding, enum podresolv_profile profile,
			   struct admission_reply *reply)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	if (finding->field[0] != '\0')
		strbuf_addf(&text, "%s: ", finding->field);
	strbuf_adds(&text, finding->message);
	if (is_refusal(finding, profile)) {
		admission_refuse(reply, "%s", text.s);
		reply->code = CODE_INVALID;
	} else {
		warn_wrapped(reply, strbuf_slice(&text));
	}
}

static bool is_cluster_server(const struct poddns_view *view, struct slice text)
{
	for (size_t i = 0; i < view->cluster.n_servers; i++) {
		if (slice_is(text, view->cluster.server[i]))
			return true;
	}
	return false;
}

/* The pod's settings with the cluster's servers as one: they know the same names, which is what
 * lints about several servers are about. */
static const struct podresolv_config *join_servers(const struct poddns_view *view,
						   const struct podresolv_config *config,
						   struct arena *arena)
{
	struct podresolv_config *joined = arena_memdup(arena, config, sizeof(*config));
	bool has_cluster = false;
	joined->nameservers =
		arena_alloc(arena, (config->n_nameservers + 1) * sizeof(struct slice));
	joined->n_nameservers = 0;
	for (size_t i = 0; i < config->n_nameservers; i++) {
		bool is_cluster = is_cluster_server(view, config->nameservers[i]);
		if (!is_cluster || !has_cluster)
			joined->nameservers[joined->n_nameservers++] = config->nameservers[i];
		has_cluster = has_cluster || is_cluster;
	}
	return joined;
}

/* What is written into the pod's file, as far as it is known here: without the node's part. */
static void lint_pod(const struct poddns_view *view, struct podresolv_input *input,
		     struct arena *arena, struct admission_reply *reply)
{
	static const struct podresolv_config no_host;
	const struct poddns_cluster *cluster = &view->cluster;
	struct slice server = slice_of(cluster->n_servers != 0 ? cluster->server[0] : "10.96.0.10");
	struct podresolv_result result;
	char err[200];
	input->config = join_servers(view, input->config, arena);
	input->host = &no_host;
	input->cluster_dns = &server;
	input->n_cluster_dns = 1;
	input->cluster_domain =
		slice_of(cluster->domain[0] != '\0' ? cluster->domain : "cluster.local");
	input->profile =
		view->policy.profile == PODRESOLV_SEED ? PODRESOLV_SEED : PODRESOLV_KUBELET;
	if (podresolv_compute(input, arena, &result, ERR_TEXT(err)) < 0)
		return;
	for (size_t i = 0; i < result.n_findings && reply->allowed; i++)
		report_finding(&result.findings[i], view->policy.profile, reply);
}

void poddns_refuse_errors(const struct api_errors *errors, const json_t *pod,
			  struct admission_reply *reply)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	api_errors_text(errors, "Pod", api_name(pod), &text);
	admission_refuse(reply, "%s", text.s);
	reply->code = CODE_INVALID;
}

void poddns_check_spec(const struct poddns_view *view, const json_t *pod,
		       struct admission_reply *reply)
{
	const char *field;
	const json_t *spec = api_pod_spec(pod, &field);
	struct podresolv_input input = { .ns = slice_of(api_name(view->ns)) };
	struct slice policy;
	struct api_errors errors = { 0 };
	struct arena arena;
	arena_init(&arena);
	api_pod_dns_read(spec, field, &arena, &input, &policy, &errors);
	if (errors.n == 0)
		api_pod_dns_validate(spec, field, view->policy.profile, &errors);
	if (errors.n != 0) {
		poddns_refuse_errors(&errors, pod, reply);
	} else if (input.config != NULL) {
		/* a pod without settings of its own has the cluster's defaults, which need no lints */
		lint_pod(view, &input, &arena, reply);
	}
	api_errors_done(&errors);
	arena_done(&arena);
}
