/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The header Retry-After (RFC 9110, 10.2.3): seconds, or a date. */
#pragma once

#include <stdint.h>

#include "base/compiler.h"
#include "base/slice.h"

enum { HTTP_RETRY_AFTER_MAX_S = 1 << 20 }; /* longer times are cut to this: twelve days */

/* Seconds from now; 0 for a date that has passed. `wall_s` is now, since 1970. ERR_PARSE for
 * anything but digits or one of the three forms of a date in RFC 9110, 5.6.7. */
MUST_CHECK int http_retry_after_parse(struct slice value, uint64_t wall_s, unsigned *ret_s);
