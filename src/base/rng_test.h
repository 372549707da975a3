/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random numbers that tests can repeat, and the cipher behind the secure ones. */
#pragma once

#include "base/rng.h"

void rng_init_seed(struct rng *rng, uint64_t seed); /* for tests: repeatable */
/* One block of RFC 8439. */
void rng_chacha20(const uint32_t key[8], uint32_t counter, const uint32_t nonce[3],
		  uint8_t out[64]);
