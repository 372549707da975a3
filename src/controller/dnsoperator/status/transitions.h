/* Events for what has changed in the conditions of the DNS object: for people who read `kubectl
 * describe` or get Events by mail. What stays as it is is not told again. */
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

/* What there is to tell when the object's status becomes another; the number of them. Texts belong
 * to `after`. */
size_t dnsoperator_transitions_of(const json_t *before, const json_t *after,
				  struct dnsoperator_transition ret[DNSOPERATOR_TRANSITIONS_MAX]);
