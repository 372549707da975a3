/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Times as the API writes them: RFC 3339 in UTC, whole seconds (`Time`) or six digits (`MicroTime`,
 * of Leases and Events: the server refuses another number of digits). */
#pragma once

#include <stdint.h>

#include "base/compiler.h"

enum { API_TIME_TEXT_MAX = 32 };

/* "2026-11-15T09:30:00Z" */
const char *api_time_format(uint64_t wall_ns, char out[API_TIME_TEXT_MAX]);
/* "2026-11-15T09:30:00.123456Z" */
const char *api_micro_time_format(uint64_t wall_ns, char out[API_TIME_TEXT_MAX]);
/* Either form, with any number of digits and any offset from UTC. ERR_PARSE; ERR_RANGE before 1970.
 */
MUST_CHECK int api_time_parse(const char *text, uint64_t *ret_wall_ns);
