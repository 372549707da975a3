/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which changes in the conditions of the DNS object get an Event. What stays as it is gets none. */
#pragma once

#include <stddef.h>

#include "api/tree.h"
#include "controller/shared/transitions.h"

enum { DNSOPERATOR_TRANSITIONS_MAX = 5 };

/* Compares the object before and after a change of its status. Returns the number of Events; strings
 * belong to `after`. */
size_t dnsoperator_transitions_of(const json_t *before, const json_t *after,
				  struct transition ret[DNSOPERATOR_TRANSITIONS_MAX]);
