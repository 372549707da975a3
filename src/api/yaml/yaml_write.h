/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Trees as YAML text. */
#pragma once

#include <jansson.h>

#include "base/strbuf.h"

/* The tree as YAML in block style, keys in the order of the tree, strings quoted where a reader
 * could take them for something else. */
void api_yaml_write(struct strbuf *out, const json_t *value);
