/* SPDX-License-Identifier: GPL-3.0-or-later */
/* SipHash-1-3: a keyed hash, so that nobody outside can choose keys that collide in our tables. */
#include "base/hash.h"

#include <pthread.h>
#include <string.h>
#include <sys/random.h>

#include "base/compiler.h"

#define ROTL(x, b) (((x) << (b)) | ((x) >> (64 - (b))))

static ALWAYS_INLINE void sip_round(uint64_t state[4])
{
	state[0] += state[1];
	state[2] += state[3];
	state[1] = ROTL(state[1], 13) ^ state[0];
	state[3] = ROTL(state[3], 16) ^ state[2];
	state[0] = ROTL(state[0], 32);
	state[2] += state[1];
	state[0] += state[3];
	state[1] = ROTL(state[1], 17) ^ state[2];
	state[3] = ROTL(state[3], 21) ^ state[0];
	state[2] = ROTL(state[2], 32);
}

uint64_t hash_bytes(const struct hash_key *key, const void *data, size_t len)
{
	const uint8_t *in = data;
	uint64_t v[4] = { key->k0 ^ 0x736f6d6570736575, key->k1 ^ 0x646f72616e646f6d,
			  key->k0 ^ 0x6c7967656e657261, key->k1 ^ 0x7465646279746573 };
	uint64_t last = (uint64_t)len << 56;
	uint64_t m;

	for (; len >= 8; len -= 8, in += 8) {
		memcpy(&m, in, 8);
		v[3] ^= m;
		sip_round(v);
		v[0] ^= m;
	}
	m = 0;
	if (len != 0)
		memcpy(&m, in, len);
	m |= last;
	v[3] ^= m;
	sip_round(v);
	v[0] ^= m;
	v[2] ^= 0xff;
	sip_round(v);
	sip_round(v);
	sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static struct hash_key process_key;
static pthread_once_t process_key_once = PTHREAD_ONCE_INIT;

static void draw_process_key(void)
{
	if (getrandom(&process_key, sizeof(process_key), 0) != (ssize_t)sizeof(process_key))
		process_key = (struct hash_key){ 0x9e3779b97f4a7c15, (uintptr_t)&process_key };
}

const struct hash_key *hash_process_key(void)
{
	pthread_once(&process_key_once, draw_process_key);
	return &process_key;
}
