/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The state of answering one question from a zone, shared by the files zoneserve*.c. */
#pragma once

#include "dns/zone/zone.h"
#include "plugin/shared/zoneserve.h"

struct zoneserve_run {
	struct plugin_inst *self;
	struct query *q;
	const struct dns_zone *z;
	const struct fallthrough *fall;
	bool dnssec; /* the client wants signatures */
	bool proofs; /* and the zone is signed */
	unsigned hops;

	/* The name now looked for: the question's, then the targets of aliases. */
	const struct dns_qname *name;
	const uint8_t *owner; /* the same, for records of the reply */
	uint8_t owner_len;
	struct dns_qname target;
};
