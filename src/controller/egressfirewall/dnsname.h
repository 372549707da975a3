/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A pass over one DNSName object: it exists while rules use its name, its flags report which, and its
 * status has the addresses. */
#pragma once

#include "controller/controller.h"

/* `name` is that of the object. */
int egressfirewall_reconcile_name(struct controller_ctx *ctx, const char *name);
