/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which changes in the conditions of the DNS object get an Event. What stays as it is gets none. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "api/tree.h"

struct dnsoperator_transition {
	const char *reason; /* of the Event */
	const char *message;
	bool warning;
};

enum { DNSOPERATOR_TRANSITIONS_MAX = 5 };

/* Compares the object before and after a change of its status. Returns the number of Events; strings
 * belong to `after`. */
size_t dnsoperator_transitions_of(const json_t *before, const json_t *after,
				  struct dnsoperator_transition ret[DNSOPERATOR_TRANSITIONS_MAX]);
