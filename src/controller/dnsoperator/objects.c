/* ConfigMaps and status as trees. */
#include "controller/dnsoperator/objects.h"

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

static json_t *configmap(const char *ns, const char *name)
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

const char *dnsoperator_text_before(const json_t *now)
{
	const char *kept = dnsoperator_data(now, DNSOPERATOR_BEFORE);
	return kept != NULL || is_ours(now) ? kept : dnsoperator_data(now, "Corefile");
}

json_t *dnsoperator_owner(const json_t *dns)
{
	return json_pack("{ss,ss,ss,ss,sb}", "apiVersion", api_version(dns), "kind", api_kind(dns),
			 "name", api_name(dns), "uid", api_uid(dns), "controller", 1);
}

json_t *dnsoperator_text_object(const struct dnsoperator_plan *plan,
				const struct dnsoperator_facts *facts, const json_t *dns,
				const json_t *now)
{
	const struct dnsoperator_site *site = &dnsoperator_sites[facts->platform];
	json_t *o = configmap(site->ns, site->configmap);
	json_t *data = json_object_get(o, "data");
	json_object_set_new(data, "Corefile", json_stringn(plan->text.s, plan->text.n));
	if (facts->platform == DNSOPERATOR_OPENSHIFT) {
		/* As the original: it goes with the object. Elsewhere servers would lose theirs. */
		json_object_set_new(json_object_get(o, "metadata"), "ownerReferences",
				    json_pack("[o]", dnsoperator_owner(dns)));
	} else if (dnsoperator_text_before(now) != NULL) {
		json_object_set_new(data, DNSOPERATOR_BEFORE,
				    json_string(dnsoperator_text_before(now)));
	}
	return o;
}

uint64_t dnsoperator_text_time(const json_t *object)
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
	json_t *o = configmap(site->ns, name);
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

static bool list_has(const json_t *now, const json_t *wanted)
{
	size_t i, k;
	json_t *want, *have;
	json_array_foreach (wanted, i, want) {
		bool found = false;
		json_array_foreach (now, k, have)
			found = found || dnsoperator_object_has(have, want);
		if (!found)
			return false;
	}
	return json_is_array(now);
}

bool dnsoperator_object_has(const json_t *now, const json_t *wanted)
{
	const char *key;
	json_t *v;
	if (json_is_array(wanted))
		return list_has(now, wanted);
	if (!json_is_object(wanted))
		return json_equal(api_tree(now), api_tree(wanted)) != 0;
	json_object_foreach (api_tree(wanted), key, v) {
		if (!dnsoperator_object_has(json_object_get(now, key), v))
			return false;
	}
	return json_is_object(now);
}

/* ---- backup ---- */

enum { BACKUP_MAX = 128 << 10, ANNOTATIONS_MAX = 256 << 10 };

/* Is there room among all annotations, whose limit is the API's? One that would be refused each
 * time is not tried. */
static bool has_room(const json_t *dns, const char *backup)
{
	size_t n = strlen(DNSOPERATOR_BACKUP) + strlen(backup);
	const char *key;
	json_t *v;
	json_object_foreach (api_get(dns, "metadata.annotations"), key, v) {
		if (strcmp(key, DNSOPERATOR_BACKUP) != 0)
			n += strlen(key) + json_string_length(v);
	}
	return strlen(backup) <= BACKUP_MAX && n <= ANNOTATIONS_MAX;
}

json_t *dnsoperator_backup_patch(const json_t *dns, const struct dnsoperator_plan *plan,
				 const struct dnsoperator_facts *facts)
{
	const char *now = api_annotation(dns, DNSOPERATOR_BACKUP);
	const json_t *list = api_get(dns, "spec.templates");
	json_t *patch = NULL;
	/* A list that is gone may have been taken by a CRD: the copy stays. */
	if (json_array_size(list) == 0 || facts->gate == DNSOPERATOR_GATE_OFF ||
	    plan->templates.n != 0)
		return NULL;
	char *want = json_dumps(list, JSON_COMPACT | JSON_SORT_KEYS);
	if (has_room(dns, want) && (now == NULL || strcmp(now, want) != 0))
		patch = json_pack("{s{s{ss}}}", "metadata", "annotations", DNSOPERATOR_BACKUP,
				  want);
	else if (!has_room(dns, want) && now != NULL) /* of another list than the one in force */
		patch = json_pack("{s{s{sn}}}", "metadata", "annotations", DNSOPERATOR_BACKUP);
	free(want);
	return patch;
}

/* ---- status ---- */

void dnsoperator_cluster_ip(const json_t *network, char *out, size_t len)
{
	enum { TENTH = 10 };
	struct net_cidr c;
	const char *text = api_get_string(network, "status.serviceNetwork[0]");
	out[0] = '\0';
	if (net_cidr_parse(slice_of(text), &c) < 0)
		return;
	unsigned carry = TENTH;
	for (int i = c.family == AF_INET ? 3 : 15; i >= 0 && carry != 0; i--) {
		carry += c.ip[i];
		c.ip[i] = (uint8_t)carry;
		carry >>= 8;
	}
	if (inet_ntop(c.family, c.ip, out, (socklen_t)len) == NULL)
		out[0] = '\0';
}

json_t *dnsoperator_member(json_t *object, const char *name, json_t *(*make)(void))
{
	json_t *v = json_object_get(object, name), *fresh = make();
	if (v != NULL && json_typeof(v) == json_typeof(fresh)) {
		json_decref(fresh);
		return v;
	}
	json_object_set_new(object, name, fresh);
	return fresh;
}

static bool set_text(json_t *object, const char *name, const char *text)
{
	const json_t *now = json_object_get(object, name);
	if (json_is_string(now) && strcmp(api_text(now), text) == 0)
		return false;
	json_object_set_new(object, name, json_string(text));
	return true;
}

static bool any_has_generation(const json_t *conditions)
{
	const json_t *c;
	size_t i;
	json_array_foreach (conditions, i, c) {
		if (json_object_get(c, "observedGeneration") != NULL)
			return true;
	}
	return false;
}

struct dnsoperator_observed dnsoperator_observed_of(const json_t *dns, int64_t sent)
{
	int64_t now = api_generation(dns);
	const json_t *conditions = api_get(dns, "status.conditions");
	bool in_status = api_get(dns, "status.observedGeneration") != NULL;
	bool in_conditions = any_has_generation(conditions);
	/* without conditions it is not the status that was sent: another object, or one emptied */
	bool try = sent != now || json_array_size(conditions) == 0;
	return (struct dnsoperator_observed){ try || in_status ? now : 0,
					      try || in_conditions ? now : 0 };
}

bool dnsoperator_conditions_set(json_t *list, const struct dnsoperator_condition *condition,
				size_t count, const struct dnsoperator_observed *observed,
				uint64_t now_wall_ns)
{
	bool changed = false;
	for (size_t i = 0; i < count; i++) {
		if (condition[i].reason == NULL)
			continue;
		changed |= api_condition_set(
			list,
			&(struct api_condition){ .type = condition[i].type,
						 .status = condition[i].status,
						 .reason = condition[i].reason,
						 .message = condition[i].message,
						 .generation = observed->conditions },
			now_wall_ns);
	}
	return changed;
}

/* Not before every condition of templates is of this generation. */
static bool set_observed(json_t *status, const struct dnsoperator_plan *plan, int64_t generation)
{
	const json_t *now = json_object_get(status, "observedGeneration");
	if (generation == 0 || plan->conditions[DNSOPERATOR_APPLIED].reason == NULL ||
	    (now != NULL && json_integer_value(now) == generation))
		return false;
	json_object_set_new(status, "observedGeneration", json_integer(generation));
	return true;
}

bool dnsoperator_status_set(json_t *dns, const struct dnsoperator_plan *plan,
			    const struct dnsoperator_facts *facts, const char *cluster_ip,
			    const struct dnsoperator_observed *observed, uint64_t now_wall_ns)
{
	json_t *status = dnsoperator_member(dns, "status", json_object);
	json_t *conditions = dnsoperator_member(status, "conditions", json_array);
	bool changed = false;
	/* OpenShift's CRD requires the field; "" claims nothing */
	if (!facts->domain_unknown || json_object_get(status, "clusterDomain") == NULL)
		changed = set_text(status, "clusterDomain",
				   facts->domain_unknown ? "" : dnsoperator_domain(facts));
	if (cluster_ip[0] != '\0' || json_object_get(status, "clusterIP") == NULL)
		changed |= set_text(status, "clusterIP", cluster_ip);
	changed |= set_observed(status, plan, observed->status);
	return dnsoperator_conditions_set(conditions, plan->conditions, DNSOPERATOR_CONDITIONS,
					  observed, now_wall_ns) ||
	       changed;
}
