/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The position of a field in a YAML text. */
#pragma once

#include <stdbool.h>

#include "base/slice.h"
#include "base/srcpos.h"

/* Where `path` ("spec.templates[1].name"; "" is the document itself) begins in document `index`;
 * the position of its nearest existing parent when it is missing. False: no such document. */
bool api_yaml_locate(const char *file, struct slice text, unsigned index, const char *path,
		     struct srcpos *ret);
