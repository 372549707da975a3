/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The queue of a zone. Entries whose names are suspected are sent alone. A batch of the others is due when no entry came for PUBLISHER_QUIET_MS, when the first has
 * waited PUBLISHER_WINDOW_MS, or when there are enough for a whole one. */
#include "provider/zone_queue_priv.h"

#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "provider/account_priv.h"
#include "provider/batch_priv.h"
#include "provider/publisher_priv.h"
#include "provider/suspect_priv.h"

static size_t count_ready(const struct publisher_zone *zone)
{
	return zone->ready[PUBLISHER_NOW].n + zone->ready[PUBLISHER_PERIODIC].n;
}

static enum publisher_priority find_priority(const struct publisher_zone *zone)
{
	return zone->ready[PUBLISHER_NOW].n != 0 ? PUBLISHER_NOW : PUBLISHER_PERIODIC;
}

/* ---- entries that are sent alone ---- */

/* NULL: none is due. */
static struct publisher_entry *find_due_alone(const struct publisher_zone *zone)
{
	uint64_t now = loop_now(zone->account->loop);
	for (struct publisher_entry *entry = zone->alone.first; entry != NULL;
	     entry = entry->next) {
		if (entry->due_ns <= now)
			return entry;
	}
	return NULL;
}

static void set_alone_timer(struct publisher_zone *zone)
{
	uint64_t due = UINT64_MAX;
	for (const struct publisher_entry *entry = zone->alone.first; entry != NULL;
	     entry = entry->next)
		due = MIN(due, entry->due_ns);
	if (due != UINT64_MAX)
		loop_timer_set(zone->account->loop, &zone->alone_timer, due);
}

/* One of them goes between two batches, and all while there is none. */
static struct publisher_entry *choose_alone(const struct publisher_zone *zone)
{
	bool is_batch_due = count_ready(zone) != 0 && zone->is_due;
	return is_batch_due && zone->was_alone ? NULL : find_due_alone(zone);
}

/* ---- turns ---- */

/* Asks for a turn if something is due and may begin. */
static void seek_turn(struct publisher_zone *zone)
{
	const struct provider_caps *caps = &zone->account->provider->caps;
	unsigned most = MAX(caps->zone_writes, 1U);
	bool is_batch_due = count_ready(zone) != 0 && zone->is_due;
	if (zone->n_writing >= most || (!is_batch_due && find_due_alone(zone) == NULL))
		return;
	enum publisher_priority priority = is_batch_due ? find_priority(zone) : PUBLISHER_PERIODIC;
	if (zone->turn.is_waiting && priority != zone->turn.priority)
		account_turn_leave(zone->account, &zone->turn);
	if (!zone->turn.is_waiting)
		zone->turn.priority = priority;
	account_turn_wait(zone->account, &zone->turn);
}

static void on_alone_due(struct loop_timer *timer)
{
	seek_turn(CONTAINER_OF(timer, struct publisher_zone, alone_timer));
}

static void on_window(struct loop_timer *timer)
{
	struct publisher_zone *zone = CONTAINER_OF(timer, struct publisher_zone, window);
	zone->is_due = true;
	seek_turn(zone);
}

static void run_turn(struct account_turn *turn)
{
	struct publisher_zone *zone = CONTAINER_OF(turn, struct publisher_zone, turn);
	struct publisher_entry *entry = choose_alone(zone);
	if (entry == NULL && count_ready(zone) == 0)
		return;
	zone->n_writing++;
	zone->was_alone = entry != NULL;
	if (entry != NULL) {
		entry_unlink(entry);
		batch_begin_alone(entry);
	} else {
		batch_begin(zone);
	}
	set_alone_timer(zone);
	seek_turn(zone);
}

struct publisher_zone *zone_queue_new(struct publisher_account *account, const char *zone_id)
{
	struct publisher_zone *zone = xcalloc(1, sizeof(*zone));
	*zone = (struct publisher_zone){ .account = account,
					 .id = xstrdup(zone_id),
					 .turn = { .run = run_turn },
					 .window = { .cb = on_window },
					 .alone_timer = { .cb = on_alone_due } };
	map_init(&zone->suspects);
	return zone;
}

void zone_queue_free(struct publisher_zone *zone)
{
	struct entry_list *lists[] = { &zone->ready[PUBLISHER_NOW],
				       &zone->ready[PUBLISHER_PERIODIC], &zone->alone };
	struct publisher_entry *entry;
	loop_timer_stop(zone->account->loop, &zone->window);
	loop_timer_stop(zone->account->loop, &zone->alone_timer);
	account_turn_leave(zone->account, &zone->turn);
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		while ((entry = entry_pop(lists[i])) != NULL)
			publisher_forget(entry);
	}
	suspect_free_all(zone);
	free(zone->id);
	free(zone);
}

static void add_alone(struct publisher_zone *zone, struct publisher_entry *entry, uint64_t due_ns)
{
	entry->due_ns = due_ns;
	entry_push(&zone->alone, entry);
	set_alone_timer(zone);
}

void zone_queue_add(struct publisher_zone *zone, struct publisher_entry *entry)
{
	uint64_t now = loop_now(zone->account->loop);
	const struct zone_suspect *suspect = suspect_find(zone, entry->edits[0].set.name);
	assert(entry->list == NULL);
	entry->zone = zone;
	if (suspect != NULL && !entry->only_reads) {
		add_alone(zone, entry, suspect->due_ns);
		return;
	}
	if (count_ready(zone) == 0) {
		zone->first_ns = now;
		zone->is_due = false;
	}
	entry_push(&zone->ready[entry->priority], entry);
	uint64_t due = MIN(now + PUBLISHER_QUIET_MS * NS_PER_MS,
			   zone->first_ns + PUBLISHER_WINDOW_MS * NS_PER_MS);
	if (count_ready(zone) >= MAX(zone->account->provider->caps.batch_changes, (size_t)1)) {
		loop_timer_stop(zone->account->loop, &zone->window);
		zone->is_due = true;
	} else if (!zone->is_due) {
		loop_timer_set(zone->account->loop, &zone->window, due);
	}
	seek_turn(zone);
}

/* ---- batches ---- */

struct publisher_entry *zone_queue_first(const struct publisher_zone *zone)
{
	if (zone->ready[PUBLISHER_NOW].first != NULL)
		return zone->ready[PUBLISHER_NOW].first;
	return zone->ready[PUBLISHER_PERIODIC].first;
}

void zone_queue_take(struct publisher_zone *zone, struct publisher_entry *entry)
{
	entry_unlink(entry);
	if (count_ready(zone) == 0) {
		zone->is_due = false;
		loop_timer_stop(zone->account->loop, &zone->window);
	}
}

void zone_queue_written(struct publisher_zone *zone)
{
	assert(zone->n_writing != 0);
	zone->n_writing--;
	seek_turn(zone);
}

void zone_queue_fail(struct publisher_zone *zone, enum provider_code code, const char *error)
{
	struct publisher_entry *entry;
	while ((entry = entry_pop(&zone->ready[PUBLISHER_NOW])) != NULL ||
	       (entry = entry_pop(&zone->ready[PUBLISHER_PERIODIC])) != NULL ||
	       (entry = entry_pop(&zone->alone)) != NULL)
		publisher_finish(entry, code, error);
}
