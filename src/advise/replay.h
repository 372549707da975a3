/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The look-ups of a log, once more: a model of a libc makes each of them with the advised ndots, over
 * the answers that the log has, and the results are compared. */
#pragma once

#include <stdint.h>

#include "advise/advice.h"

struct advise_replay {
	uint64_t lookups;
	uint64_t changed;	/* another answer */
	uint64_t unproven;	/* the log lacks an answer that would be needed */
	uint64_t before, after; /* queries */
};

void advise_replay(const struct advise_advice *advice, const struct advise_namespace *ns,
		   enum advise_libc libc, struct advise_replay *ret);
