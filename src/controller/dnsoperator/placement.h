/* On which nodes the DNS object wants servers: spec.nodePlacement, or what holds without it. */
#pragma once

#include "api/tree.h"

/* New references. */
json_t *dnsoperator_node_selector(const json_t *dns);
json_t *dnsoperator_tolerations(const json_t *dns);
