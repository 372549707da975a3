/* What the operator knows, as metrics: the conditions of the DNS object, the templates that are in
 * force by name (OP-T9: servers count by zone, since names are not in their configuration), and
 * what servers run. Not for two threads at once. */
#pragma once

#include "api/tree.h"
#include "controller/dnsoperator/plan.h"

struct dnsoperator_gauges;

struct dnsoperator_gauges *dnsoperator_gauges_new(void);
/* And forgets all series. */
void dnsoperator_gauges_free(struct dnsoperator_gauges *gauges);

/* NULL: there is no DNS object. */
void dnsoperator_gauges_conditions(const json_t *dns);
/* What servers answered, NULL: not known; `hash` is that of the text that they are to run. */
void dnsoperator_gauges_servers(const struct dnsoperator_instances *instances, const char *hash);
/* The accepted list as it is in the object, NULL for none; `domain` is the cluster's. */
void dnsoperator_gauges_templates(struct dnsoperator_gauges *gauges, const json_t *list,
				  const char *domain);
