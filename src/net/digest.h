/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The SHA-512 digest of bytes. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { NET_SHA512_BYTES = 64 };

void net_sha512(const void *data, size_t len, uint8_t out[NET_SHA512_BYTES]);
