/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any object as a tree that keeps only the paths its consumer named; managedFields and kubectl's
 * copy of what was applied are never kept. Trees are read-only: several threads may hold one. jansson
 * counts references to their parts without care for other threads: put a copy (json_deep_copy) into
 * an object of your own, never a part itself. */
#pragma once

#include <stddef.h>

#include <jansson.h>

#include "kube/decode/obj.h"

struct api_kind;

struct kube_tree {
	struct kube_obj o;
	json_t *v;
};

static inline const json_t *kube_tree_of(const struct kube_obj *obj)
{
	return ((const struct kube_tree *)obj)->v;
}

/* Paths as in kube/decode/filter.h, each with all that lies below it ("spec", "status.conditions",
 * "metadata.labels"); n = 0: everything. What identifies an object is always kept: apiVersion, kind
 * (filled in where a list leaves them out), name, namespace, uid, resourceVersion, generation,
 * deletionTimestamp. */
struct kube_codec *kube_tree_codec(const struct api_kind *kind, const char *const *paths,
				   size_t len);
