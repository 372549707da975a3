/* SPDX-License-Identifier: GPL-3.0-or-later */
/* DNS objects with another name than `default` have no effect; an Event reports that, once for
 * each. */
#pragma once

#include "controller/dnsoperator/pass.h"

void dnsoperator_ignored_init(struct dnsoperator_ignored *ignored);
void dnsoperator_ignored_done(struct dnsoperator_ignored *ignored);
/* Such an object was added, changed or deleted. Any worker. */
void dnsoperator_ignore(struct controller_ctx *ctx, const char *name);
