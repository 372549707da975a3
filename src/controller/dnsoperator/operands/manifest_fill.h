/* Manifests with places to fill in: `${NAME}` in any text.
 *
 * Where it is all of the text its value may be any tree, and a list that stands in a list becomes
 * part of it. Without a value there is no object; `${NAME?}` leaves out only the member or item. */
#pragma once

#include <stddef.h>

#include "api/tree.h"
#include "base/compiler.h"

struct dnsoperator_value {
	const char *name;
	json_t *v; /* NULL: there is none */
};
struct dnsoperator_values {
	const struct dnsoperator_value *v;
	size_t n;
};

/* A new tree; NULL when it cannot be without a value that is not there, whose name is in
 * *ret_missing then. A manifest is part of the program: unknown names are errors of ours. */
json_t *dnsoperator_manifest_fill(const json_t *manifest, const struct dnsoperator_values *values,
				  const char **ret_missing);
