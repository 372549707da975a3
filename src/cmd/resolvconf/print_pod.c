/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Output of `fairlead resolvconf`: the file, or a complete dnsConfig as YAML or JSON; findings. */
#include "cmd/resolvconf/print_pod.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "api/pod_dns.h"
#include "api/yaml/yaml_write.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "cmd/resolvconf/write_file.h"

static const char *const form_words[] = {
	[PRINT_RESOLV] = "resolv", [PRINT_YAML] = "yaml", [PRINT_JSON] = "json"
};

bool print_form_from(struct slice word, enum print_form *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(form_words); i++) {
		if (slice_is(word, form_words[i])) {
			*ret = (enum print_form)i;
			return true;
		}
	}
	return false;
}

/* ---- findings ---- */

/* "dnsConfig.searches" of "spec.dnsConfig.searches". */
static const char *below_spec(const char *field)
{
	return strncmp(field, "spec.", 5) == 0 ? field + 5 : field;
}

bool print_findings(const struct pod_manifest *pod, const struct podresolv_result *result)
{
	static const char *const words[] = {
		[PODRESOLV_EVENT] = "event",
		[PODRESOLV_REFUSAL] = "error: the profile refuses the pod",
		[PODRESOLV_LINT] = "lint",
	};
	bool is_refused = false;
	for (size_t i = 0; i < result->n_findings; i++) {
		const struct podresolv_finding *finding = &result->findings[i];
		is_refused |= finding->severity == PODRESOLV_REFUSAL;
		pod_manifest_report(pod, below_spec(finding->field), "%s%s%s %s: %s",
				    finding->on_node ? "node " : "", words[finding->severity],
				    finding->severity == PODRESOLV_REFUSAL ? ":" : "",
				    finding->reason, finding->message);
	}
	return !is_refused;
}

/* ---- results ---- */

/* No validation has seen the object's name: one with a line break must not add a line. */
static void print_header(const struct pod_manifest *pod, struct strbuf *out)
{
	const char *name = api_name(pod->object->o);
	const char *generate = api_get_string(pod->object->o, "metadata.generateName");
	CLEANUP(freep) char *made = xasprintf("%sx", generate); /* as an API server completes it */
	strbuf_addf(out, "# %s %s/", api_kind(pod->object->o), pod->ns);
	if (api_is_subdomain_name(name))
		strbuf_adds(out, name);
	else if (name[0] == '\0' && api_is_subdomain_name(made))
		strbuf_addf(out, "%s*", generate);
	else
		strbuf_add_quoted(out, slice_of(name[0] != '\0' ? name : generate));
	strbuf_addc(out, '\n');
}

static json_t *config_tree(const struct podresolv_result *result)
{
	return json_pack("{ss,so}", "dnsPolicy", podresolv_policy_name(PODRESOLV_NONE), "dnsConfig",
			 api_pod_dns_config(result));
}

static void print_yaml(const struct podresolv_result *result, struct strbuf *out)
{
	json_t *tree = config_tree(result);
	api_yaml_write(out, tree);
	json_decref(tree);
}

static json_t *findings_tree(const struct podresolv_result *result)
{
	static const char *const words[] = { [PODRESOLV_EVENT] = "event",
					     [PODRESOLV_REFUSAL] = "refusal",
					     [PODRESOLV_LINT] = "lint" };
	json_t *list = json_array();
	for (size_t i = 0; i < result->n_findings; i++) {
		const struct podresolv_finding *finding = &result->findings[i];
		json_array_append_new(list,
				      json_pack("{ss,ss,ss,ss}", "type", words[finding->severity],
						"reason", finding->reason, "field", finding->field,
						"message", finding->message));
	}
	return list;
}

static void print_json(const struct pod_manifest *pod, const struct podresolv_result *result,
		       struct strbuf *out)
{
	json_t *tree =
		json_pack("{ss,ss,ss,ss,so}", "kind", api_kind(pod->object->o), "namespace",
			  pod->ns, "name", api_name(pod->object->o), "appliedPolicy",
			  podresolv_policy_name(result->policy), "findings", findings_tree(result));
	json_t *config = config_tree(result);
	const char *generate = api_get_string(pod->object->o, "metadata.generateName");
	if (api_name(pod->object->o)[0] == '\0' && generate[0] != '\0')
		json_object_set_new(tree, "generateName", json_string(generate));
	json_object_update(tree, config);
	CLEANUP(freep) char *text = json_dumps(tree, JSON_INDENT(2));
	strbuf_addf(out, "%s\n", text != NULL ? text : "");
	json_decref(config);
	json_decref(tree);
}

static bool write_result(const char *path, struct slice text)
{
	char why[200] = "";
	int r = write_file_put(path, text, ERR_TEXT(why));
	if (r < 0)
		fprintf(stderr, "cannot write '%s': %s\n", path, why);
	else if (r > 0)
		fprintf(stderr, "%s: written\n", path);
	return r >= 0;
}

bool print_pod(const struct pod_manifest *pod, const struct podresolv_result *result,
	       const struct print_options *options)
{
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	if (options->form == PRINT_YAML && options->with_header)
		strbuf_adds(&out, "---\n");
	if (options->form != PRINT_JSON && options->with_header)
		print_header(pod, &out);
	if (options->form == PRINT_JSON)
		print_json(pod, result, &out);
	else if (options->form == PRINT_YAML)
		print_yaml(result, &out);
	else if (options->explain)
		podresolv_explain(result, &out);
	else
		podresolv_render(result, &out);
	if (options->path != NULL)
		return write_result(options->path, strbuf_slice(&out));
	fwrite(out.s, 1, out.n, stdout);
	return true;
}
