/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of CA bundles in a spec, validation, and copies as trees. */
#include "controller/dnsoperator/plan/ca_bundle.h"

#include <stdio.h>
#include <string.h>

#include "api/meta.h"
#include "base/err.h"
#include "base/mem.h"
#include "controller/dnsoperator/plan/configmap_objects.h"
#include "net/certgen.h"

#define PREFIX "ca-"

/* ---- names ---- */

bool dnsoperator_ca_has(const dnsoperator_names *names, const char *name)
{
	for (size_t i = 0; i < names->n; i++) {
		if (strcmp(names->v[i], name) == 0)
			return true;
	}
	return false;
}

static void add_transport(const json_t *tree, dnsoperator_names *ret)
{
	const char *name = api_get_string(tree, "tls.caBundle.name");
	if (strcmp(api_get_string(tree, "transport"), "TLS") == 0 && api_is_subdomain_name(name) &&
	    !dnsoperator_ca_has(ret, name))
		vec_push(ret, name);
}

void dnsoperator_ca_names(const json_t *spec, dnsoperator_names *ret)
{
	const json_t *s;
	size_t i;
	json_array_foreach (json_object_get(spec, "servers"), i, s)
		add_transport(api_get(s, "forwardPlugin.transportConfig"), ret);
	add_transport(api_get(spec, "upstreamResolvers.transportConfig"), ret);
}

char *dnsoperator_ca_copy_name(const char *name)
{
	return xasprintf(PREFIX "%s", name);
}

/* ---- trees ---- */

bool dnsoperator_ca_is_copy(const json_t *object)
{
	const char *label = api_label(object, DNSOPERATOR_CA_LABEL);
	return label != NULL && strcmp(label, "true") == 0 &&
	       strncmp(api_name(object), PREFIX, strlen(PREFIX)) == 0;
}

const char *dnsoperator_ca_error(const json_t *source)
{
	const char *pem = dnsoperator_data(source, DNSOPERATOR_CA_KEY);
	if (source == NULL)
		return "is missing";
	if (pem == NULL)
		return "has no key " DNSOPERATOR_CA_KEY;
	if (net_certs_count(slice_of(pem)) <= 0)
		return "does not hold PEM certificates under " DNSOPERATOR_CA_KEY;
	return NULL;
}

json_t *dnsoperator_ca_copy(const json_t *source, const json_t *dns, const char *ns)
{
	CLEANUP(freep) char *name = dnsoperator_ca_copy_name(api_name(source));
	return json_pack("{ss,ss,s{ss,ss,s{ss},s[o]},s{ss}}", "apiVersion", "v1", "kind",
			 "ConfigMap", "metadata", "name", name, "namespace", ns, "labels",
			 DNSOPERATOR_CA_LABEL, "true", "ownerReferences", api_owner_reference(dns),
			 "data", DNSOPERATOR_CA_KEY, dnsoperator_data(source, DNSOPERATOR_CA_KEY));
}

/* ---- platforms without it ---- */

static void refuse_bundle(const struct dnsoperator_transport *transport, const char *field,
			  struct dnsoperator_problems *problems)
{
	char at[160];
	struct slice value = slice_of(transport->ca);
	struct dnsoperator_problem_at place = { .field = at, .value = &value };
	if (!dnsoperator_is_tls(transport) || transport->ca[0] == '\0')
		return;
	snprintf(at, sizeof(at), "%s.transportConfig.tls.caBundle.name", field);
	dnsoperator_problem_add(problems, DNSOPERATOR_INVALID_SERVERS, &place,
				"is not supported on this platform",
				"remove it, and add the CA to the system CAs of the servers");
}

int dnsoperator_ca_check(const struct dnsoperator_routes *routes,
			 enum dnsoperator_platform platform, struct dnsoperator_problems *problems)
{
	const struct dnsoperator_server *s = routes->servers.v;
	size_t before = problems->n;
	if (dnsoperator_sites[platform].bundles)
		return 0;
	for (size_t i = 0; i < routes->servers.n; i++) {
		char field[64];
		snprintf(field, sizeof(field), "spec.servers[%zu].forwardPlugin", i);
		refuse_bundle(&s[i].how, field, problems);
	}
	refuse_bundle(&routes->resolvers.how, "spec.upstreamResolvers", problems);
	return problems->n == before ? 0 : ERR_CONFIG;
}
