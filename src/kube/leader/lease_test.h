/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests compare the end of a lease with the clock. */
#pragma once

#include "kube/leader/lease.h"

/* Until when (clock_mono_ns) we are the leader for sure; 0: we are not. */
uint64_t lease_deadline_ns(struct lease *lease);
