/* Random numbers: a small fast generator per owner, seeded from the kernel. Not for secrets beyond
 * query ids and ports; those use rng_secure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct rng {
	uint64_t s[4];
};

void rng_init(struct rng *r);			  /* seeded from getrandom(2) */
void rng_init_seed(struct rng *r, uint64_t seed); /* for tests: repeatable */
uint64_t rng_u64(struct rng *r);
/* Uniform in [0, n), n > 0, without modulo bias. */
uint32_t rng_below(struct rng *r, uint32_t n);
/* Bytes from the kernel; aborts when it has none. */
void rng_secure(void *buf, size_t n);
