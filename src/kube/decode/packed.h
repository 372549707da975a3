/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Objects that are stored as compact JSON text in one block of memory each: a seventh of what a tree
 * takes. For kinds with many objects whose consumer needs an object whole, but only a few at a time.
 * They have what a tree of kube/decode/tree.h would have, and are read-only; any thread may unpack. */
#pragma once

#include <stddef.h>

#include <jansson.h>

#include "base/compiler.h"
#include "kube/decode/obj.h"

struct api_kind;

/* Paths as for kube_tree_codec; n = 0: everything. Never NULL. */
struct kube_codec *kube_packed_codec(const struct api_kind *kind, const char *const *paths,
				     size_t len);

/* A tree of the caller's, who may change it; never NULL. */
json_t *kube_packed_unpack(const struct kube_obj *obj) MUST_CHECK;
