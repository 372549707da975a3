/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Paths and names while objects are walked. */
#include "api/apply/walk_path_priv.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "api/tree.h"
#include "base/mem.h"
#include "base/vec.h"

void managed_path_push(struct managed_path *path, struct fieldset_el *element)
{
	vec_push(path, fieldset_el_ref(element));
}

void managed_path_push_name(struct managed_path *path, const char *name)
{
	vec_push(path, fieldset_el_name(name));
}

void managed_path_pop(struct managed_path *path)
{
	assert(path->n > 0);
	fieldset_el_unref(path->v[--path->n]);
}

void managed_path_done(struct managed_path *path)
{
	while (path->n > 0)
		managed_path_pop(path);
	vec_done(path);
}

static int by_text(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

void managed_names_init(struct managed_names *ret, const json_t *left, const json_t *right)
{
	const char *k;
	json_t *v;
	size_t n = 0;
	const char **names =
		xcalloc(json_object_size(left) + json_object_size(right) + 1, sizeof(*names));
	json_object_foreach (api_tree(left), k, v)
		names[n++] = k;
	json_object_foreach (api_tree(right), k, v) {
		if (json_object_get(left, k) == NULL)
			names[n++] = k;
	}
	qsort(names, n, sizeof(*names), by_text);
	*ret = (struct managed_names){ names, n };
}

void managed_names_done(struct managed_names *names)
{
	free(names->v);
}
