/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Metrics of the operator: the conditions of the DNS object, the templates in force by name (OP-T9:
 * servers count by zone, because their configuration has no names), and the answers of servers. Not
 * thread-safe. */
#pragma once

#include "api/tree.h"
#include "controller/dnsoperator/plan/plan.h"

struct dnsoperator_gauges;

struct dnsoperator_gauges *dnsoperator_gauges_new(void);
/* And forgets all series. */
void dnsoperator_gauges_free(struct dnsoperator_gauges *gauges);

/* NULL: there is no DNS object. */
void dnsoperator_gauges_conditions(const json_t *dns);
/* The answers of servers, NULL: not known; `hash` is that of the Corefile that they should run. */
void dnsoperator_gauges_servers(const struct dnsoperator_answers *instances, const char *hash);
/* The accepted list as it is in the object, NULL for none; `domain` is the cluster's. */
void dnsoperator_gauges_templates(struct dnsoperator_gauges *gauges, const json_t *list,
				  const char *domain);
