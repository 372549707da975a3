/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Paths while objects are walked. */
#pragma once

#include <stddef.h>

#include "api/fields/fieldset.h"

struct managed_path {
	struct fieldset_el **v;
	size_t n, cap;
};
void managed_path_push(struct managed_path *path, struct fieldset_el *element);
void managed_path_push_name(struct managed_path *path, const char *name);
void managed_path_pop(struct managed_path *path);
void managed_path_done(struct managed_path *path);
