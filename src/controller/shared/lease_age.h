/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether the holder of a Lease still renews it. As in an election, one that stopped is gone after the
 * Lease's duration, counted from when this process first saw the last version: clocks of two
 * machines are not compared. No lock of its own. */
#pragma once

#include <stdint.h>

#include "api/tree.h"

struct lease_age {
	char *version;	     /* of the Lease as last seen; NULL: not yet */
	uint64_t changed_ns; /* when that version was first seen */
};

void lease_age_done(struct lease_age *age);
/* Nanoseconds until the Lease expires, by this version of it; 0: it has. */
uint64_t lease_age_left_ns(struct lease_age *age, const json_t *lease, uint64_t duration_ns,
			   uint64_t now_ns);
