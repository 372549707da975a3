/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads dnsPolicy, hostNetwork and dnsConfig out of a pod's spec, and writes dnsConfig back. */
#include "api/pod_dns.h"

#include <string.h>

#include "api/meta.h"
#include "api/tree.h"
#include "base/strbuf.h"

/* ---- kinds that hold a pod spec ---- */

static const struct {
	const char *kind, *group, *field;
} holders[] = {
	{ "Pod", "", "spec" },
	{ "PodTemplate", "", "template.spec" },
	{ "ReplicationController", "", "spec.template.spec" },
	{ "Deployment", "apps", "spec.template.spec" },
	{ "StatefulSet", "apps", "spec.template.spec" },
	{ "DaemonSet", "apps", "spec.template.spec" },
	{ "ReplicaSet", "apps", "spec.template.spec" },
	{ "Job", "batch", "spec.template.spec" },
	{ "CronJob", "batch", "spec.jobTemplate.spec.template.spec" },
};

/* "apps" of "apps/v1", "" of "v1". */
static struct slice group_of(const json_t *object)
{
	struct slice version = slice_of(api_version(object));
	ptrdiff_t slash = slice_find(version, '/');
	return (struct slice){ version.p, slash < 0 ? 0 : (size_t)slash };
}

const json_t *api_pod_spec(const json_t *object, const char **ret_field)
{
	for (size_t i = 0; i < ARRAY_LEN(holders); i++) {
		if (strcmp(api_kind(object), holders[i].kind) != 0 ||
		    !slice_is(group_of(object), holders[i].group))
			continue;
		*ret_field = holders[i].field;
		return api_get(object, holders[i].field);
	}
	return NULL;
}

/* ---- reading ---- */

struct reader {
	struct arena *arena;
	struct api_errors *errors;
};

/* The member if it has the type; NULL for none, null, and another type, which is an error. */
static const json_t *read_member(struct reader *reader, const json_t *object, const char *key,
				 json_type type, const char *field)
{
	static const char *const names[] = {
		[JSON_OBJECT] = "object",  [JSON_ARRAY] = "array", [JSON_STRING] = "string",
		[JSON_INTEGER] = "number", [JSON_REAL] = "number", [JSON_TRUE] = "boolean",
		[JSON_FALSE] = "boolean",  [JSON_NULL] = "null",
	};
	const json_t *value = json_object_get(object, key);
	if (value == NULL || json_is_null(value))
		return NULL;
	if (strcmp(names[json_typeof(value)], names[type]) == 0)
		return value;
	const char *found = arena_printf(reader->arena, "\"%s\"", names[json_typeof(value)]);
	api_errors_add(reader->errors, API_FIELD_TYPE, field, found,
		       arena_printf(reader->arena, "must be of type %s: %s", names[type], found));
	return NULL;
}

static const char *path_of(struct reader *reader, const char *parent, const char *key)
{
	return arena_printf(reader->arena, "%s.%s", parent, key);
}

static const json_t *read_list(struct reader *reader, const json_t *config, const char *field,
			       const char *key)
{
	return read_member(reader, config, key, JSON_ARRAY, path_of(reader, field, key));
}

/* A list of texts; what is no text is an error and becomes "". */
static struct slice *read_texts(struct reader *reader, const json_t *config, const char *field,
				const char *key, size_t *ret_n)
{
	const json_t *list = read_list(reader, config, field, key);
	size_t n = json_array_size(list);
	struct slice *texts = arena_calloc(reader->arena, n * sizeof(*texts));
	for (size_t i = 0; i < n; i++) {
		const json_t *item = json_array_get(list, i);
		texts[i] = api_text_slice(item);
		if (!json_is_string(item))
			api_errors_add(reader->errors, API_FIELD_TYPE,
				       arena_printf(reader->arena, "%s.%s[%zu]", field, key, i),
				       NULL, "must be of type string");
	}
	*ret_n = n;
	return texts;
}

static struct podresolv_option *read_options(struct reader *reader, const json_t *config,
					     const char *field, size_t *ret_n)
{
	const json_t *list = read_list(reader, config, field, "options");
	size_t n = json_array_size(list);
	struct podresolv_option *options = arena_calloc(reader->arena, n * sizeof(*options));
	for (size_t i = 0; i < n; i++) {
		const json_t *item = json_array_get(list, i);
		const char *where = arena_printf(reader->arena, "%s.options[%zu]", field, i);
		if (!json_is_object(item))
			api_errors_add(reader->errors, API_FIELD_TYPE, where, NULL,
				       "must be of type object");
		options[i].name = api_text_slice(read_member(reader, item, "name", JSON_STRING,
							     path_of(reader, where, "name")));
		options[i].value = api_text_slice(read_member(reader, item, "value", JSON_STRING,
							      path_of(reader, where, "value")));
	}
	*ret_n = n;
	return options;
}

static const struct podresolv_config *read_config(struct reader *reader, const json_t *spec,
						  const char *parent)
{
	const char *field = path_of(reader, parent, "dnsConfig");
	const json_t *tree = read_member(reader, spec, "dnsConfig", JSON_OBJECT, field);
	if (tree == NULL)
		return NULL;
	struct podresolv_config *config = arena_calloc(reader->arena, sizeof(*config));
	config->nameservers =
		read_texts(reader, tree, field, "nameservers", &config->n_nameservers);
	config->searches = read_texts(reader, tree, field, "searches", &config->n_searches);
	config->options = read_options(reader, tree, field, &config->n_options);
	return config;
}

void api_pod_dns_read(const json_t *pod_spec, const char *field, struct arena *arena,
		      struct podresolv_input *ret, struct slice *ret_policy,
		      struct api_errors *errors)
{
	struct reader reader = { arena, errors };
	*ret_policy = api_text_slice(read_member(&reader, pod_spec, "dnsPolicy", JSON_STRING,
						 path_of(&reader, field, "dnsPolicy")));
	/* Kubelet takes a policy that it does not know for this one. */
	if (!podresolv_policy_from(*ret_policy, &ret->policy))
		ret->policy = PODRESOLV_CLUSTER_FIRST;
	ret->host_network = json_is_true(read_member(&reader, pod_spec, "hostNetwork", JSON_TRUE,
						     path_of(&reader, field, "hostNetwork")));
	ret->config = read_config(&reader, pod_spec, field);
}

/* ---- validation ---- */

void api_pod_dns_validate(const json_t *pod_spec, const char *field, enum podresolv_profile profile,
			  struct api_errors *errors)
{
	static const enum api_fielderr_type types[] = {
		[PODRESOLV_REQUIRED] = API_FIELD_REQUIRED,
		[PODRESOLV_INVALID] = API_FIELD_INVALID,
		[PODRESOLV_UNSUPPORTED] = API_FIELD_UNSUPPORTED,
	};
	struct podresolv_input input = { 0 };
	struct podresolv_errors found = { 0 };
	struct slice policy;
	struct arena arena;
	size_t before = errors->n;
	arena_init(&arena);
	api_pod_dns_read(pod_spec, field, &arena, &input, &policy, errors);
	/* The API server's default for a policy that is missing or empty. */
	if (errors->n == before)
		podresolv_validate(policy.n > 0 ? policy : SLICE("ClusterFirst"), input.config,
				   profile, &arena, &found);
	for (size_t i = 0; i < found.n; i++)
		api_errors_add(errors, types[found.v[i].type],
			       arena_printf(&arena, "%s.%s", field, found.v[i].field),
			       found.v[i].value, found.v[i].detail);
	arena_done(&arena);
}

/* ---- writing ---- */

static void write_texts(json_t *config, const char *key, const struct podresolv_list *list)
{
	json_t *texts = json_array();
	for (size_t i = 0; i < list->n; i++) {
		if (list->v[i].dropped == PODRESOLV_KEPT)
			json_array_append_new(texts,
					      json_stringn(list->v[i].text.p, list->v[i].text.n));
	}
	if (json_array_size(texts) > 0)
		json_object_set(config, key, texts);
	json_decref(texts);
}

static void write_options(json_t *config, const struct podresolv_list *list)
{
	json_t *options = json_array();
	for (size_t i = 0; i < list->n; i++) {
		const struct podresolv_entry *entry = &list->v[i];
		if (entry->dropped != PODRESOLV_KEPT)
			continue;
		json_t *option = json_object();
		json_object_set_new(option, "name", json_stringn(entry->text.p, entry->text.n));
		if (entry->value.n > 0)
			json_object_set_new(option, "value",
					    json_stringn(entry->value.p, entry->value.n));
		json_array_append_new(options, option);
	}
	if (json_array_size(options) > 0)
		json_object_set(config, "options", options);
	json_decref(options);
}

json_t *api_pod_dns_config(const struct podresolv_result *result)
{
	json_t *config = json_object();
	write_texts(config, "nameservers", &result->nameservers);
	write_texts(config, "searches", &result->searches);
	write_options(config, &result->options);
	return config;
}
