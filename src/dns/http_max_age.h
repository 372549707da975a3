/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How long a response may be kept, for caches that do not read its records (HTTP). */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { DNS_HTTP_AGE_MIN_S = 5, DNS_HTTP_AGE_MAX_S = 3600 };

/* The lowest TTL of a whole message, at most DNS_HTTP_AGE_MAX_S; DNS_HTTP_AGE_MIN_S for errors, delegations
 * and replies without records (CoreDNS's pkg/dnsutil). Malformed ones count as errors. `msg` is not
 * changed. */
uint32_t dns_http_max_age(uint8_t *msg, size_t len);
