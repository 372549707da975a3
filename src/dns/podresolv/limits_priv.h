/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The limits of profiles. */
#pragma once

#include "dns/podresolv/podresolv.h"

struct podresolv_limits {
	size_t searches, characters; /* characters of the search list, with its spaces */
	bool refuses;		     /* a pod past them is refused, not cut */
};

const struct podresolv_limits *podresolv_limits_of(enum podresolv_profile profile);

/* Drops entries past the profile's limits, with kubelet's Events (PD-24, PD-25). */
void podresolv_apply_limits(const struct podresolv_input *input, struct arena *arena,
			    struct podresolv_result *result);
