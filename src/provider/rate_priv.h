/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How often an account is called: a token bucket whose rate halves when the provider throttles and
 * grows again with each call that succeeds, up to the documented rate (AIMD). Time is an argument. */
#pragma once

#include <stdint.h>

#include "base/clock.h"
#include "base/compiler.h"

enum {
	PROVIDER_RATE_GROWTH = 20, /* a success adds a 20th of the largest rate */
	PROVIDER_RATE_FLOOR = 50,  /* the smallest rate is a 50th of the largest */
	PROVIDER_PAUSE_S = 1,	   /* after a throttled call; doubles with each further one */
	PROVIDER_PAUSE_MAX_S = 30,
	PROVIDER_RETRY_AFTER_MAX_S = 300, /* longer ones are cut: the account would seem dead */
};

struct provider_rate {
	double per_s, max_per_s;
	double tokens, burst;
	uint64_t filled_ns; /* when `tokens` was right */
	uint64_t paused_until_ns;
	unsigned throttled; /* pauses since the last success */
};

void provider_rate_init(struct provider_rate *rate, unsigned per_s, unsigned burst,
			uint64_t now_ns);
/* 0: a call may begin now. */
uint64_t provider_rate_wait_ns(struct provider_rate *rate, uint64_t now_ns);
/* One begins; provider_rate_wait_ns was 0. */
void provider_rate_take(struct provider_rate *rate, uint64_t now_ns);
void provider_rate_succeeded(struct provider_rate *rate);
/* `retry_after_ns` 0: the provider did not say. Calls that were under way when a pause began do not
 * slow it down once more. */
void provider_rate_throttled(struct provider_rate *rate, uint64_t retry_after_ns, uint64_t now_ns);

/* The pause between attempts after passing faults; it doubles. */
enum { PROVIDER_BACKOFF_MS = 500, PROVIDER_BACKOFF_MAX_S = 30 };

static inline uint64_t provider_backoff_ns(unsigned attempts)
{
	uint64_t ms = (uint64_t)PROVIDER_BACKOFF_MS << MIN(attempts, 10U);
	return MIN(ms * NS_PER_MS, PROVIDER_BACKOFF_MAX_S * NS_PER_S);
}
