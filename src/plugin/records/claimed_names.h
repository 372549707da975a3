/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All claims, and which of them are served. Several objects may ask for one name: of each type the oldest
 * is served; whether the name is an alias (CNAME) is decided by the oldest of all (RFC 1034 §3.6.2).
 *
 * One thread changes them, and the table with them: a change is served when the call returns. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "api/tree.h"
#include "plugin/records/claim.h"
#include "plugin/records/table.h"

struct records_claims;

/* `max`: objects that are served at most. */
struct records_claims *records_claims_new(size_t max);
/* When nobody reads the table any more. */
void records_claims_free(struct records_claims *claims);

/* An object, by "namespace/name", was added or changed. */
void records_claims_set(struct records_claims *claims, const char *object, const json_t *tree);
void records_claims_remove(struct records_claims *claims, const char *object);

const struct records_table *records_claims_table(const struct records_claims *claims);
/* Objects in a state. */
size_t records_claims_count(const struct records_claims *claims, enum records_claim_state state);
/* How often an object was found invalid, one that was so before and still is not counted. */
uint64_t records_claims_refused(const struct records_claims *claims);
