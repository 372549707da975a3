/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Paths while objects are walked. */
#include "api/apply/walk_path_priv.h"

#include <assert.h>

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
