/* Verification of all rows. The store does it in the background after the start and every six hours. */
#pragma once

#include "apiserver/store/store.h"
#include "base/compiler.h"

/* Checks every row. ERR_DAMAGED, ERR_PARSE; 0 also if the store is being closed. */
MUST_CHECK int apiserver_store_verify(struct apiserver_store *store);
