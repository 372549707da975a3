/* SPDX-License-Identifier: GPL-3.0-or-later */
/* JSON merge patch (RFC 7386): applies a patch to a tree, and computes the patch that turns one
 * tree into another. */
#include "api/patch/merge.h"

#include "api/patch/patch.h"
#include "api/tree.h"

static json_t *merge_values(const json_t *target, const json_t *patch, unsigned depth)
{
	const char *k;
	json_t *v;
	if (!json_is_object(patch))
		return json_incref(api_tree(patch));
	if (depth > API_PATCH_DEPTH_MAX)
		return NULL;
	json_t *out = json_is_object(target) ? json_copy(api_tree(target)) : json_object();
	json_object_foreach (api_tree(patch), k, v) {
		if (json_is_null(v)) {
			json_object_del(out, k);
			continue;
		}
		json_t *c = merge_values(json_object_get(out, k), v, depth + 1);
		if (c == NULL) {
			json_decref(out);
			return NULL;
		}
		json_object_set_new(out, k, c);
	}
	return out;
}

json_t *api_merge_apply(const json_t *target, const json_t *patch)
{
	return merge_values(target, patch, 0);
}

static void diff_into(json_t *out, const json_t *from, const json_t *to)
{
	const char *k;
	json_t *v;
	json_object_foreach (api_tree(from), k, v) {
		if (json_object_get(to, k) == NULL)
			json_object_set_new(out, k, json_null());
	}
	json_object_foreach (api_tree(to), k, v) {
		const json_t *old = json_object_get(from, k);
		if (old != NULL && json_equal(old, v))
			continue;
		if (json_is_object(old) && json_is_object(v)) {
			json_t *sub = json_object();
			diff_into(sub, old, v);
			json_object_set_new(out, k, sub);
		} else {
			json_object_set(out, k, v);
		}
	}
}

json_t *api_merge_diff(const json_t *from, const json_t *to)
{
	if (!json_is_object(from) || !json_is_object(to))
		return json_incref(api_tree(to));
	json_t *out = json_object();
	diff_into(out, from, to);
	return out;
}
