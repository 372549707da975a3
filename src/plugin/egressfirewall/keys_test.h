/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keys from text, for tests. */
#pragma once

#include "base/slice.h"
#include "plugin/egressfirewall/keys.h"

/* Fills `ret`, which is zero. ERR_PARSE, ERR_LIMIT, with a reason that names the line and shows
 * nothing of a secret. */
MUST_CHECK int egressfirewall_keys_parse(struct slice text, struct egressfirewall_keys *ret,
					 struct err_text reterr);
void egressfirewall_keys_done(struct egressfirewall_keys *keys);
