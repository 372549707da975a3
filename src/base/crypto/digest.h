/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Digests of bytes: SHA-256 and SHA-512. Any thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { DIGEST_SHA256_BYTES = 32, DIGEST_SHA512_BYTES = 64 };

void digest_sha256(const void *data, size_t len, uint8_t out[DIGEST_SHA256_BYTES]);
void digest_sha512(const void *data, size_t len, uint8_t out[DIGEST_SHA512_BYTES]);
