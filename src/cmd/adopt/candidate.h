/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A DNSRecord whose name has a record set of somebody else at the provider, and what adopting that
 * takes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "api/tree.h"
#include "base/arena.h"
#include "base/compiler.h"
#include "base/err_text.h"
#include "cmd/adopt/account.h"
#include "cmd/adopt/registry.h"
#include "controller/dnsrecord/plan/record.h"

enum { ADOPT_REGISTRY_NAMES = 2 }; /* of the set's type, and of old versions */

struct adopt_candidate {
	const json_t *object;
	struct dnsrecord record;
	char *zone;			  /* heap */
	const struct provider_rrset *now; /* what is at the provider */
	bool is_registered;		  /* in external-dns's registry */
	struct adopt_registration registration;
	/* The TXT sets of the registry, without external-dns's values. */
	struct provider_edit edits[ADOPT_REGISTRY_NAMES];
	size_t n_edits;
	struct provider_change read; /* has the sets */
};

/* Can this object be one, by what it says itself? Fills object and record from the (growing) arena. */
bool adopt_candidate_begin(struct adopt_candidate *candidate, const json_t *object,
			   struct arena *arena);
/* Reads what the provider has. 1: there is something to adopt; 0: nothing is there; -1 with a
 * sentence: it cannot be read, or sets of other types are in the way. */
MUST_CHECK int adopt_candidate_read(struct adopt_candidate *candidate,
				    struct adopt_account *account,
				    const struct adopt_affixes *affixes, struct arena *arena,
				    struct err_text err);
void adopt_candidate_done(struct adopt_candidate *candidate);
