/* SPDX-License-Identifier: GPL-3.0-or-later */
/* HMAC (RFC 2104) with the SHA family: what shared keys sign with, in TSIG and in the APIs of cloud
 * providers.
 *
 * Of one piece: hmac(). Of several: hmac_start(), hmac_add() for each, hmac_end(); one that is
 * given up ends with hmac_drop(). One thread at a time. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

enum hmac_algorithm { HMAC_SHA1, HMAC_SHA224, HMAC_SHA256, HMAC_SHA384, HMAC_SHA512 };

enum { HMAC_MAX_BYTES = 64 };

/* Bytes of the result: 20, 28, 32, 48 or 64. */
size_t hmac_bytes(enum hmac_algorithm algorithm);

/* The key may have any length. `out` receives hmac_bytes() bytes. */
void hmac(enum hmac_algorithm algorithm, struct slice key, struct slice data,
	  uint8_t out[HMAC_MAX_BYTES]);

struct hmac {
	void *state; /* on the heap, wiped when freed; NULL: not started */
};

/* `hmac` is not started ({ 0 }, ended or dropped). The key is copied. */
void hmac_start(struct hmac *hmac, enum hmac_algorithm algorithm, struct slice key);
void hmac_add(struct hmac *hmac, const void *data, size_t len);
void hmac_end(struct hmac *hmac, uint8_t out[HMAC_MAX_BYTES]);
void hmac_drop(struct hmac *hmac); /* one that was not started is fine */
