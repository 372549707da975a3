/* kubernetes: names of a cluster's Services, endpoints and pods, as CoreDNS gives them (spec 1.3).
 * This file picks who answers; see conf.h for the others. */
#pragma once

#include "plugin/kubernetes/conf.h"

/* The name does not exist: NXDOMAIN, SERVFAIL before the first list, or the next plugin. */
enum verdict kubernetes_no_name(struct plugin_inst *self, struct query *q, size_t zone);
