/* Inside of the table of resources. */
#pragma once

#include <stddef.h>

#include "apiserver/resource.h"
#include "base/slice.h"

/* A file compiled in (tools/embed-texts). */
struct embedded_text {
	const char *folder; /* "builtin" or "crds" */
	const char *name;
	struct slice text;
};
extern const struct embedded_text apiserver_descriptions[];
extern const size_t apiserver_descriptions_n;
