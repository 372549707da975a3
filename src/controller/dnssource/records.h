/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The DNSRecords of one source in the cluster: made, changed and deleted where they differ from what the
 * source should have. Those of others are never touched. */
#pragma once

#include <stdbool.h>

#include "api/tree.h"
#include "base/compiler.h"
#include "controller/controller.h"
#include "controller/dnssource/problems.h"

/* `wanted` is a list of objects. Records that are not in it are deleted, unless the problems keep them. A
 * name that is taken is added to the problems. 0, or a negative code with ctx->err. */
MUST_CHECK int dnssource_write_records(struct controller_ctx *ctx, const char *key,
				       const json_t *source, const json_t *wanted,
				       struct dnssource_problems *problems);
