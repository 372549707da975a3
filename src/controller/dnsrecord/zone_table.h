/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The record sets of settled objects by the zones that they are in, for the watch of zones by their serial
 * (zone_check.h). Zones are those of one Secret: objects that use the same one share them. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/tree.h"
#include "base/map.h"
#include "controller/dnsrecord/plan/record.h"
#include "provider/zone_serial.h"

/* Keys of zones begin so; those of objects, "namespace/name", cannot. */
#define DNSRECORD_ZONE_PREFIX "zone:"

struct dnsrecord_zone {
	char *key; /* in the controller's queue */
	char *id, *region;
	char *name; /* as dnsrecord_zone_name() has it */
	const struct provider *provider;
	json_t *object; /* as much of an object as its Secret is read by */
	/* Guarded by the table's lock: */
	size_t n_sets;
	uint64_t notified_ns; /* a NOTIFY came that no pass has seen; clock_mono_ns; 0: none */

	/* Only passes of its key use the rest. */
	uint64_t due_ns;   /* clock_mono_ns; 0: new */
	uint64_t asked_ns; /* when the last check began; 0: never */
	uint64_t since_ns; /* older answers for the serial will not do: a NOTIFY came */
	bool is_notified;  /* ... and no check has found out since what it was about */
	unsigned n_failed; /* checks in a row, of those that a NOTIFY asked for */
	bool is_known;	   /* all sets were as they should be at `last` */
	struct zone_serial last;
	bool is_comparing; /* the work under way reads the sets */
	bool has_failed;   /* the last question; reported once */
};

struct dnsrecord_zone_table {
	pthread_mutex_t lock;
	struct map zones; /* by key: struct dnsrecord_zone */
	struct map sets;  /* by the object's key: struct watched_set */
};

void dnsrecord_zone_table_init(struct dnsrecord_zone_table *table);
void dnsrecord_zone_table_done(struct dnsrecord_zone_table *table);

/* The object of this key is settled, and its provider has the record set. Returns the zone's key if the zone is
 * new, else NULL. Any thread, as the next two. */
const char *dnsrecord_zone_table_add(struct dnsrecord_zone_table *table, const char *key,
				     const struct dnsrecord *record,
				     const struct provider *provider);
void dnsrecord_zone_table_drop(struct dnsrecord_zone_table *table, const char *key);
/* Why the provider does not have the object's record set any more, once; on the heap. NULL: it has. */
char *dnsrecord_zone_table_take_drift(struct dnsrecord_zone_table *table, const char *key);

/* Names of zones are in lower case, without the final dot. Of providers that have serials the ids are names. */
char *dnsrecord_zone_name(const char *id); /* on the heap */
/* Is one of the zones called so? Any thread, as the next one. */
bool dnsrecord_zone_table_has_name(struct dnsrecord_zone_table *table, const char *name);
/* Somebody says that the zones of this name have changed. Emits the keys of those of which nobody has said so since
 * the last pass. */
void dnsrecord_zone_table_notify(struct dnsrecord_zone_table *table, const char *name,
				 uint64_t now_ns, void (*emit)(void *arg, const char *key),
				 void *arg);

/* For passes of zones. NULL: there is no such zone. It stays until dnsrecord_zone_table_end(). */
struct dnsrecord_zone *dnsrecord_zone_table_get(struct dnsrecord_zone_table *table,
						const char *zone_key);
/* Frees the zone if it has no sets any more. True: it had none. */
bool dnsrecord_zone_table_end(struct dnsrecord_zone_table *table, struct dnsrecord_zone *zone);
/* When somebody said last that the zone has changed, once; 0: nobody did. */
uint64_t dnsrecord_zone_table_take_notified(struct dnsrecord_zone_table *table,
					    struct dnsrecord_zone *zone);
/* A check could not be done: the next one is due after a pause that doubles, from 1 to 60 seconds, if a NOTIFY has
 * asked for it; else at the interval. */
void dnsrecord_zone_failed(struct dnsrecord_zone *zone, uint64_t now_ns);
/* It was done: NOTIFYs that came before it began are answered for. */
void dnsrecord_zone_checked(struct dnsrecord_zone *zone);
/* Each set of the zone, under the lock. */
void dnsrecord_zone_table_each(
	struct dnsrecord_zone_table *table, const struct dnsrecord_zone *zone,
	void (*visit)(void *ctx, const char *key, const struct provider_rrset *set), void *ctx);
/* The provider has `found` in place of `compared`. False: the object has another set by now. */
bool dnsrecord_zone_table_mark(struct dnsrecord_zone_table *table, const char *key,
			       const struct provider_rrset *compared,
			       const struct provider_rrset *found);
