/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Applies the policy of a namespace to a pod, as far as the namespace's profile accepts the result: a
 * policy must not make pods invalid, which would stop all of the namespace. Pure. */
#pragma once

#include "api/tree.h"
#include "base/compiler.h"

struct admission_reply;
struct poddns_view;

/* The changed pod, a new reference; what cannot be applied becomes a warning in `reply`. The view has
 * the Namespace. */
MUST_CHECK json_t *poddns_apply_policy(const struct poddns_view *view, const json_t *pod,
				       struct admission_reply *reply);
