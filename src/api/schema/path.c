/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Paths of values in messages. */
#include "api/schema/path_priv.h"

#include <assert.h>

void schema_path_cut(struct strbuf *path, size_t count)
{
	assert(count <= path->n);
	path->n = count;
	if (path->cap != 0)
		path->s[count] = '\0';
}

void schema_path_child(struct strbuf *path, const char *key)
{
	if (path->n != 0)
		strbuf_addc(path, '.');
	strbuf_adds(path, key);
}

void schema_path_index(struct strbuf *path, size_t index)
{
	strbuf_addf(path, "[%zu]", index);
}

void schema_path_key(struct strbuf *path, const char *key)
{
	strbuf_addc(path, '[');
	strbuf_adds(path, key);
	strbuf_addc(path, ']');
}
