/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Status lines of any shape: a number from 100 to 999 or an error. */
#include "http/probe.h"
#include "http/probe_test.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned status;
	if (http_probe_status((struct slice){ (const char *)data, size }, &status) == 0 &&
	    (status < 100 || status > 999))
		abort();
	return 0;
}
