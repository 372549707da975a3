/* Where an object lives in the store: "group/plural/namespace/name", "core" standing for the core
 * group, nothing for the namespace of an object of the cluster. Bytes sort as the API lists. */
#pragma once

#include "api/kind.h"
#include "base/strbuf.h"

/* `ns` and `name` may be NULL: the prefix of all keys of a kind, or of a namespace. */
void apiserver_key(struct strbuf *out, const struct api_kind *kind, const char *ns,
		   const char *name);
/* The parts behind the kind's; ns is "" for an object of the cluster. Borrowed from `key`. */
void apiserver_key_split(const char *key, struct slice *ret_group, struct slice *ret_plural,
			 struct slice *ret_ns, const char **ret_name);
