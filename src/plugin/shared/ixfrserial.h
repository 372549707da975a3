/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The serial in an IXFR question (RFC 1995 §3). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

/* The serial of the SOA record that is the only one of the authority section. ERR_PARSE. */
MUST_CHECK int ixfrserial_read(const uint8_t *msg, size_t len, uint32_t *ret);
