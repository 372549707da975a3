/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What one DNSRecord object asks for: a record set for a name. From the object's tree, checked as its
 * controller checks it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "api/tree.h"
#include "base/strbuf.h"
#include "dns/name.h"

/* spec.type of the objects that are served. */
#define RECORDS_TYPE "local"
/* What gardenlet asks for. */
#define RECORDS_OPERATION "gardener.cloud/operation"
/* Where Gardener's requests rule, the controller `dnsrecord` writes here what was last asked for: a change of the
 * spec alone does nothing there (DR-35). */
#define RECORDS_PUBLISHED "status.state.published"

enum records_claim_state {
	RECORDS_SERVED,
	RECORDS_SHADOWED, /* an older object has the name and type */
	RECORDS_INVALID,
	RECORDS_OVER_LIMIT,
};
enum { RECORDS_CLAIM_STATES = RECORDS_OVER_LIMIT + 1 };

struct records_claim {
	struct records_claim *next; /* of the same name, oldest first */
	char *object;		    /* "namespace/name" */
	enum records_claim_state state;
	char *reason; /* RECORDS_INVALID: why */

	char *uid;
	uint64_t created_ns;
	uint8_t name[DNS_NAME_MAX]; /* lower case; without the `*` of a wildcard */
	bool is_wild;
	uint16_t type, n;
	uint32_t ttl_s;
	struct strbuf data; /* as of records_set */
};

/* NULL: the object is not for us, is being deleted, or is another control plane's by now. `object` is copied. The state is RECORDS_SERVED
 * or RECORDS_INVALID. */
struct records_claim *records_claim_new(const char *object, const json_t *tree);
void records_claim_free(struct records_claim *claim);

/* Do they ask for the same, as objects of the same age? */
bool records_claim_equal(const struct records_claim *left, const struct records_claim *right);
/* Created before the other; of two that were created in the same second, the one with the lower UID. */
bool records_claim_is_older(const struct records_claim *left, const struct records_claim *right);
