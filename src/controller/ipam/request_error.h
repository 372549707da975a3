/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sentence of a request that failed, for the log. */
#pragma once

#include "controller/controller.h"
#include "kube/client/status.h"

/* Writes "WHAT: the server's message" into ctx->err if `ret` is negative. Returns `ret`. */
int ipam_note_error(struct controller_ctx *ctx, const char *what, int ret,
		    const struct kube_status *status);
