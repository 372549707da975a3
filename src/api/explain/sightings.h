/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the status of DNSName objects has of names and addresses. Pure: no I/O, any thread. */
#pragma once

#include <stdint.h>

#include <jansson.h>

#include "api/explain/subject.h"
#include "base/vec.h"

/* An address of a name. Texts are borrowed from the trees. */
struct explain_sighting {
	const char *ns, *object; /* of the DNSName */
	const char *name;	 /* that has the address */
	struct explain_address address;
	const char *canonical; /* end of the CNAME chain; "": none is known */
	uint64_t first_ns;     /* wall time at which it was first seen; 0: unknown */
	uint64_t reported_ns;  /* when the status was last written for it: it was seen then */
	uint64_t lookup_ns;    /* the next lookup, as it was planned then */
};

struct explain_sightings {
	VEC(struct explain_sighting) list;
};

/* Of an array of DNSNames those about the subject: its address; or its name, also as the end of a
 * chain. What is not valid is passed over. In the order of objects. */
void explain_sightings_about(const json_t *names, const struct explain_subject *subject,
			     struct explain_sightings *ret);
/* Those of all names with one of the addresses, which are ordered (explain_address_compare). */
void explain_sightings_at(const json_t *names, const struct explain_address *addresses,
			  size_t count, struct explain_sightings *ret);
void explain_sightings_done(struct explain_sightings *sightings);
