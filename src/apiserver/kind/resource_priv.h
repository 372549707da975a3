/* Inside of the table of resources. */
#pragma once

#include <stddef.h>

#include "apiserver/kind/resource.h"
#include "base/embed.h"

/* Folders are "builtin" and "crds". */
extern const struct embedded_text apiserver_descriptions[];
extern const size_t apiserver_descriptions_n;
