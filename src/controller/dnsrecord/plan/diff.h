/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What would change at the provider because of a DNSRecord, compared with what its status says the
 * provider has, or with what was read there. */
#pragma once

#include <stdbool.h>

#include "api/tree.h"
#include "controller/dnsrecord/plan/record.h"
#include "controller/dnsrecord/plan/step.h"

struct publisher_request;

/* A new array of {action, zone, name, recordType, before, after}: action is create, change or delete;
 * `before` and `after` are {ttl, values}. Empty: nothing would change. */
json_t *dnsrecord_diff(const struct dnsrecord *record, bool withdraws);

/* Adds to a report {changes, problem, note} what a request that only reads (provider/publisher.h) met for
 * the step: changes, a problem that keeps the set from being written, a note on a set that is not deleted.
 * False: the provider could not be read, and nothing was added. */
bool dnsrecord_diff_reading(json_t *report, const struct dnsrecord_step *step,
			    const struct publisher_request *request);
