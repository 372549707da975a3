/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes: our reader and jansson's strict decoder accept the same texts and see the same in
 * them. */
#include <stdio.h>

#include "kube/decode/test_oracle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const char *why = oracle_compare((struct slice){ (const char *)data, n });
	if (why != NULL) {
		fprintf(stderr, "%s\n", why);
		abort();
	}
	return 0;
}
