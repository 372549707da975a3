/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One look-up of the log: whether it ends at the same answer when the bare name is asked for first,
 * and what that saves. */
#pragma once

#include <stdint.h>

#include "advise/walk.h"

enum advise_judgement {
	ADVISE_SAME,
	ADVISE_SEARCHED, /* a domain of the list has the name */
	ADVISE_DIFFERS,	 /* it fails in another way */
	ADVISE_UNPROVEN, /* the log does not tell */
};

struct advise_lookup {
	const struct advise_client *client;
	const struct advise_list *list;
	struct slice base;
	unsigned libcs; /* set: 1 << enum advise_libc */
};

/* `*ret_element`: of a judgement other than ADVISE_SAME, the element that is the reason. */
enum advise_judgement advise_lookup_judge(const struct advise_lookup *lookup, size_t *ret_element);

/* Queries of all such look-ups of the log: how many there were at least, and how many there would be. */
struct advise_cost {
	uint64_t lookups;	  /* complete ones */
	uint64_t now, bare_first; /* bare_first: of the libc that saves less */
	uint64_t virtual_suffix;
};
void advise_lookup_cost(const struct advise_lookup *lookup, struct advise_cost *ret);
