/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is done without a request: invalid policies are reported, search lists published to DNS
 * servers, and pods found that were created without their policy. */
#pragma once

#include "base/compiler.h"

struct controller_ctx;

MUST_CHECK int poddns_reconcile(struct controller_ctx *ctx, const char *key);
