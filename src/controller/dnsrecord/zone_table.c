/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables of zones and of the record sets in them. */
#include "controller/dnsrecord/zone_table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/strbuf.h"

enum { RETRY_LONGEST_S = 60 };

struct watched_set {
	struct dnsrecord_zone *zone;
	char *drift;		   /* NULL: none was seen */
	struct provider_rrset set; /* its texts follow */
};

void dnsrecord_zone_table_init(struct dnsrecord_zone_table *table)
{
	pthread_mutex_init(&table->lock, NULL);
	map_init(&table->zones);
	map_init(&table->sets);
}

static void free_zone(struct dnsrecord_zone *zone)
{
	json_decref(zone->object);
	free(zone->region);
	free(zone->name);
	free(zone->id);
	free(zone->key);
	free(zone);
}

static void free_set(struct watched_set *watched)
{
	if (watched == NULL)
		return;
	assert(watched->zone->n_sets != 0);
	watched->zone->n_sets--;
	free(watched->drift);
	free(watched);
}

void dnsrecord_zone_table_done(struct dnsrecord_zone_table *table)
{
	const struct map_entry *entry;
	size_t pos = 0;
	while ((entry = map_next(&table->sets, &pos)) != NULL)
		free_set(entry->value);
	map_done(&table->sets);
	pos = 0;
	while ((entry = map_next(&table->zones, &pos)) != NULL)
		free_zone(entry->value);
	map_done(&table->zones);
	pthread_mutex_destroy(&table->lock);
}

/* ---- zones ---- */

static const char *secret_namespace(const struct dnsrecord *record)
{
	const char *named = api_get_string(record->object, "spec.secretRef.namespace");
	return named[0] != '\0' ? named : api_namespace(record->object);
}

/* Objects of other namespaces than their Secret's are among themselves: they may lose their permission. */
static void make_zone_key(const struct dnsrecord *record, struct strbuf *out)
{
	const char *ns = api_namespace(record->object), *secret_ns = secret_namespace(record);
	strbuf_addf(out, DNSRECORD_ZONE_PREFIX "%s %s %s/%s %s %s", record->spec.type,
		    strcmp(ns, secret_ns) == 0 ? "-" : ns, secret_ns,
		    api_get_string(record->object, "spec.secretRef.name"), record->spec.region,
		    record->applied->zone);
}

/* Under the lock. */
static struct dnsrecord_zone *make_zone(struct dnsrecord_zone_table *table,
					const struct dnsrecord *record,
					const struct provider *provider, const char *key)
{
	struct dnsrecord_zone *zone = xcalloc(1, sizeof(*zone));
	*zone = (struct dnsrecord_zone){ .key = xstrdup(key),
					 .id = xstrdup(record->applied->zone),
					 .name = dnsrecord_zone_name(record->applied->zone),
					 .region = xstrdup(record->spec.region),
					 .provider = provider };
	zone->object = json_pack("{s:{s:s},s:{s:s,s:{s:s,s:s}}}", "metadata", "namespace",
				 api_namespace(record->object), "spec", "type", record->spec.type,
				 "secretRef", "name",
				 api_get_string(record->object, "spec.secretRef.name"), "namespace",
				 secret_namespace(record));
	map_set(&table->zones, slice_of(zone->key), zone);
	return zone;
}

struct dnsrecord_zone *dnsrecord_zone_table_get(struct dnsrecord_zone_table *table,
						const char *zone_key)
{
	pthread_mutex_lock(&table->lock);
	struct dnsrecord_zone *zone = map_get(&table->zones, slice_of(zone_key));
	pthread_mutex_unlock(&table->lock);
	return zone;
}

bool dnsrecord_zone_table_end(struct dnsrecord_zone_table *table, struct dnsrecord_zone *zone)
{
	pthread_mutex_lock(&table->lock);
	bool is_empty = zone->n_sets == 0;
	if (is_empty)
		map_del(&table->zones, slice_of(zone->key));
	pthread_mutex_unlock(&table->lock);
	if (is_empty)
		free_zone(zone);
	return is_empty;
}

/* ---- NOTIFYs ---- */

char *dnsrecord_zone_name(const char *id)
{
	char *name = xstrdup(id);
	size_t n = strlen(name);
	if (n != 0 && name[n - 1] == '.')
		name[--n] = '\0';
	for (size_t i = 0; i < n; i++)
		name[i] = ascii_lower(name[i]);
	return name;
}

bool dnsrecord_zone_table_has_name(struct dnsrecord_zone_table *table, const char *name)
{
	const struct map_entry *entry;
	bool is_found = false;
	size_t pos = 0;
	pthread_mutex_lock(&table->lock);
	while (!is_found && (entry = map_next(&table->zones, &pos)) != NULL)
		is_found = strcmp(((const struct dnsrecord_zone *)entry->value)->name, name) == 0;
	pthread_mutex_unlock(&table->lock);
	return is_found;
}

void dnsrecord_zone_table_notify(struct dnsrecord_zone_table *table, const char *name,
				 uint64_t now_ns, void (*emit)(void *arg, const char *key),
				 void *arg)
{
	const struct map_entry *entry;
	size_t pos = 0;
	pthread_mutex_lock(&table->lock);
	while ((entry = map_next(&table->zones, &pos)) != NULL) {
		struct dnsrecord_zone *zone = entry->value;
		if (strcmp(zone->name, name) != 0)
			continue;
		if (zone->notified_ns == 0)
			emit(arg, zone->key);
		zone->notified_ns = now_ns;
	}
	pthread_mutex_unlock(&table->lock);
}

uint64_t dnsrecord_zone_table_take_notified(struct dnsrecord_zone_table *table,
					    struct dnsrecord_zone *zone)
{
	pthread_mutex_lock(&table->lock);
	uint64_t notified_ns = zone->notified_ns;
	zone->notified_ns = 0;
	pthread_mutex_unlock(&table->lock);
	return notified_ns;
}

void dnsrecord_zone_failed(struct dnsrecord_zone *zone, uint64_t now_ns)
{
	if (!zone->is_notified)
		return;
	uint64_t pause_s = MIN((uint64_t)1 << MIN(zone->n_failed, 10U), (uint64_t)RETRY_LONGEST_S);
	zone->n_failed++;
	zone->due_ns = MIN(zone->due_ns, now_ns + pause_s * NS_PER_S);
}

void dnsrecord_zone_checked(struct dnsrecord_zone *zone)
{
	zone->n_failed = 0;
	if (zone->since_ns <= zone->asked_ns)
		zone->is_notified = false;
}

/* ---- sets ---- */

/* Under the lock. */
static void put_set(struct dnsrecord_zone_table *table, const char *key,
		    struct dnsrecord_zone *zone, const struct provider_rrset *set)
{
	struct watched_set *watched = xmalloc(sizeof(*watched) + provider_rrset_bytes(set));
	*watched = (struct watched_set){ .zone = zone };
	provider_rrset_copy(&watched->set, set, (char *)(watched + 1));
	zone->n_sets++;
	free_set(map_set(&table->sets, slice_of(key), watched));
}

static bool is_same(const struct provider_rrset *left, const struct provider_rrset *right)
{
	return left->type == right->type && strcmp(left->name, right->name) == 0 &&
	       provider_rrset_equal(left, right);
}

const char *dnsrecord_zone_table_add(struct dnsrecord_zone_table *table, const char *key,
				     const struct dnsrecord *record,
				     const struct provider *provider)
{
	CLEANUP(strbuf_done) struct strbuf zone_key = STRBUF_INIT;
	const struct provider_rrset *set = &record->applied->set;
	make_zone_key(record, &zone_key);
	pthread_mutex_lock(&table->lock);
	struct dnsrecord_zone *zone = map_get(&table->zones, strbuf_slice(&zone_key));
	bool is_new = zone == NULL;
	if (is_new)
		zone = make_zone(table, record, provider, zone_key.s);
	const struct watched_set *watched = map_get(&table->sets, slice_of(key));
	if (watched == NULL || watched->zone != zone || !is_same(&watched->set, set))
		put_set(table, key, zone, set);
	pthread_mutex_unlock(&table->lock);
	return is_new ? zone->key : NULL;
}

void dnsrecord_zone_table_drop(struct dnsrecord_zone_table *table, const char *key)
{
	pthread_mutex_lock(&table->lock);
	free_set(map_del(&table->sets, slice_of(key)));
	pthread_mutex_unlock(&table->lock);
}

char *dnsrecord_zone_table_take_drift(struct dnsrecord_zone_table *table, const char *key)
{
	pthread_mutex_lock(&table->lock);
	struct watched_set *watched = map_get(&table->sets, slice_of(key));
	char *drift = watched != NULL ? TAKE_PTR(watched->drift) : NULL;
	pthread_mutex_unlock(&table->lock);
	return drift;
}

void dnsrecord_zone_table_each(
	struct dnsrecord_zone_table *table, const struct dnsrecord_zone *zone,
	void (*visit)(void *ctx, const char *key, const struct provider_rrset *set), void *ctx)
{
	const struct map_entry *entry;
	size_t pos = 0;
	pthread_mutex_lock(&table->lock);
	while ((entry = map_next(&table->sets, &pos)) != NULL) {
		const struct watched_set *watched = entry->value;
		if (watched->zone == zone)
			visit(ctx, entry->key, &watched->set);
	}
	pthread_mutex_unlock(&table->lock);
}

bool dnsrecord_zone_table_mark(struct dnsrecord_zone_table *table, const char *key,
			       const struct provider_rrset *compared,
			       const struct provider_rrset *found)
{
	pthread_mutex_lock(&table->lock);
	struct watched_set *watched = map_get(&table->sets, slice_of(key));
	bool is_current = watched != NULL && is_same(&watched->set, compared);
	if (is_current) {
		free(watched->drift);
		watched->drift =
			xasprintf("zone '%s' was changed by another writer; the provider %s: it is "
				  "published again",
				  watched->zone->id,
				  found->n_values != 0 ? "has another record set"
						       : "does not have the record set");
	}
	pthread_mutex_unlock(&table->lock);
	return is_current;
}
