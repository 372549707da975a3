/* xoshiro256** seeded by splitmix64 or the kernel, and the kernel's own bytes. */
#include "base/rng.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

void rng_secure(void *buf, size_t n)
{
	char *p = buf;
	while (n > 0) {
		ssize_t got = getrandom(p, n, 0);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			fprintf(stderr, "no random bytes from the kernel: %s\n", strerror(errno));
			abort();
		}
		p += got;
		n -= (size_t)got;
	}
}

void rng_init(struct rng *r)
{
	/* The all-zero state is the one the generator never leaves. */
	do
		rng_secure(r->s, sizeof(r->s));
	while ((r->s[0] | r->s[1] | r->s[2] | r->s[3]) == 0);
}

void rng_init_seed(struct rng *r, uint64_t seed)
{
	for (size_t i = 0; i < 4; i++) {
		seed += 0x9e3779b97f4a7c15;
		uint64_t z = (seed ^ seed >> 30) * 0xbf58476d1ce4e5b9;
		z = (z ^ z >> 27) * 0x94d049bb133111eb;
		r->s[i] = z ^ z >> 31;
	}
}

static uint64_t rotl(uint64_t x, int by)
{
	return x << by | x >> (64 - by);
}

uint64_t rng_u64(struct rng *r)
{
	uint64_t *s = r->s;
	uint64_t result = rotl(s[1] * 5, 7) * 9;
	uint64_t t = s[1] << 17;
	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotl(s[3], 45);
	return result;
}

/* Multiply-and-shift; products whose low half falls into the uneven rest are drawn again. */
uint32_t rng_below(struct rng *r, uint32_t n)
{
	uint64_t m = (rng_u64(r) >> 32) * n;
	if ((uint32_t)m < n) {
		uint32_t uneven = (0 - n) % n;
		while ((uint32_t)m < uneven)
			m = (rng_u64(r) >> 32) * n;
	}
	return (uint32_t)(m >> 32);
}
