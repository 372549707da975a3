/* Time for tests. */
#pragma once

#include "base/clock.h"

/* NULL restores the kernel's clocks. Not thread-safe: call before threads start. */
void clock_set_source(const struct clock_source *source);
