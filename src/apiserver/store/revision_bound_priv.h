/* The file `store.revision`: an upper bound of all revisions ever assigned. */
#pragma once

#include <stdint.h>

#include "base/compiler.h"

enum { STORE_BOUND_STEP = 1 << 20 }; /* revisions by which the bound is ahead */

/* ERR_NOTFOUND, ERR_PARSE, -errno. */
MUST_CHECK int store_bound_read(const char *dir, uint64_t *ret);
/* Writes a bound of STORE_BOUND_STEP above the revision; *ret is set when it is durable. */
MUST_CHECK int store_bound_reserve(const char *dir, uint64_t above, uint64_t *ret);
