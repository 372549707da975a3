/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists of objects from an API server, page by page. */
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include "base/compiler.h"
#include "cmd/kubecli.h"

enum list_objects_need {
	LIST_OBJECTS_NEEDED,
	LIST_OBJECTS_OPTIONAL, /* a kind that is not served has no objects; one that may not be read
				* is left out, with a warning */
};

/* All objects of the kind in `ns` (NULL: in all namespaces), a new array. False after a message. */
MUST_CHECK bool list_objects(const struct kubecli *cli, const struct api_kind *kind, const char *ns,
			     enum list_objects_need need, json_t **ret);
