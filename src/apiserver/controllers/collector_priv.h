/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The collector's state, and what its parts (owners, namespaces, Events) share. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "apiserver/controllers/follower.h"
#include "apiserver/controllers/owner_index.h"
#include "apiserver/request/request.h"
#include "base/map.h"

struct apiserver_collector {
	struct apiserver_api *api;
	struct apiserver_follower *follower;
	const struct apiserver_follower *running; /* the same, for its own thread */
	struct apiserver_owner_index owners;
	struct map due;	   /* keys of objects to check; values are unused */
	uint64_t sweep_ns; /* when expired Events are deleted next, monotonic */
};

/* Queues the object at a key. */
void collector_push(struct apiserver_collector *collector, const char *key);

/* An object as the collector reads it. */
struct collector_item {
	const struct apiserver_resource *resource; /* in the stored version */
	const char *key;
	char ns[256], name[256];
	json_t *object;
	uint64_t revision;
};
/* Reads the object at a key. ERR_NOTFOUND: it is gone, or its kind is no longer served. */
MUST_CHECK int collector_read(struct apiserver_collector *collector, const char *key,
			      struct collector_item *ret);
void collector_item_done(struct collector_item *item);

/* Deletes as a client would, but only the object with this uid. `policy` "" for the default. */
bool collector_delete(struct apiserver_collector *collector,
		      const struct apiserver_resource *resource, const char *ns, const char *name,
		      const char *uid, const char *policy);
/* Writes the object without this finalizer; removes the object when it was the last one. */
bool collector_drop_finalizer(struct apiserver_collector *collector, struct collector_item *item,
			      const char *finalizer);
