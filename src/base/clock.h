/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Time. Monotonic nanoseconds inside; wall time only at the edges. Tests may replace the source. */
#pragma once

#include <stdint.h>

#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S  UINT64_C(1000000000)

struct clock_source {
	uint64_t (*mono_ns)(void);
	uint64_t (*wall_ns)(void); /* since 1970 */
};

uint64_t clock_mono_ns(void);
uint64_t clock_wall_ns(void);
