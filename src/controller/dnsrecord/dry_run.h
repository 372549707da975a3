/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Says in status.providerStatus.dryRun what would change, and changes nothing. */
#pragma once

#include "controller/dnsrecord/pass.h"

int dnsrecord_dry_run(struct dnsrecord_pass *pass);
