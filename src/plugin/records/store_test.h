/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests and benchmarks have records of their own instead of those of an API server. */
#pragma once

#include "plugin/records/claimed_names.h"

/* Stanzas prepared from now on use these, which stay the caller's; no API server is asked. NULL: from the
 * API server again. */
void records_store_preset(struct records_claims *claims);
