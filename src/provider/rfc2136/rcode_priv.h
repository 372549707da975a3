/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the response codes of answers mean for a job, with sentences for people. */
#pragma once

#include "base/err_text.h"
#include "provider/code.h"
#include "provider/rfc2136/ask_priv.h"

/* Of an UPDATE of `zone` that was answered (PROVIDER_OK). PROVIDER_OK: it was applied; PROVIDER_CONFLICT:
 * a prerequisite does not hold. */
enum provider_code rfc2136_rcode_update(const struct rfc2136_ask *ask, const char *zone,
					struct err_text err);
/* Of a query. PROVIDER_OK: the reply may be read. */
enum provider_code rfc2136_rcode_query(const struct rfc2136_ask *ask, const char *name,
				       struct err_text err);
