/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keys of the store: "group/plural/namespace/name", with "core" for the core group and an empty
 * namespace for cluster-scoped objects. Keys in byte order are in the order of the API's lists. */
#pragma once

#include "api/kind.h"
#include "base/strbuf.h"

/* Appends a key. `ns` and `name` may be NULL: the prefix of all keys of the kind or namespace. */
void apiserver_key(struct strbuf *out, const struct api_kind *kind, const char *ns,
		   const char *name);
/* Splits a key; *ret_ns is empty for a cluster-scoped object. All parts point into `key`. */
void apiserver_key_split(const char *key, struct slice *ret_group, struct slice *ret_plural,
			 struct slice *ret_ns, const char **ret_name);
