/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names whose changes fail without a reason: which, since when, and when they are reported. */
#include "provider/suspect_priv.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "provider/account_priv.h"
#include "provider/entry_priv.h"
#include "provider/publisher_priv.h"
#include "provider/rate_priv.h"
#include "provider/zone_queue_priv.h"

const struct zone_suspect *suspect_find(const struct publisher_zone *zone, const char *name)
{
	return map_get(&zone->suspects, slice_of(name));
}

void suspect_clear(struct publisher_zone *zone, const char *name)
{
	if (zone->suspects.n != 0)
		free(map_del(&zone->suspects, slice_of(name)));
}

void suspect_free_all(struct publisher_zone *zone)
{
	const struct map_entry *at;
	size_t pos = 0;
	while ((at = map_next(&zone->suspects, &pos)) != NULL)
		free(at->value);
	map_done(&zone->suspects);
}

/* Those that have not failed for long; where there are too many, also the one that failed first. */
static void make_room(struct publisher_zone *zone, uint64_t now_ns)
{
	const struct map_entry *at, *oldest = NULL;
	size_t pos = 0;
	while ((at = map_next(&zone->suspects, &pos)) != NULL) {
		const struct zone_suspect *suspect = at->value;
		if (oldest == NULL ||
		    suspect->failed_ns < ((const struct zone_suspect *)oldest->value)->failed_ns)
			oldest = at;
	}
	if (oldest == NULL)
		return;
	uint64_t failed_ns = ((const struct zone_suspect *)oldest->value)->failed_ns;
	if (zone->suspects.n >= SUSPECTS_MAX || now_ns - failed_ns > SUSPECT_KEEP_S * NS_PER_S)
		suspect_clear(zone, oldest->key);
}

static struct zone_suspect *note_suspect(struct publisher_zone *zone, const char *name,
					 uint64_t accepted_before)
{
	struct zone_suspect *suspect = map_get(&zone->suspects, slice_of(name));
	uint64_t now = loop_now(zone->account->loop);
	if (suspect == NULL) {
		make_room(zone, now);
		suspect = xcalloc(1, sizeof(*suspect));
		suspect->since_ns = now;
		suspect->accepted_before = accepted_before;
		map_set(&zone->suspects, slice_of(name), suspect);
	}
	suspect->failed_ns = now;
	return suspect;
}

/* The server is well, or has not recovered for long. Either way the set alone does not succeed. */
static bool is_reported(const struct publisher_zone *zone, const struct zone_suspect *suspect)
{
	return zone->n_accepted > suspect->accepted_before ||
	       suspect->failed_ns - suspect->since_ns >= SUSPECT_REPORT_S * NS_PER_S;
}

static void report_failed(struct publisher_entry *entry, const struct zone_suspect *suspect)
{
	char error[PROVIDER_ERROR_BYTES + 60];
	bool is_well = entry->zone->n_accepted > suspect->accepted_before;
	snprintf(error, sizeof(error), "%s%s", suspect->error,
		 is_well ? "; it accepts other changes of the zone" : "");
	publisher_finish(entry, PROVIDER_FAILED, error);
}

void suspect_entry(struct publisher_entry *entry, const struct suspicion *suspicion)
{
	struct publisher_zone *zone = entry->zone;
	const char *name = entry->edits[0].set.name;
	struct zone_suspect *suspect = note_suspect(zone, name, suspicion->accepted_before);
	snprintf(suspect->error, sizeof(suspect->error), "%s", suspicion->error);
	suspect->due_ns = suspect->failed_ns;
	if (suspicion->was_alone && is_reported(zone, suspect)) {
		report_failed(entry, suspect);
		return;
	}
	uint64_t pause_ns = provider_backoff_ns(suspect->failures);
	if (suspicion->was_alone) {
		suspect->due_ns += MIN(pause_ns, SUSPECT_PAUSE_MAX_S * NS_PER_S);
		suspect->failures++;
	}
	if (entry->request == NULL)
		publisher_finish(entry, PROVIDER_UNKNOWN, NULL);
	else if (entry->is_late)
		publisher_finish(entry, PROVIDER_UNSURE, suspect->error);
	else
		zone_queue_add(zone, entry);
}
