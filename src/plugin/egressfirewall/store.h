/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the egressfirewall stanzas of a process share, and what outlives a reload: the rules and
 * their watch, the sightings of each worker, the table of learnt addresses. A task moves sightings
 * into the table and publishes versions of its zone. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err_text.h"
#include "net/addr.h"
#include "plugin/egressfirewall/learnt.h"
#include "plugin/egressfirewall/rules.h"

struct egressfirewall_sightings;
struct egressfirewall_store;
struct resource;
struct worker;
struct zone_copy;

struct egressfirewall_networks {
	const struct net_cidr *v;
	size_t n;
};

/* Everything that decides what is learnt; stanzas with equal ones share a store. Borrowed. */
struct egressfirewall_store_conf {
	/* Where the API is: NULL, NULL for the pod's own cluster. */
	const char *kubeconfig, *context;
	const char *endpoint, *cert, *key, *ca;
	const char *ns; /* of DNSName objects; NULL: that of the credentials */
	struct egressfirewall_limits limits;
	/* Addresses that are not learnt, beside those that never are; and exceptions from both. */
	struct egressfirewall_networks never, learn;
};

/* The store for this configuration, held until resource_put. Errors have a text. Control threads. */
MUST_CHECK int egressfirewall_store_get(const struct egressfirewall_store_conf *conf,
					struct resource **ret, struct err_text reterr);
struct egressfirewall_store *egressfirewall_store_of(const struct resource *held);

/* ---- workers ---- */

/* Once per worker and generation, on its thread. -ENOMEM. */
MUST_CHECK int egressfirewall_store_worker_init(struct egressfirewall_store *store,
						struct worker *worker);
struct egressfirewall_sightings *egressfirewall_store_sightings(
	const struct egressfirewall_store *store, unsigned slot);
const struct egressfirewall_rules *egressfirewall_store_rules(
	const struct egressfirewall_store *store);

/* The zone's version as it was published last. */
uint32_t egressfirewall_store_serial(const struct egressfirewall_store *store);

/* ---- control threads ---- */

/* `fn` is called, on the background thread, when the zone has a new version. */
struct egressfirewall_listener {
	struct egressfirewall_listener *next;
	void (*fn)(void *ctx);
	void *ctx;
};
/* It is the caller's, and stays linked until it is removed; then fn is not running any more. */
void egressfirewall_store_listen(struct egressfirewall_store *store,
				 struct egressfirewall_listener *listener);
void egressfirewall_store_unlisten(struct egressfirewall_store *store,
				   struct egressfirewall_listener *listener);

/* Copies of the zone for transfers (see learnt.h). May wait for the background thread. */
struct zone_copy *egressfirewall_store_copy(struct egressfirewall_store *store);
struct zone_copy *egressfirewall_store_changes(struct egressfirewall_store *store, uint32_t serial);
