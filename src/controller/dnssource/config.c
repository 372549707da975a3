/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the ConfigMap; finds the domain of a name. */
#include "controller/dnssource/config.h"

#include <string.h>

#include "api/meta.h"
#include "api/yaml/yaml.h"
#include "base/err.h"
#include "base/slice.h"
#include "base/strbuf.h"

#define AT(member) offsetof(struct dnssource_domain, member)
static const struct api_view_row rows[] = {
	{ "type", API_VIEW_STRING, AT(type), .required = true },
	{ "secret", API_VIEW_STRING, AT(secret), .required = true },
	{ "zone", API_VIEW_STRING, AT(zone), .required = false },
	{ "ttl", API_VIEW_INT, AT(ttl_s), .max = INT32_MAX, .def = -1 },
	{ "namespaces", API_VIEW_STRINGS, AT(namespaces), .required = false },
	{ "ingressHosts", API_VIEW_BOOL, AT(ingress_hosts), .required = false },
};
#undef AT
static const struct api_view domain_view = { rows, ARRAY_LEN(rows),
					     sizeof(struct dnssource_domain) };

static const char *find_unknown_member(const json_t *tree)
{
	const char *name;
	json_t *value;
	json_object_foreach (api_tree(tree), name, value) {
		size_t i = 0;
		while (i < ARRAY_LEN(rows) && strcmp(rows[i].path, name) != 0)
			i++;
		if (i == ARRAY_LEN(rows))
			return name;
	}
	return NULL;
}

static const char *text_of_errors(const struct api_errors *errors, struct arena *arena)
{
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	for (size_t i = 0; i < errors->n; i++)
		strbuf_addf(&out, "%s%s: %s", i != 0 ? "; " : "", errors->v[i].field,
			    errors->v[i].body);
	return arena_strdup(arena, out.s);
}

/* NAME, or NAMESPACE/NAME. */
static void split_secret(struct dnssource_domain *domain, struct arena *arena)
{
	struct slice rest = slice_of(domain->secret), first = slice_cut(&rest, '/');
	bool has_namespace = rest.p != NULL;
	struct slice name = has_namespace ? rest : first;
	domain->secret_namespace = has_namespace ? arena_strndup(arena, first.p, first.n) : "";
	domain->secret_name = arena_strndup(arena, name.p, name.n);
	if (domain->problem != NULL)
		return;
	if (!api_is_subdomain_name(domain->secret_name) ||
	    (has_namespace && !api_is_label_name(domain->secret_namespace)))
		domain->problem = arena_printf(arena,
					       "secret: '%s' is neither NAME nor "
					       "NAMESPACE/NAME",
					       domain->secret);
}

static void read_settings(const json_t *tree, struct arena *arena, struct dnssource_domain *ret)
{
	CLEANUP(api_errors_done) struct api_errors errors = { 0 };
	const char *unknown = find_unknown_member(tree);
	if (api_view_fill(&domain_view, tree, arena, ret, &errors) < 0)
		ret->problem = text_of_errors(&errors, arena);
	else if (unknown != NULL)
		ret->problem = arena_printf(arena, "unknown setting '%s'", unknown);
	split_secret(ret, arena);
}

static void read_domain(const char *key, const json_t *value, struct arena *arena,
			struct dnssource_domain *ret)
{
	struct srcerr err = { 0 };
	json_t *tree = NULL;
	char *name = arena_strdup(arena, key);
	for (char *at = name; *at != '\0'; at++)
		*at = ascii_lower(*at);
	if (api_yaml_parse_one(key, api_text_slice(value), &tree, &err) < 0)
		ret->problem = arena_printf(arena, "line %u: %s", err.pos.line, err.text);
	else if (!json_is_object(tree))
		ret->problem = "its value is not a YAML mapping with `type` and `secret`";
	else
		read_settings(tree, arena, ret);
	ret->name = name;
	ret->tree = tree;
}

void dnssource_config_read(const json_t *configmap, struct arena *arena,
			   struct dnssource_config *ret)
{
	const json_t *data = api_get(configmap, "data");
	const char *key;
	json_t *value;
	*ret = (struct dnssource_config){
		.v = arena_calloc(arena, (json_object_size(data) + 1) * sizeof(*ret->v)),
	};
	json_object_foreach (api_tree(data), key, value)
		read_domain(key, value, arena, &ret->v[ret->n++]);
}

void dnssource_config_done(struct dnssource_config *config)
{
	for (size_t i = 0; i < config->n; i++)
		json_decref(config->v[i].tree);
	config->n = 0;
}

static bool is_in_domain(const char *host, const char *domain)
{
	size_t host_n = strlen(host), domain_n = strlen(domain);
	if (host_n < domain_n || strcmp(host + host_n - domain_n, domain) != 0)
		return false;
	return host_n == domain_n || host[host_n - domain_n - 1] == '.';
}

const struct dnssource_domain *dnssource_config_find(const struct dnssource_config *config,
						     const char *host)
{
	const struct dnssource_domain *found = NULL;
	for (size_t i = 0; i < config->n; i++) {
		const struct dnssource_domain *domain = &config->v[i];
		if (is_in_domain(host, domain->name) &&
		    (found == NULL || strlen(domain->name) > strlen(found->name)))
			found = domain;
	}
	return found;
}

bool dnssource_domain_allows(const struct dnssource_domain *domain, const char *ns)
{
	for (size_t i = 0; i < domain->namespaces.n; i++) {
		if (strcmp(domain->namespaces.v[i], ns) == 0)
			return true;
	}
	return domain->namespaces.n == 0;
}
