/* SPDX-License-Identifier: GPL-3.0-or-later */
/* JSON merge patch (RFC 7386). */
#pragma once

#include <jansson.h>

/* `target` may be NULL (nothing exists). NULL only when nested deeper than API_PATCH_DEPTH_MAX. */
json_t *api_merge_apply(const json_t *target, const json_t *patch);
/* The merge patch that makes `to` of `from`; {} when they are equal. Arrays are replaced whole; a
 * null inside `to` cannot be expressed by such a patch and becomes a removal. */
json_t *api_merge_diff(const json_t *from, const json_t *to);
