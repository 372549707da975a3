/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The condition Resolvable of a DNSRecord: whether DNS answers with its record set. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "api/tree.h"
#include "base/strbuf.h"
#include "controller/dnsrecord/plan/record.h"

/* What is known of it; the order is that of a table. */
enum dnsrecord_resolvable {
	DNSRECORD_NOT_ASKED,  /* Unknown: it was published, and DNS was not asked since */
	DNSRECORD_RESOLVED,   /* True */
	DNSRECORD_OTHER,      /* False: another answer, although the provider has the record set */
	DNSRECORD_UNANSWERED, /* Unknown: no server has an answer */
	DNSRECORD_UNREAD,     /* Unknown: another answer, and the provider could not be asked */
};

/* Do DNS's values say the same? TTLs do not count: caches lower them. */
bool dnsrecord_is_resolved(const struct provider_rrset *wanted, const struct provider_rrset *found);
/* "DNS answers ...": the values in a fixed order, the first few of them. */
void dnsrecord_describe_answer(const struct provider_rrset *found, bool is_alias,
			       struct strbuf *out);

/* Sets the condition in the list. True: something besides times has changed. `message` NULL: the usual. */
bool dnsrecord_set_resolvable(json_t *conditions, enum dnsrecord_resolvable what,
			      const char *message, uint64_t now_wall_ns);
/* The same as a merge patch of the status; NULL: the object has it already. */
json_t *dnsrecord_resolvable_patch(const struct dnsrecord *record, enum dnsrecord_resolvable what,
				   const char *message, uint64_t now_wall_ns);
/* Does the object's condition say this? `message` NULL: any. */
bool dnsrecord_has_resolvable(const struct dnsrecord *record, enum dnsrecord_resolvable what,
			      const char *message);
