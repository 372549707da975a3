/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Timers of watches, for their end and their bookmarks: one thread that calls back at given
 * times. */
#pragma once

#include <stdint.h>

struct apiserver_ticker;
struct apiserver_tick;

struct apiserver_ticker *apiserver_ticker_new(void);
/* All ticks must have been freed. NULL is fine. */
void apiserver_ticker_free(struct apiserver_ticker *ticker);

/* `fn` is called once on the ticker's thread at the time of apiserver_tick_set (clock_mono_ns). It
 * must not block. */
struct apiserver_tick *apiserver_tick_new(struct apiserver_ticker *ticker, void (*fn)(void *ctx),
					  void *ctx);
void apiserver_tick_set(struct apiserver_tick *tick, uint64_t at_ns);
/* When it has returned, fn is not running and not called any more. NULL is fine. */
void apiserver_tick_free(struct apiserver_tick *tick);
