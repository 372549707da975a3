/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whatever duration_parse accepts, duration_str prints so that it reads back equal. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/text/duration.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int64_t ns, again;
	char buf[64];
	if (duration_parse((struct slice){ (const char *)data, size }, &ns) < 0)
		return 0;
	if (duration_parse(slice_of(duration_str(ns, buf, sizeof(buf))), &again) < 0 || again != ns)
		abort();
	return 0;
}
