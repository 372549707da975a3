/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the keys are kept: the Secret `fairlead-egress-keys` beside the DNS servers, which mount it; on
 * one machine a file in the controller's data directory, which the server of this process reads. */
#pragma once

#include "base/compiler.h"
#include "base/secret.h"
#include "controller/controller.h"

#define EGRESSFIREWALL_TRANSFER_SECRET "fairlead-egress-keys"
#define EGRESSFIREWALL_TRANSFER_FILE   "keys"

/* Reads the keys, and writes others where they are missing or too old. Blocks as requests do. On an
 * error `ret` is as it was and ctx->err has the reason; ERR_CONFLICT and ERR_DUPLICATE: another writer
 * was faster, read again. */
MUST_CHECK int egressfirewall_transfer_load_keys(struct controller_ctx *ctx, struct secret *ret);
