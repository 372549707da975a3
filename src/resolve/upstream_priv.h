/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Errors of exchanges in words, and measured round trips. */
#pragma once

#include "resolve/types_priv.h"

/* The error as Go words it, static; `code` is -errno or an ERR_ code. */
const char *resolve_error_text(int code);
/* A round trip was measured. */
void upstream_measured(struct resolve_pool *pool, uint64_t rtt_ns);
