/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside of the master file reader: one $GENERATE line. */
#pragma once

#include <stdint.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "base/strbuf.h"

struct zonefile_range {
	int64_t from;
	int64_t to;
	int64_t step;
};

/* "1-10/2". 0, or ERR_PARSE with a sentence. */
MUST_CHECK int dns_zonefile_range(struct slice text, struct zonefile_range *ret,
				  const char **reterr);

/* The line for one value: each $ replaced, escapes and modifiers taken out. ERR_PARSE with a
 * sentence, also when the line would be longer than a record may be. */
MUST_CHECK int dns_zonefile_expand(struct slice pattern, const struct zonefile_range *range,
				   int64_t value, struct strbuf *out, const char **reterr);
