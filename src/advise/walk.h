/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Models of two libcs: which element of a search list is the answer of a look-up, from what is known
 * of the elements. Measured on glibc 2.36 and musl 1.2.3 and 1.2.5:
 *   - as many dots as ndots or more: glibc asks for the bare name first and then walks the list,
 *     musl asks for the bare name only; fewer dots: both walk the list, the bare name comes last
 *   - an element without records of the type: glibc goes on, musl ends with "no data"
 *   - SERVFAIL: glibc goes on, musl ends with "try again" */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "advise/logline.h"
#include "advise/trace.h"
#include "base/slice.h"

enum { ADVISE_LIST_MAX = 32 };

/* Domains of a search list, in order. */
struct advise_list {
	struct slice domain[ADVISE_LIST_MAX];
	size_t n;
};

enum advise_libc { ADVISE_GLIBC, ADVISE_MUSL };
enum { ADVISE_LIBCS = ADVISE_MUSL + 1 };

/* What was seen of each element: sets of outcomes, empty where nothing is known. The last element is
 * the bare name. */
struct advise_elements {
	uint8_t seen[ADVISE_LIST_MAX + 1][ADVISE_TYPES];
	size_t n;
};

enum advise_end {
	ADVISE_END_FOUND,
	ADVISE_END_NXDOMAIN,
	ADVISE_END_NODATA,
	ADVISE_END_AGAIN,
	ADVISE_END_UNPROVEN, /* what is known does not tell */
};

struct advise_result {
	enum advise_end end;
	size_t element; /* found, or not known: which one */
	size_t asked;	/* queries of each type */
};

/* Elements that would be too long for a name are not known. */
void advise_elements_fill(struct advise_elements *elements, const struct advise_client *client,
			  const struct advise_list *list, struct slice base);

/* The end of a look-up of all `types` (a set: 1 << enum advise_type) at once. ADVISE_NOERROR must
 * have been replaced: see advise_lookup_judge(). */
struct advise_result advise_walk(const struct advise_elements *elements, unsigned types,
				 enum advise_libc libc, bool bare_first);
