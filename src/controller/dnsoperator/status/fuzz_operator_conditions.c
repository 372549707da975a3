/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Trees of a cluster as JSON (test_trees.h). */
#include "controller/dnsoperator/status/test_trees.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	json_t *all = json_loadb((const char *)data, n, 0, NULL);
	if (all != NULL)
		trees_try(all, true);
	json_decref(all);
	return 0;
}
