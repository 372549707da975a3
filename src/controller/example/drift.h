/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Drift: another writer changes a copy. It is repaired, but not for ever: who keeps changing it is
 * contradicted once a minute only. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "api/tree.h"

struct controller_ctx;

/* Before a reconcile reads the store. */
void example_drift_begin(const struct controller_ctx *ctx, const char *ns);
/* Has a watch shown our last write, and nothing else since that write's reconcile? Then there is
 * nothing to reconcile. On the watch's thread. */
bool example_drift_is_echo(const struct controller_ctx *ctx, const char *ns);
/* Is the store's copy older than our last write? Then its watch shows that one soon. */
bool example_drift_is_outdated(const struct controller_ctx *ctx, const char *ns,
			       const char *version);
/* Before `wanted` is applied. 0: go on; else nanoseconds to wait. */
uint64_t example_drift_delay(const struct controller_ctx *ctx, const char *ns,
			     const json_t *wanted);
/* After it: the server's object, or NULL when it failed. */
void example_drift_applied(const struct controller_ctx *ctx, const char *ns, const json_t *made);
/* The Namespace wants no copy any more. */
void example_drift_forget(const struct controller_ctx *ctx, const char *ns);
