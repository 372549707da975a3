/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The two ConfigMaps of a plan, as trees: the Corefile, and the accepted configuration to fall back to.
 * write_configmaps.c writes them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "api/tree.h"
#include "base/compiler.h"
#include "controller/dnsoperator/plan/plan.h"

#define DNSOPERATOR_MANAGER "fairlead-dnsoperator"
#define DNSOPERATOR_BEFORE  "Corefile.before-fairlead"

/* "dns-default-accepted": what a plan falls back to. It may be as large as the Corefile, so it has an object of its own. */
char *dnsoperator_accepted_name(const struct dnsoperator_site *site);

/* Of a ConfigMap; NULL: it has no such key. */
const char *dnsoperator_data(const json_t *configmap, const char *key);

/* The ConfigMap with the Corefile, to be applied. `now` is the present one, NULL: missing. Elsewhere than
 * on OpenShift a Corefile that is not ours is kept under another key. */
json_t *dnsoperator_corefile_object(const struct dnsoperator_plan *plan,
				    const struct dnsoperator_facts *facts, const json_t *dns,
				    const json_t *now);
/* The Corefile that we replaced; NULL: none. */
const char *dnsoperator_corefile_before(const json_t *configmap);
/* When we wrote it, by the server's clock; 0: not known. */
uint64_t dnsoperator_corefile_time(const json_t *configmap);
json_t *dnsoperator_accepted_object(const struct dnsoperator_plan *plan,
				    const struct dnsoperator_facts *facts);
/* The accepted configuration in it; a new reference, NULL when it is missing. */
json_t *dnsoperator_accepted_read(const json_t *configmap);
