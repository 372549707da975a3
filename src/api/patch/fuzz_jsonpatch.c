/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any target and any operations, as a list of two: patched or refused, and neither of them is
 * changed. */
#include <stdint.h>
#include <stdlib.h>

#include "api/patch/patch.h"
#include "base/err_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char err[256];
	json_t *got = NULL;
	json_t *both = json_loadb((const char *)data, n, 0, NULL);
	json_t *copy = json_deep_copy(both);
	if (json_is_array(both) && json_array_size(both) == 2 &&
	    api_json_patch(json_array_get(both, 0), json_array_get(both, 1), &got, ERR_TEXT(err)) ==
		    0)
		json_decref(got);
	if (both != NULL && !json_equal(both, copy))
		abort();
	json_decref(copy);
	json_decref(both);
	return 0;
}
