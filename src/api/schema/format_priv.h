/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Formats of strings. */
#pragma once

#include <stdbool.h>

#include "api/schema/node_priv.h"

/* NULL with *ret_known false when the server does not check such a format; with true when it does,
 * but not here. */
const struct schema_format *schema_format_find(const char *name, bool *ret_known);
