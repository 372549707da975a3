/* SPDX-License-Identifier: GPL-3.0-or-later */
/* International domain names in the form that DNS has. */
#pragma once

#include "base/slice.h"

enum { IDNA_INPUT_MAX = 1024 }; /* bytes */

/* "bücher.example" as "xn--bcher-kva.example" (IDNA 2008); NULL when it is not such a name or too long.
 * The caller frees it. Any thread. */
char *idna_to_ascii(struct slice name);
