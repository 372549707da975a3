/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests replace the clocks of base/clock.h by their own, so that no test sleeps. */
#pragma once

#include "base/clock.h"

/* NULL restores the kernel's clocks. Not thread-safe: call before threads start. */
void clock_set_source(const struct clock_source *source);
