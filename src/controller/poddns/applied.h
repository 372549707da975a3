/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The fields of a policy that a pod has, as its annotation PODDNS_APPLIED_KEY lists them. Pure. */
#pragma once

#include "api/tree.h"
#include "controller/poddns/change.h"

enum poddns_applied {
	PODDNS_APPLIED_SUFFIX = 1,
	PODDNS_APPLIED_REMOVE = 2,
	PODDNS_APPLIED_ADD = 4,
	PODDNS_APPLIED_NDOTS = 8,
};

/* Those that an earlier call applied and that hold still: an API server calls the hook again after others
 * changed the pod. */
unsigned poddns_applied_read(const struct poddns_change_input *input, const json_t *pod);
/* Writes the annotation, or removes it if nothing is applied. */
void poddns_applied_write(json_t *pod, unsigned applied);
