/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random numbers, one generator per owner, seeded from the kernel. `rng` is small and fast and its
 * numbers may be guessed from others of it: for shuffles and draws that anybody may see.
 * `rng_strong` is for what a forger must not guess: query ids, sockets, cookies. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct rng {
	uint64_t s[4];
};

void rng_init(struct rng *rng); /* seeded from getrandom(2) */
uint64_t rng_u64(struct rng *rng);
/* Uniform in [0, n), n > 0, without modulo bias. */
uint32_t rng_below(struct rng *rng, uint32_t count);

/* ChaCha20 that forgets its key with every refill: numbers given out tell nothing about others,
 * earlier or later. Few nanoseconds each, no system call after rng_strong_init. */
enum { RNG_STRONG_BYTES = 512 };
struct rng_strong {
	uint32_t key[8];
	uint32_t at; /* bytes of buf given out */
	uint8_t buf[RNG_STRONG_BYTES];
};
void rng_strong_init(struct rng_strong *rng);
void rng_strong_bytes(struct rng_strong *rng, void *out, size_t len);
void rng_strong_refill(struct rng_strong *rng);

static inline uint16_t rng_strong_u16(struct rng_strong *rng)
{
	if (rng->at + 2 > RNG_STRONG_BYTES)
		rng_strong_refill(rng);
	uint16_t v = (uint16_t)(rng->buf[rng->at] << 8 | rng->buf[rng->at + 1]);
	rng->at += 2;
	return v;
}

/* Bytes from the kernel; aborts when it has none. */
void rng_secure(void *buf, size_t len);
