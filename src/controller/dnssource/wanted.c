/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a source and the domains to DNSRecord objects, checked as the controller `dnsrecord` will. */
#include "controller/dnssource/wanted.h"

#include <string.h>

#include "api/dnsrecord.h"
#include "api/meta.h"
#include "api/record_set.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/strbuf.h"
#include "controller/dnssource/names.h"
#include "controller/dnssource/source.h"

enum { SOURCE_NAME_SHOWN = 180 }; /* of the source's name in that of the DNSRecord */

struct want {
	const struct dnssource_source *source;
	const struct dnssource_config *config;
	const char *config_key;
	struct arena *arena;
	struct dnssource_problems *problems;
	json_t *objects;
};

/* ---- one object ---- */

static void add_lower(struct strbuf *out, const char *text, size_t max)
{
	for (size_t i = 0; text[i] != '\0' && i < max; i++)
		strbuf_addc(out, ascii_lower(text[i]));
}

/* Names that differ in what is immutable have different objects. Same in each process: a fixed key. */
static char *make_name(const struct want *want, const struct dnssource_domain *domain,
		       const char *host, const char *record_type)
{
	static const struct hash_key fixed_key = { 0x646e73736f757263, 1 };
	CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT, all = STRBUF_INIT;
	const json_t *object = want->source->object;
	strbuf_addf(&all, "%s %s %s", api_name(object), domain->type, host);
	add_lower(&name, api_kind(object), SIZE_MAX);
	strbuf_addc(&name, '-');
	add_lower(&name, api_name(object), SOURCE_NAME_SHOWN);
	strbuf_addc(&name, '-');
	add_lower(&name, record_type, SIZE_MAX);
	strbuf_addf(&name, "-%016llx", (unsigned long long)hash_bytes(&fixed_key, all.s, all.n));
	return arena_strdup(want->arena, name.s);
}

static json_t *make_spec(const struct want *want, const struct dnssource_domain *domain,
			 const char *host, const char *record_type,
			 const struct api_strings *values)
{
	json_t *list = json_array(), *secret = json_pack("{s:s}", "name", domain->secret_name);
	int64_t ttl_s = want->source->ttl_s >= 0 ? want->source->ttl_s : domain->ttl_s;
	for (size_t i = 0; i < values->n; i++)
		json_array_append_new(list, json_string(values->v[i]));
	if (domain->secret_namespace[0] != '\0')
		json_object_set_new(secret, "namespace", json_string(domain->secret_namespace));
	json_t *spec = json_pack("{s:s, s:o, s:s, s:s, s:o}", "type", domain->type, "secretRef",
				 secret, "name", host, "recordType", record_type, "values", list);
	if (domain->zone[0] != '\0')
		json_object_set_new(spec, "zone", json_string(domain->zone));
	if (ttl_s >= 0)
		json_object_set_new(spec, "ttl", json_integer((json_int_t)ttl_s));
	return spec;
}

static json_t *make_object(const struct want *want, const struct dnssource_domain *domain,
			   const char *host, const char *record_type,
			   const struct api_strings *values)
{
	const json_t *object = want->source->object;
	return json_pack("{s:s, s:s, s:{s:s, s:s, s:{s:s}, s:[o]}, s:o}", "apiVersion",
			 "extensions.gardener.cloud/v1alpha1", "kind", "DNSRecord", "metadata",
			 "name", make_name(want, domain, host, record_type), "namespace",
			 api_namespace(object), "labels", DNSSOURCE_MANAGED_BY, DNSSOURCE_MANAGER,
			 "ownerReferences", api_owner_reference(object), "spec",
			 make_spec(want, domain, host, record_type, values));
}

/* What `dnsrecord` would refuse is refused here, where the user sees it. */
static bool is_valid(const struct want *want, const char *host, const json_t *object)
{
	CLEANUP(api_errors_done) struct api_errors errors = { 0 };
	struct api_dnsrecord record;
	struct api_record_set set;
	if (api_view_fill(&api_dnsrecord_view, object, want->arena, &record, &errors) == 0 &&
	    api_record_set_make(&record, want->arena, &set, &errors) == 0)
		return true;
	dnssource_add_mistake(want->problems, "InvalidName", "'%.253s' cannot have a %s record: %s",
			      host, api_get_string(object, "spec.recordType"),
			      errors.n != 0 ? errors.v[0].body : "");
	return false;
}

static void add_records(struct want *want, const struct dnssource_domain *domain, const char *host)
{
	const struct dnssource_source *source = want->source;
	const struct {
		const char *type;
		const struct api_strings *values;
	} sets[] = { { "A", &source->ipv4 },
		     { "AAAA", &source->ipv6 },
		     { "CNAME", &source->names } };
	for (size_t i = 0; i < ARRAY_LEN(sets); i++) {
		if (sets[i].values->n == 0)
			continue;
		json_t *object = make_object(want, domain, host, sets[i].type, sets[i].values);
		if (is_valid(want, host, object))
			json_array_append(want->objects, object);
		json_decref(object);
	}
}

/* ---- all names of the source ---- */

static void add_host(struct want *want, const char *host)
{
	const struct dnssource_domain *domain = dnssource_config_find(want->config, host);
	const char *ns = api_namespace(want->source->object);
	if (domain == NULL)
		dnssource_add_mistake(want->problems, "NoDomain",
				      "'%.253s' is in no domain of ConfigMap %s, so that its "
				      "provider is not known; add its domain there",
				      host, want->config_key);
	else if (domain->problem != NULL)
		dnssource_add_mistake(want->problems, "InvalidDomain",
				      "'%.253s' has no records: the domain %s of ConfigMap %s "
				      "cannot be used: %s",
				      host, domain->name, want->config_key, domain->problem);
	else if (!dnssource_domain_allows(domain, ns))
		dnssource_add_refusal(want->problems, "NamespaceNotAllowed",
				      "'%.253s' has no records: ConfigMap %s allows names in %s "
				      "to other namespaces only",
				      host, want->config_key, domain->name);
	else
		add_records(want, domain, host);
}

/* Hosts of rules are asked for where their domain says so. */
static bool is_asked_by_rule(const struct want *want, const char *host)
{
	const struct dnssource_domain *domain = dnssource_config_find(want->config, host);
	for (size_t i = 0; i < want->source->hosts.n; i++) {
		if (strcmp(want->source->hosts.v[i], host) == 0)
			return false;
	}
	return domain != NULL && domain->ingress_hosts;
}

/* The names that are asked for. */
static struct api_strings choose_hosts(const struct want *want)
{
	const struct api_strings *hosts = &want->source->hosts, *rules = &want->source->rule_hosts;
	struct api_strings chosen = { .v = arena_alloc(want->arena, (hosts->n + rules->n + 1) *
									    sizeof(*chosen.v)) };
	for (size_t i = 0; i < hosts->n; i++)
		chosen.v[chosen.n++] = hosts->v[i];
	for (size_t i = 0; i < rules->n; i++) {
		if (is_asked_by_rule(want, rules->v[i]))
			chosen.v[chosen.n++] = rules->v[i];
	}
	return chosen;
}

json_t *dnssource_want(const json_t *object, const struct dnssource_config *config,
		       const char *config_key, struct arena *arena,
		       struct dnssource_problems *problems)
{
	struct dnssource_source source;
	struct dnssource_problems found = { .arena = arena };
	struct want want = { &source, config, config_key, arena, problems, json_array() };
	dnssource_read(object, arena, &source, &found);
	struct api_strings hosts = choose_hosts(&want);
	if (hosts.n != 0) /* else nobody wants to know */
		*problems = found;
	/* With a problem of targets or the TTL it is not clear what to publish. */
	for (size_t i = 0; i < hosts.n && found.n == 0; i++)
		add_host(&want, hosts.v[i]);
	return want.objects;
}
