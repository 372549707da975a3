/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes the status of the DNS object. */
#pragma once

#include "base/compiler.h"
#include "controller/dnsoperator/pass.h"

/* Writes the conditions if they changed, emits Events for what is new in them, and publishes the
 * rest (report.h). */
MUST_CHECK int dnsoperator_write_status(struct dnsoperator_pass *pass);
