/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which changes in the conditions of an object get an Event, by a table. What stays as it is gets
 * none. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "api/condition.h"
#include "api/tree.h"

enum { TRANSITION_STATUSES = API_TRUE + 1 };

/* A condition that gets Events. Lists of reasons have a space before and behind each; "": none. */
struct transition_row {
	const char *type;
	bool bad[TRANSITION_STATUSES]; /* by status */
	bool every;		       /* another message with the same reason gets one, too */
	const char *good;	       /* reason of the Event when it is good again */
	const char *quiet;	 /* reasons that another condition reports, or that are intended */
	const char *quiet_first; /* reasons without an Event if the condition is new */
};

struct transition {
	const char *reason; /* of the Event */
	const char *message;
	bool warning;
};

/* Compares the object before and after a change of its status. Returns the number of Events, at most
 * one for each row; strings belong to `after` and the table. */
size_t transitions_find(const struct transition_row *rows, size_t n_rows, const json_t *before,
			const json_t *after, struct transition *ret);
