/* Patches: JSON merge patch (RFC 7386) and JSON patch (RFC 6902). Trees given are not changed;
 * results are new references that may share parts with what was given, so treat them as read-only
 * or copy them (json_deep_copy). */
#pragma once

#include <stddef.h>

#include <jansson.h>

#include "base/compiler.h"

enum {
	API_PATCH_OPS_MAX = 10000,
	API_PATCH_DEPTH_MAX = 128,
	API_PATCH_COPIED_MAX_BYTES = 3 << 20, /* by all `copy` together, as kube-apiserver's */
};

/* `target` may be NULL (nothing there). NULL only when nested deeper than API_PATCH_DEPTH_MAX. */
json_t *api_merge_apply(const json_t *target, const json_t *patch);
/* The merge patch that makes `to` of `from`; {} when they are equal. Arrays are replaced whole; a
 * null inside `to` cannot be said by such a patch and comes out as a removal. */
json_t *api_merge_diff(const json_t *from, const json_t *to);

/* All operations or none. ERR_PARSE: not a patch; ERR_NOTFOUND: a path that must exist does not;
 * ERR_CONFIG: a `test` failed; ERR_LIMIT. `err` gets a sentence with the operation's number. */
MUST_CHECK int api_json_patch(const json_t *target, const json_t *ops, json_t **ret, char *err,
			      size_t err_n);
