/* SPDX-License-Identifier: GPL-3.0-or-later */
/* JSONPath of printer columns: the part of it that CRDs use. Only the first result is returned,
 * since only that is printed:
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

/* The first result, borrowed; NULL when there is none or the path is invalid. */
const json_t *apiserver_jsonpath_first(const json_t *object, const char *path);
