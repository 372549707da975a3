/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any text as a file of TSIG keys: refused with a reason, or a bounded number of keys. */
#include <stdint.h>
#include <stdlib.h>

#include "plugin/egressfirewall/keys_test.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct egressfirewall_keys keys = { 0 };
	char why[256] = "";
	int r = egressfirewall_keys_parse((struct slice){ (const char *)data, size }, &keys,
					  ERR_TEXT(why));
	if ((r < 0) != (why[0] != '\0') || keys.n > EGRESSFIREWALL_KEYS_MAX)
		abort();
	egressfirewall_keys_done(&keys);
	return 0;
}
