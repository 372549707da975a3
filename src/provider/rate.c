/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The token bucket of an account. */
#include "provider/rate_priv.h"

#include <assert.h>
#include <stdbool.h>

#include "base/clock.h"
#include "base/compiler.h"

void provider_rate_init(struct provider_rate *rate, unsigned per_s, unsigned burst, uint64_t now_ns)
{
	assert(per_s != 0);
	*rate = (struct provider_rate){ .per_s = per_s,
					.max_per_s = per_s,
					.burst = burst != 0 ? burst : per_s,
					.filled_ns = now_ns };
	rate->tokens = rate->burst;
}

static void fill_tokens(struct provider_rate *rate, uint64_t now_ns)
{
	if (now_ns <= rate->filled_ns)
		return;
	double seconds = (double)(now_ns - rate->filled_ns) / (double)NS_PER_S;
	rate->tokens = MIN(rate->tokens + seconds * rate->per_s, rate->burst);
	rate->filled_ns = now_ns;
}

uint64_t provider_rate_wait_ns(struct provider_rate *rate, uint64_t now_ns)
{
	if (now_ns < rate->paused_until_ns)
		return rate->paused_until_ns - now_ns;
	fill_tokens(rate, now_ns);
	if (rate->tokens >= 1)
		return 0;
	return (uint64_t)((1 - rate->tokens) / rate->per_s * (double)NS_PER_S) + 1;
}

void provider_rate_take(struct provider_rate *rate, uint64_t now_ns)
{
	fill_tokens(rate, now_ns);
	assert(rate->tokens >= 1);
	rate->tokens -= 1;
}

void provider_rate_succeeded(struct provider_rate *rate)
{
	rate->throttled = 0;
	rate->per_s = MIN(rate->per_s + rate->max_per_s / PROVIDER_RATE_GROWTH, rate->max_per_s);
}

static uint64_t choose_pause(const struct provider_rate *rate, uint64_t retry_after_ns)
{
	uint64_t seconds = PROVIDER_PAUSE_MAX_S;
	if (retry_after_ns != 0)
		return MIN(retry_after_ns, PROVIDER_RETRY_AFTER_MAX_S * NS_PER_S);
	if (rate->throttled < 5)
		seconds = MIN(seconds, (uint64_t)PROVIDER_PAUSE_S << rate->throttled);
	return seconds * NS_PER_S;
}

void provider_rate_throttled(struct provider_rate *rate, uint64_t retry_after_ns, uint64_t now_ns)
{
	bool is_paused = now_ns < rate->paused_until_ns;
	if (is_paused && retry_after_ns == 0)
		return;
	uint64_t until = now_ns + choose_pause(rate, retry_after_ns);
	rate->paused_until_ns = MAX(rate->paused_until_ns, until);
	if (is_paused)
		return;
	rate->throttled++;
	rate->per_s = MAX(rate->per_s / 2, rate->max_per_s / PROVIDER_RATE_FLOOR);
	/* What has gathered before is no permission any more: one call shows how it is. */
	rate->filled_ns = rate->paused_until_ns;
	rate->tokens = 1;
}
