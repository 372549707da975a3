/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests check how much memory the store uses. */
#pragma once

#include "plugin/cache/store.h"

/* Memory for entries that was ever used. Any thread. */
size_t store_bytes(const struct store *store);
/* Memory of the table itself. */
size_t store_table_bytes(const struct store *store);
