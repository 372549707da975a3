/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fills in manifests: `${NAME}` in any string is replaced by a value.
 *
 * A string that is nothing but `${NAME}` may become any tree, and a list inside a list becomes part
 * of it. Without a value the object is left out; `${NAME?}` leaves out only the member or item. */
#pragma once

#include <stddef.h>

#include "api/tree.h"
#include "base/compiler.h"

struct dnsoperator_value {
	const char *name;
	json_t *value; /* NULL: none */
};
struct dnsoperator_values {
	const struct dnsoperator_value *v;
	size_t n;
};

/* A new tree; NULL when a required value is missing, with its name in *ret_missing. A manifest is part
 * of the program: unknown names are programming errors. */
json_t *dnsoperator_manifest_fill(const json_t *manifest, const struct dnsoperator_values *values,
				  const char **ret_missing);
