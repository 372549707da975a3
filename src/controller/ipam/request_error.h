/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests that failed: their sentence for the log, and which of them the API refused. */
#pragma once

#include <stdbool.h>

#include "controller/controller.h"
#include "kube/client/status.h"

/* Writes "WHAT: the server's message" into ctx->err if `ret` is negative. Returns `ret`. */
int ipam_note_error(struct controller_ctx *ctx, const char *what, int ret,
		    const struct kube_status *status);
/* Does the server not accept the request, by its rules for objects, a policy, a quota or a missing
 * permission? The same request is accepted only after somebody has changed one of these. */
bool ipam_is_refusal(int ret);
