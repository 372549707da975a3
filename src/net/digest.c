/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The SHA-512 digest of bytes, computed by GnuTLS. */
#include "net/digest.h"

#include <stdlib.h>

#include <gnutls/crypto.h>

void net_sha512(const void *data, size_t len, uint8_t out[NET_SHA512_BYTES])
{
	if (gnutls_hash_fast(GNUTLS_DIG_SHA512, data, len, out) < 0)
		abort(); /* SHA-512 is always there */
}
