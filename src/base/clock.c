/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The monotonic and the wall clock: the kernel's, or the source that a test has set. */
#include "base/clock.h"
#include "base/clock_test.h"

#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

static _Atomic(const struct clock_source *) replaced;

static const struct clock_source *fake_source(void)
{
	return atomic_load_explicit(&replaced, memory_order_acquire);
}

static uint64_t read_ns(clockid_t id)
{
	struct timespec ts;
	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

void clock_set_source(const struct clock_source *source)
{
	atomic_store_explicit(&replaced, source, memory_order_release);
}

uint64_t clock_mono_ns(void)
{
	const struct clock_source *fake = fake_source();
	return fake != NULL ? fake->mono_ns() : read_ns(CLOCK_MONOTONIC);
}

uint64_t clock_wall_ns(void)
{
	const struct clock_source *fake = fake_source();
	return fake != NULL ? fake->wall_ns() : read_ns(CLOCK_REALTIME);
}
