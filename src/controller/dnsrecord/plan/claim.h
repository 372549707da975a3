/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which of two DNSRecords that ask for the same name has it. */
#pragma once

#include <stdbool.h>

#include "controller/dnsrecord/plan/record.h"

/* Is its record set published under the name that `mine` asks for? */
bool dnsrecord_holds_name(const struct dnsrecord *record, const struct dnsrecord *mine);

/* Does `other` come before `mine`, which has no record set at its name and whose spec is valid? The one
 * whose record set is published does, else the older one, unless it cannot be published as it is. */
bool dnsrecord_goes_first(const struct dnsrecord *other, const struct dnsrecord *mine);
