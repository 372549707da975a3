/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as a Retry-After: refused, or a time within its limit. */
#include <stdlib.h>

#include "http/client/retry_after_priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	unsigned seconds = 0;
	struct slice value = { (const char *)data, len };
	if (http_retry_after_parse(value, 784111777, &seconds) == 0 &&
	    seconds > HTTP_RETRY_AFTER_MAX_S)
		abort();
	return 0;
}
