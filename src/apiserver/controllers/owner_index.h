/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An index of the objects that have ownerReferences, by owner. Objects without owners, which are
 * most, cost nothing. One thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/map.h"

struct apiserver_owner_index {
	struct map by_key;   /* key of a dependent: struct dependent */
	struct map by_owner; /* uid of an owner: struct dependents */
};

/* A dependent of one owner. */
struct apiserver_dependent {
	const char *key;
	bool blocking;
};

void apiserver_owner_index_init(struct apiserver_owner_index *owners);
void apiserver_owner_index_done(struct apiserver_owner_index *owners);
/* Sets the ownerReferences of the object at this key (NULL or empty: none). */
void apiserver_owner_index_set(struct apiserver_owner_index *owners, const char *key,
			       const json_t *references);
/* The dependents of a uid; valid until the next change. */
const struct apiserver_dependent *apiserver_owner_index_dependents(
	const struct apiserver_owner_index *owners, const char *uid, size_t *ret_n);
