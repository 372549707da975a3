/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests compute the status of ClusterOperators from trees. */
#pragma once

#include "controller/dnsoperator/status/clusteroperator.h"

/* Brings the status of the object up to date; true when something besides times changed. */
bool dnsoperator_clusteroperator_set(json_t *co, const struct dnsoperator_clusteroperator *in,
				     uint64_t now_wall_ns);
