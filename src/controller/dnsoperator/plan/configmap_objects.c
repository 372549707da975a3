/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Builds and reads the two ConfigMaps. */
#include "controller/dnsoperator/plan/configmap_objects.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "api/time.h"
#include "api/tree.h"
#include "base/mem.h"
#include "net/addr.h"

#define OWNING	"dns.operator.openshift.io/owning-dns"
#define MANAGED "app.kubernetes.io/managed-by"

static const char accepted_key[] = "accepted.json";

char *dnsoperator_accepted_name(const struct dnsoperator_site *site)
{
	return xasprintf("%s-accepted", site->configmap);
}

static json_t *new_configmap(const char *ns, const char *name)
{
	return json_pack("{ss,ss,s{ss,ss,s{ss,ss}},s{}}", "apiVersion", "v1", "kind", "ConfigMap",
			 "metadata", "name", name, "namespace", ns, "labels", MANAGED,
			 DNSOPERATOR_MANAGER, OWNING, "default", "data");
}

const char *dnsoperator_data(const json_t *object, const char *key)
{
	return api_text_or(json_object_get(json_object_get(object, "data"), key), NULL);
}

static bool is_ours(const json_t *object)
{
	const char *by = api_label(object, MANAGED);
	return by != NULL && strcmp(by, DNSOPERATOR_MANAGER) == 0;
}

const char *dnsoperator_corefile_before(const json_t *now)
{
	const char *kept = dnsoperator_data(now, DNSOPERATOR_BEFORE);
	return kept != NULL || is_ours(now) ? kept : dnsoperator_data(now, "Corefile");
}

json_t *dnsoperator_corefile_object(const struct dnsoperator_plan *plan,
				    const struct dnsoperator_facts *facts, const json_t *dns,
				    const json_t *now)
{
	const struct dnsoperator_site *site = &dnsoperator_sites[facts->platform];
	json_t *o = new_configmap(site->ns, site->configmap);
	json_t *data = json_object_get(o, "data");
	json_object_set_new(data, "Corefile", json_stringn(plan->corefile.s, plan->corefile.n));
	if (facts->platform == DNSOPERATOR_OPENSHIFT) {
		/* As OpenShift's operator: it is deleted with the object. Elsewhere servers would
		 * lose their Corefile. */
		json_object_set_new(json_object_get(o, "metadata"), "ownerReferences",
				    json_pack("[o]", api_owner_reference(dns)));
	} else if (dnsoperator_corefile_before(now) != NULL) {
		json_object_set_new(data, DNSOPERATOR_BEFORE,
				    json_string(dnsoperator_corefile_before(now)));
	}
	return o;
}

uint64_t dnsoperator_corefile_time(const json_t *object)
{
	const json_t *f;
	size_t i;
	json_array_foreach (api_get(object, "metadata.managedFields"), i, f) {
		uint64_t at;
		if (strcmp(api_get_string(f, "manager"), DNSOPERATOR_MANAGER) == 0 &&
		    api_time_parse(api_get_string(f, "time"), &at) == 0)
			return at;
	}
	return 0;
}

json_t *dnsoperator_accepted_object(const struct dnsoperator_plan *plan,
				    const struct dnsoperator_facts *facts)
{
	const struct dnsoperator_site *site = &dnsoperator_sites[facts->platform];
	CLEANUP(freep) char *name = dnsoperator_accepted_name(site);
	char *text = json_dumps(plan->accepted, JSON_COMPACT | JSON_SORT_KEYS);
	json_t *o = new_configmap(site->ns, name);
	json_object_set_new(json_object_get(o, "data"), accepted_key, json_string(text));
	free(text);
	return o;
}

json_t *dnsoperator_accepted_read(const json_t *object)
{
	const char *text = dnsoperator_data(object, accepted_key);
	json_t *v = text != NULL ? json_loads(text, 0, NULL) : NULL;
	if (json_is_object(v))
		return v;
	json_decref(v);
	return NULL;
}
