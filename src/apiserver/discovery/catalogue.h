/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The groups and versions that are served, in the order in which discovery lists them: core, the
 * built-in groups, then those of custom resources by name; of each group the preferred version
 * first. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "apiserver/kind/resource.h"

/* One version of one group. */
struct apiserver_group_version {
	const char *group, *version;
	const struct apiserver_resource **rows; /* by plural */
	size_t n_rows;
	bool first; /* of its group: the preferred version */
};

struct apiserver_catalogue {
	struct apiserver_group_version *versions;
	size_t n_versions;
};

void apiserver_catalogue_init(struct apiserver_catalogue *catalogue,
			      const struct apiserver_resource *const *rows, size_t count);
void apiserver_catalogue_done(struct apiserver_catalogue *catalogue);
/* NULL when it is not served. */
const struct apiserver_group_version *apiserver_catalogue_find(
	const struct apiserver_catalogue *catalogue, const char *group, const char *version);
