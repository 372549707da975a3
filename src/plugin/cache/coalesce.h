/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Replies that are not stored, handed to the queries that wait for them. */
#pragma once

#include "plugin/cache/cache_priv.h"

/* Hands the reply of a leader that was not stored to the queries that wait for the same. */
void cache_coalesce(struct plugin_inst *self, struct query *q, const struct pass *pass);
