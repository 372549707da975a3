/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pauses between attempts after passing faults: they double. */
#pragma once

#include <stdint.h>

#include "base/clock.h"
#include "base/compiler.h"

enum { PROVIDER_BACKOFF_MS = 500, PROVIDER_BACKOFF_MAX_S = 30 };

static inline uint64_t provider_backoff_ns(unsigned attempts)
{
	uint64_t ms = (uint64_t)PROVIDER_BACKOFF_MS << MIN(attempts, 10U);
	return MIN(ms * NS_PER_MS, PROVIDER_BACKOFF_MAX_S * NS_PER_S);
}
