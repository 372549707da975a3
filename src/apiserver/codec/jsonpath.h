/* The JSONPath of printer columns, as much of it as a CRD may use and the first of its results,
 * which is all that is printed:
 *
 *	.spec.name  .metadata.labels['a.b/c']  .metadata.labels.a\.b  .status.items[0].ip  [-1]
 *	.status.items[*].ip  .status.conditions[?(@.type=="Ready")].status  [?(@.n != 2)]  [?(@.n)]
 */
#pragma once

#include <stdbool.h>

#include <jansson.h>

enum {
	APISERVER_JSONPATH_STEPS_MAX = 32,
	APISERVER_JSONPATH_NAME_MAX_BYTES = 253 + 1 + 63,
	APISERVER_JSONPATH_DEPTH_MAX = 4, /* of filters in filters */
};

/* Is it one that is understood here? */
bool apiserver_jsonpath_check(const char *path);
/* NULL when nothing is there, or the path is none. */
const json_t *apiserver_jsonpath_first(const json_t *object, const char *path);
