/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Many objects that change at the same time: after a start, or when a seed is reconciled. Each pass takes
 * a few requests to the API before its record set can be sent; if each were sent at once, the provider
 * would get many small batches. So a record set is held while others that are known to come are still
 * being prepared, for DNSRECORD_HOLD_NS at most. A single one is never held. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/map.h"

struct engine;
struct engine_work;

#define DNSRECORD_HOLD_NS (5 * NS_PER_S)

struct dnsrecord_wave {
	pthread_mutex_t lock;
	struct map waiting; /* keys that have a pass before them */
	struct map held;    /* by key: struct dnsrecord_held */
	uint64_t since_ns;  /* the first one is held since then */
};

void dnsrecord_wave_init(struct dnsrecord_wave *wave);
/* Frees what is held. */
void dnsrecord_wave_done(struct dnsrecord_wave *wave);

/* The key will have a pass, or needs none. Any thread. */
void dnsrecord_wave_expect(struct dnsrecord_wave *wave, const char *key, bool is_expected);
/* Its pass begins, or it is gone. What is held for it stays only if it is for this input. True: it does,
 * and the key comes again within *ret_again_ns. */
bool dnsrecord_wave_has(struct dnsrecord_wave *wave, const char *key, uint64_t input,
			uint64_t *ret_again_ns);
void dnsrecord_wave_drop(struct dnsrecord_wave *wave, const char *key);
/* Takes the work over; hands it and all that is held to the engine if no others are expected. Else
 * *ret_again_ns is when the key is to come again. */
void dnsrecord_wave_submit(struct dnsrecord_wave *wave, struct engine *engine, const char *key,
			   uint64_t input, struct engine_work *work, uint64_t *ret_again_ns);
/* Hands over what was held for long enough, or for nobody. */
void dnsrecord_wave_flush(struct dnsrecord_wave *wave, struct engine *engine);
