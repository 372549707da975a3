/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Garbage collection by ownerReferences. The last two functions return false when a write lost against
 * another one or the store failed: the object must be checked again. */
#pragma once

#include <stdbool.h>

#include "apiserver/controllers/collector_priv.h"

/* Do all owners of an object in this namespace exist, so that nothing has to be done for them? */
bool collector_has_all_owners(struct apiserver_collector *collector, const char *ns,
			      const json_t *refs);
/* Deletes the object when its owners are gone, or drops the references to those that are. */
bool collector_check_owners(struct apiserver_collector *collector, struct collector_item *item);
/* Goes on with the deletion of an owner: releases its dependents (orphan) or waits for them
 * (foreground). */
bool collector_finish_deletion(struct apiserver_collector *collector, struct collector_item *item);
