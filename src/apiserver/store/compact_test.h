/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests and benchmarks compact at once; otherwise a thread of the store does it by time (see
 * compact.c). */
#pragma once

#include <stdint.h>

#include "apiserver/store/store.h"
#include "base/compiler.h"

/* Deletes history before the revision. */
MUST_CHECK int apiserver_store_compact(struct apiserver_store *store, uint64_t below);
