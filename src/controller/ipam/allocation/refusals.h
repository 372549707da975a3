/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Claims whose requests the API refused (request_error.h), and when each is tried again: after a second, then
 * after twice as long each time. Meanwhile it takes no turn: another claim may get the address that the API
 * refuses to this one. Any thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

#define IPAM_REFUSED_FIRST_NS NS_PER_S
#define IPAM_REFUSED_MAX_NS   (300 * NS_PER_S)

struct ipam_refusals;

struct ipam_refusals *ipam_refusals_new(void);
void ipam_refusals_free(struct ipam_refusals *refusals);

/* The API has refused a request for the claim ("NAMESPACE/NAME"). */
void ipam_refusals_note(struct ipam_refusals *refusals, const char *claim);
/* The claim has what it needs, or is gone. */
void ipam_refusals_forget(struct ipam_refusals *refusals, const char *claim);
/* Nanoseconds until the claim is to be tried again; 0: now. */
uint64_t ipam_refusals_left_ns(struct ipam_refusals *refusals, const char *claim);
/* Was the last attempt refused? Also when the claim is due. */
bool ipam_refusals_has(struct ipam_refusals *refusals, const char *claim);
