/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Deletion of a namespace's content. */
#pragma once

#include <stdbool.h>

#include "apiserver/controllers/collector_priv.h"

/* Deletes what a terminating namespace holds, writes its conditions, and removes the namespace when
 * it is empty. False: a write lost against another one or the store failed; try again. */
bool collector_empty_namespace(struct apiserver_collector *collector, struct collector_item *item);
