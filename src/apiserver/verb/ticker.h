/* One thread that calls back at given times: watches end and say that nothing has happened. */
#pragma once

#include <stdint.h>

struct apiserver_ticker;
struct apiserver_tick;

struct apiserver_ticker *apiserver_ticker_new(void);
/* No tick may be left. NULL is fine. */
void apiserver_ticker_free(struct apiserver_ticker *ticker);

/* `fn` is called on the ticker's thread at `at_ns` (clock_mono_ns), then not again until the tick
 * is set anew. It must not wait. */
struct apiserver_tick *apiserver_tick_new(struct apiserver_ticker *ticker, void (*fn)(void *ctx),
					  void *ctx);
void apiserver_tick_set(struct apiserver_tick *tick, uint64_t at_ns);
/* When it has returned, fn is not running and not called any more. NULL is fine. */
void apiserver_tick_free(struct apiserver_tick *tick);
