/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any two objects, as a list of the target and the patch: patched or refused by a schema with every
 * kind of list, and neither of them is changed. */
#include <stdint.h>
#include <stdlib.h>

#include "api/patch/strategic.h"
#include "base/err_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const char schema_text[] =
	"{\"properties\":{\"m\":{\"properties\":{\"l\":{\"x-kubernetes-patch-strategy\":\"merge\","
	"\"x-kubernetes-patch-merge-key\":\"k\",\"items\":{\"properties\":{\"l\":{"
	"\"x-kubernetes-patch-strategy\":\"merge\",\"x-kubernetes-patch-merge-key\":\"j\"}}}}}},"
	"\"p\":{\"x-kubernetes-patch-strategy\":\"merge\"},\"r\":{\"x-kubernetes-patch-strategy\":"
	"\"replace\"},\"t\":{\"x-kubernetes-patch-strategy\":\"merge,retainKeys\","
	"\"x-kubernetes-patch-merge-key\":\"k\"},\"a\":{}}}";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static json_t *schema;
	char err[256];
	json_t *got = NULL;
	if (schema == NULL)
		schema = json_loads(schema_text, 0, NULL);
	json_t *both = json_loadb((const char *)data, n, 0, NULL);
	json_t *copy = json_deep_copy(both);
	if (json_is_array(both) &&
	    api_strategic_apply(schema, json_array_get(both, 0), json_array_get(both, 1), &got,
				ERR_TEXT(err)) == 0)
		json_decref(got);
	if (both != NULL && !json_equal(both, copy))
		abort();
	json_decref(copy);
	json_decref(both);
	return 0;
}
