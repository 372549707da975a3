/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Applies a policy to a pod that is being created. Pure. */
#pragma once

#include "api/tree.h"
#include "base/compiler.h"

struct admission_reply;
struct poddns_cluster;
struct poddns_policy;

struct poddns_change_input {
	const json_t *ns; /* the Namespace's tree */
	const struct poddns_policy *policy;
	const struct poddns_cluster *cluster;
};

/* Edits `pod`; what it cannot do becomes a warning in `reply`. What the pod sets itself stays, and a
 * second call changes nothing. */
void poddns_change_pod(const struct poddns_change_input *input, json_t *pod,
		       struct admission_reply *reply);
