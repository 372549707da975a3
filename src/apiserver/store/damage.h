/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows that were found damaged: readers get ERR_DAMAGED for them and health checks report them. */
#pragma once

#include <stdbool.h>

#include "apiserver/store/store.h"
#include "base/compiler.h"
#include "base/strbuf.h"

/* The key of the damaged row, if this thread's last store error was ERR_DAMAGED. */
const char *apiserver_store_damaged_key(void);
/* Records that the value of `key` cannot be parsed; returns ERR_DAMAGED. Any thread. */
int apiserver_store_damaged(struct apiserver_store *store, const char *key);
/* True if no damage is known. Otherwise the description is appended to `why` (may be NULL). Any
 * thread. */
bool apiserver_store_is_sound(struct apiserver_store *store, struct strbuf *why);
/* Checks every row. ERR_DAMAGED, ERR_PARSE; 0 also if the store is being closed. The store itself does
 * it in the background after the start and every six hours. */
MUST_CHECK int apiserver_store_verify(struct apiserver_store *store);
