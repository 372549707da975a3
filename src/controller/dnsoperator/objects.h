/* The objects that carry a plan out: two ConfigMaps and the DNS object's status. Trees in, trees
 * out; who reads and writes them is dnsoperator.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "api/tree.h"
#include "base/compiler.h"
#include "controller/dnsoperator/plan.h"

#define DNSOPERATOR_MANAGER "fairlead-dnsoperator"
#define DNSOPERATOR_BACKUP  "dns.fairlead.dev/templates-backup"
#define DNSOPERATOR_BEFORE  "Corefile.before-fairlead"

/* "dns-default-accepted": what a plan falls back to. It may be as large as the text, so it has an
 * object of its own. */
char *dnsoperator_accepted_name(const struct dnsoperator_site *site);

/* Of a ConfigMap; NULL: it has no such key. */
const char *dnsoperator_data(const json_t *configmap, const char *key);

/* An entry of ownerReferences. */
json_t *dnsoperator_owner(const json_t *dns);

/* What is to be applied as the ConfigMap with the text. `now` is what is there, NULL for nothing:
 * elsewhere than on OpenShift a Corefile that is not ours is kept under another key. */
json_t *dnsoperator_text_object(const struct dnsoperator_plan *plan,
				const struct dnsoperator_facts *facts, const json_t *dns,
				const json_t *now);
/* The Corefile that was there before us; NULL: none. */
const char *dnsoperator_text_before(const json_t *configmap);
/* When we wrote it, by the server's clock; 0: nobody knows. */
uint64_t dnsoperator_text_time(const json_t *configmap);
json_t *dnsoperator_accepted_object(const struct dnsoperator_plan *plan,
				    const struct dnsoperator_facts *facts);
/* The tree in it; a new reference, NULL when there is none. */
json_t *dnsoperator_accepted_read(const json_t *configmap);
/* Has the object all that is wanted? */
bool dnsoperator_object_has(const json_t *now, const json_t *wanted);

/* A copy of the last accepted templates in an annotation of the DNS object: under an older CRD any
 * write destroys the field (OP-36). A merge patch, the caller's; NULL when nothing is to be done.
 * A list that is too long for an annotation has none: stored.h keeps it, too. */
json_t *dnsoperator_backup_patch(const json_t *dns, const struct dnsoperator_plan *plan,
				 const struct dnsoperator_facts *facts);

/* The member of that name, made where there is none, or one of another type. */
json_t *dnsoperator_member(json_t *object, const char *name, json_t *(*make)(void));
/* The generation to be written as observedGeneration, so that nobody takes a condition for one of a
 * later generation; 0: the CRD drops the field. OpenShift's CRD drops both. */
struct dnsoperator_observed {
	int64_t status, conditions;
};
/* `sent` is the generation that was last written so; where the object does not have it although it
 * was, the CRD drops it. */
struct dnsoperator_observed dnsoperator_observed_of(const json_t *dns, int64_t sent);

/* Those that have a reason, into the list; true when something besides times changed. */
bool dnsoperator_conditions_set(json_t *list, const struct dnsoperator_condition *condition,
				size_t count, const struct dnsoperator_observed *observed,
				uint64_t now_wall_ns);
/* Brings domain, address and the conditions of templates up to date in the object's status; true
 * when something besides times changed. The other conditions are those of health.h. */
bool dnsoperator_status_set(json_t *dns, const struct dnsoperator_plan *plan,
			    const struct dnsoperator_facts *facts, const char *cluster_ip,
			    const struct dnsoperator_observed *observed, uint64_t now_wall_ns);
/* The address of the cluster's DNS: the tenth of the first service network; "" without one. */
void dnsoperator_cluster_ip(const json_t *network, char *out, size_t len);
