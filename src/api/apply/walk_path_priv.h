/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Paths and names while two objects are walked. */
#pragma once

#include <stddef.h>

#include <jansson.h>

#include "api/fields/fieldset.h"

struct managed_path {
	struct fieldset_el **v;
	size_t n, cap;
};
void managed_path_push(struct managed_path *path, struct fieldset_el *element);
void managed_path_push_name(struct managed_path *path, const char *name);
void managed_path_pop(struct managed_path *path);
void managed_path_done(struct managed_path *path);

/* Names of one or two objects, sorted, each once. */
struct managed_names {
	const char **v;
	size_t n;
};
void managed_names_init(struct managed_names *ret, const json_t *left, const json_t *right);
void managed_names_done(struct managed_names *names);
