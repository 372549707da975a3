/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keyed 64-bit hash of bytes (SipHash-1-3): safe against chosen keys as long as the key is secret.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct hash_key {
	uint64_t k0;
	uint64_t k1;
};

uint64_t hash_bytes(const struct hash_key *key, const void *data, size_t len);

/* The key of this process: drawn from the kernel at first use. */
const struct hash_key *hash_process_key(void);
