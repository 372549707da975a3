/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Patches: JSON merge patch (RFC 7386) and JSON patch (RFC 6902). Trees passed in are not
 * changed; results are new references that may share parts with them, so treat them as read-only or
 * copy them (json_deep_copy). */
#pragma once

#include "api/patch/jsonpatch.h"
#include "api/patch/merge.h"

enum {
	API_PATCH_OPS_MAX = 10000,
	API_PATCH_DEPTH_MAX = 128,
	API_PATCH_COPIED_MAX_BYTES = 3 << 20, /* by all `copy` together, as kube-apiserver's */
};
