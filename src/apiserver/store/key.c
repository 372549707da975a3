/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Building and splitting keys. Nothing is escaped: names are path segments, so they contain no slash. */
#include "apiserver/store/key.h"

void apiserver_key(struct strbuf *out, const struct api_kind *kind, const char *ns,
		   const char *name)
{
	strbuf_adds(out, kind->group[0] != '\0' ? kind->group : "core");
	strbuf_addc(out, '/');
	strbuf_adds(out, kind->plural);
	strbuf_addc(out, '/');
	if (kind->namespaced && ns == NULL)
		return;
	strbuf_adds(out, kind->namespaced ? ns : "");
	strbuf_addc(out, '/');
	if (name != NULL)
		strbuf_adds(out, name);
}

void apiserver_key_split(const char *key, struct slice *ret_group, struct slice *ret_plural,
			 struct slice *ret_ns, const char **ret_name)
{
	struct slice rest = slice_of(key);
	*ret_group = slice_cut(&rest, '/');
	if (slice_eq(*ret_group, slice_of("core")))
		ret_group->n = 0;
	*ret_plural = slice_cut(&rest, '/');
	*ret_ns = slice_cut(&rest, '/');
	*ret_name = rest.p;
}
