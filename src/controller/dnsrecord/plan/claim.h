/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which of several DNSRecords that ask for the same name have it. */
#pragma once

#include <stdbool.h>

#include "controller/dnsrecord/plan/record.h"

/* Is its record set published under the name that `mine` asks for? */
bool dnsrecord_holds_name(const struct dnsrecord *record, const struct dnsrecord *mine);

/* Does `other` come before `mine`, which has no record set at its name and whose spec is valid? The one
 * whose record set is published does, else the older one, unless it cannot be published as it is. */
bool dnsrecord_goes_first(const struct dnsrecord *other, const struct dnsrecord *mine);

/* Do the two ask for sets that cannot be at one place? A CNAME is alone at its name. */
bool dnsrecord_collides(const struct dnsrecord *left, const struct dnsrecord *right);

/* The one of `others` that keeps the name from `mine`; NULL: none does. All of them go before `mine` and use the
 * same account. The published ones have the name, then the older ones, unless one that has it is in their way: who
 * waits for the name keeps it from no other. Puts `others` in that order. */
const struct dnsrecord *dnsrecord_find_claimant(const struct dnsrecord *mine,
						const struct dnsrecord **others, size_t count);
