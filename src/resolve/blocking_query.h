/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One blocking query, for threads without a loop: controllers and commands. */
#pragma once

#include "resolve/types.h"

/* Asks once over UDP, again over TCP when truncated.
 * The reply is written into out[cap]; its length, or -ETIMEDOUT, another -errno, or ERR_PARSE. */
MUST_CHECK int resolve_query_blocking(const struct resolve_conf *conf, uint8_t *msg,
				      uint16_t number, uint64_t timeout_ns, uint8_t *out,
				      size_t cap);
