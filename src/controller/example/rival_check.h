/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two controllers must not own one object: while the Deployment of the other one runs, `example` writes
 * nothing. */
#pragma once

#include <stdbool.h>

#include "base/strbuf.h"

struct controller_ctx;

/* Before each reconcile. A change of the Deployment queues all keys again. */
bool example_rival_runs(const struct controller_ctx *ctx);
/* A line for /readyz while it does. */
void example_rival_note(void *state, struct strbuf *out);
