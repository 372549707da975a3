/* SPDX-License-Identifier: GPL-3.0-or-later */
/* xoshiro256** seeded by splitmix64 or the kernel, ChaCha20 (RFC 8439) as a generator, and the
 * kernel's own bytes. */
#include "base/rng.h"
#include "base/rng_test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

void rng_secure(void *buf, size_t len)
{
	char *p = buf;
	while (len > 0) {
		ssize_t got = getrandom(p, len, 0);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			fprintf(stderr, "no random bytes from the kernel: %s\n", strerror(errno));
			abort();
		}
		p += got;
		len -= (size_t)got;
	}
}

void rng_init(struct rng *rng)
{
	/* The all-zero state is the one the generator never leaves. */
	do
		rng_secure(rng->s, sizeof(rng->s));
	while ((rng->s[0] | rng->s[1] | rng->s[2] | rng->s[3]) == 0);
}

void rng_init_seed(struct rng *rng, uint64_t seed)
{
	for (size_t i = 0; i < 4; i++) {
		seed += 0x9e3779b97f4a7c15;
		uint64_t z = (seed ^ seed >> 30) * 0xbf58476d1ce4e5b9;
		z = (z ^ z >> 27) * 0x94d049bb133111eb;
		rng->s[i] = z ^ z >> 31;
	}
}

static uint64_t rotate_left(uint64_t word, int by)
{
	return word << by | word >> (64 - by);
}

uint64_t rng_u64(struct rng *rng)
{
	uint64_t *s = rng->s;
	uint64_t result = rotate_left(s[1] * 5, 7) * 9;
	uint64_t t = s[1] << 17;
	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotate_left(s[3], 45);
	return result;
}

/* Multiply-and-shift; products whose low half falls into the uneven rest are drawn again. */
uint32_t rng_below(struct rng *rng, uint32_t count)
{
	uint64_t m = (rng_u64(rng) >> 32) * count;
	if ((uint32_t)m < count) {
		uint32_t uneven = (0 - count) % count;
		while ((uint32_t)m < uneven)
			m = (rng_u64(rng) >> 32) * count;
	}
	return (uint32_t)(m >> 32);
}

/* ---- ChaCha20 ---- */

static uint32_t rotate_left_32(uint32_t word, int by)
{
	return word << by | word >> (32 - by);
}

static void quarter_round(uint32_t *a, uint32_t *b, uint32_t *c, uint32_t *d)
{
	*a += *b;
	*d = rotate_left_32(*d ^ *a, 16);
	*c += *d;
	*b = rotate_left_32(*b ^ *c, 12);
	*a += *b;
	*d = rotate_left_32(*d ^ *a, 8);
	*c += *d;
	*b = rotate_left_32(*b ^ *c, 7);
}

void rng_chacha20(const uint32_t key[8], uint32_t counter, const uint32_t nonce[3], uint8_t out[64])
{
	uint32_t in[16] = { 0x61707865, 0x3320646e, 0x79622d32, 0x6b206574 };
	uint32_t x[16];
	memcpy(in + 4, key, 8 * sizeof(*key));
	in[12] = counter;
	memcpy(in + 13, nonce, 3 * sizeof(*nonce));
	memcpy(x, in, sizeof(x));
	for (int i = 0; i < 10; i++) {
		for (int k = 0; k < 4; k++)
			quarter_round(&x[k], &x[4 + k], &x[8 + k], &x[12 + k]);
		for (int k = 0; k < 4; k++)
			quarter_round(&x[k], &x[4 + (k + 1) % 4], &x[8 + (k + 2) % 4],
				      &x[12 + (k + 3) % 4]);
	}
	for (int i = 0; i < 16; i++) {
		uint32_t v = x[i] + in[i];
		for (int k = 0; k < 4; k++)
			out[4 * i + k] = (uint8_t)(v >> (8 * k));
	}
}

/* The first bytes of what a key makes are the next key; nothing given out was made by a key that is
 * still there. */
void rng_strong_refill(struct rng_strong *rng)
{
	static const uint32_t nonce[3];
	for (uint32_t i = 0; i < RNG_STRONG_BYTES / 64; i++)
		rng_chacha20(rng->key, i, nonce, rng->buf + 64 * (size_t)i);
	memcpy(rng->key, rng->buf, sizeof(rng->key));
	memset(rng->buf, 0, sizeof(rng->key));
	rng->at = sizeof(rng->key);
}

void rng_strong_init(struct rng_strong *rng)
{
	rng_secure(rng->key, sizeof(rng->key));
	rng_strong_refill(rng);
}

void rng_strong_bytes(struct rng_strong *rng, void *out, size_t len)
{
	uint8_t *p = out;
	while (len > 0) {
		if (rng->at == RNG_STRONG_BYTES)
			rng_strong_refill(rng);
		size_t take = RNG_STRONG_BYTES - rng->at < len ? RNG_STRONG_BYTES - rng->at : len;
		memcpy(p, rng->buf + rng->at, take);
		rng->at += (uint32_t)take;
		p += take;
		len -= take;
	}
}
