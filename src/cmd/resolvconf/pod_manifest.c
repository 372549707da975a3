/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pods in manifests: their spec, older spellings, and errors with their places. */
#include "cmd/resolvconf/pod_manifest.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/meta.h"
#include "api/pod_dns.h"
#include "api/tree.h"
#include "base/mem.h"

void pod_manifest_report(const struct pod_manifest *pod, const char *field, const char *fmt, ...)
{
	CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;
	CLEANUP(freep) char *path = NULL;
	va_list args;
	if (field[0] != '\0')
		path = xasprintf("%s.%s", pod->field, field);
	manifest_place(pod->object, path != NULL ? path : "", &line);
	strbuf_adds(&line, ": ");
	va_start(args, fmt);
	strbuf_vaddf(&line, fmt, args);
	va_end(args);
	fprintf(stderr, "%s\n", line.s);
}

/* The older word for None, which API servers refuse (PD-6). */
static void repair_policy(struct pod_manifest *pod)
{
	if (strcmp(api_get_string(pod->spec, "dnsPolicy"), "Custom") != 0)
		return;
	json_object_set_new(pod->spec, "dnsPolicy", json_string("None"));
	pod_manifest_report(pod, "dnsPolicy",
			    "warning: dnsPolicy \"Custom\" is an older word for \"None\"; API "
			    "servers refuse it");
}

/* Numbers as values of options, which must be strings for API servers (PD-21). */
static void repair_values(struct pod_manifest *pod)
{
	json_t *options = api_get(pod->spec, "dnsConfig.options"), *option;
	size_t i;
	json_array_foreach (options, i, option) {
		const json_t *value = json_object_get(option, "value");
		if (!json_is_integer(value))
			continue;
		long long number = json_integer_value(value);
		CLEANUP(freep) char *field = xasprintf("dnsConfig.options[%zu].value", i);
		pod_manifest_report(pod, field,
				    "warning: the value is a number; API servers accept strings "
				    "only: \"%lld\"",
				    number);
		json_object_set_new(option, "value", json_sprintf("%lld", number));
	}
}

bool pod_manifest_open(struct pod_manifest *pod, const struct manifest_object *object,
		       const char *ns)
{
	const char *own_ns = api_namespace(object->o);
	*pod = (struct pod_manifest){ .object = object, .ns = own_ns[0] != '\0' ? own_ns : ns };
	const json_t *spec = api_pod_spec(object->o, &pod->field);
	if (pod->field == NULL)
		return false;
	pod->spec = json_is_object(spec) ? json_deep_copy(spec) : json_object();
	repair_policy(pod);
	repair_values(pod);
	return true;
}

void pod_manifest_close(struct pod_manifest *pod)
{
	json_decref(pod->spec);
}

/* The namespace is part of a search domain. */
static bool check_namespace(const struct pod_manifest *pod)
{
	CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;
	if (api_is_label_name(pod->ns))
		return true;
	manifest_place(pod->object, "metadata.namespace", &line);
	strbuf_adds(&line, ": metadata.namespace: Invalid value: ");
	strbuf_add_quoted(&line, slice_of(pod->ns));
	fprintf(stderr,
		"%s: must consist of lower case alphanumeric characters or '-', start and end with "
		"an alphanumeric character, and have at most 63 characters\n",
		line.s);
	return false;
}

/* `- name: ndots` and `- value: 1` are two options: a name without a value, and a value without a
 * name (PD-21). */
static bool is_split_option(const json_t *options, size_t index)
{
	const json_t *option = json_array_get(options, index);
	const json_t *next = json_array_get(options, index + 1);
	return json_object_get(option, "name") != NULL &&
	       json_object_get(option, "value") == NULL && json_object_get(next, "name") == NULL &&
	       json_object_get(next, "value") != NULL;
}

static void hint_at_dashes(const struct pod_manifest *pod)
{
	const json_t *config = json_object_get(pod->spec, "dnsConfig");
	const json_t *options = json_object_get(config, "options");
	if (json_is_array(config))
		pod_manifest_report(pod, "dnsConfig",
				    "hint: write the fields of dnsConfig without a dash before "
				    "them");
	for (size_t i = 0; i + 1 < json_array_size(options); i++) {
		CLEANUP(freep) char *field = xasprintf("dnsConfig.options[%zu]", i + 1);
		if (is_split_option(options, i))
			pod_manifest_report(pod, field,
					    "hint: write the value of an option without a dash "
					    "before it");
	}
}

bool pod_manifest_validate(const struct pod_manifest *pod, enum podresolv_profile profile)
{
	struct api_errors errors = { 0 };
	api_pod_dns_validate(pod->spec, pod->field, profile, &errors);
	size_t below = strlen(pod->field) + 1;
	bool is_valid = check_namespace(pod) && errors.n == 0;
	for (size_t i = 0; i < errors.n; i++) {
		pod_manifest_report(pod, errors.v[i].field + below, "%s: %s", errors.v[i].field,
				    errors.v[i].body);
	}
	hint_at_dashes(pod);
	api_errors_done(&errors);
	return is_valid;
}
