/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The search for zones of an account: page by page, or for one name after the other. */
#include "provider/finder_priv.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "dns/types.h"
#include "provider/account_priv.h"
#include "provider/shared/job.h"
#include "provider/publisher_priv.h"
#include "provider/rate_priv.h"
#include "provider/zone_queue_priv.h"

static void fail_without_zone(struct publisher_entry *entry)
{
	CLEANUP(freep)
	char *error = xasprintf("the account has no zone for '%s'", entry->edits[0].set.name);
	publisher_finish(entry, PROVIDER_NO_ZONE, error);
}

static void fail_in_short_zone(struct publisher_entry *entry, const char *longer_zone)
{
	const struct provider_rrset *set = &entry->edits[0].set;
	char type[DNS_MNEMONIC_MAX];
	CLEANUP(freep)
	char *error = xasprintf(PROVIDER_OTHER_ZONE_TEXT, dns_type_str(set->type, type), set->name,
				entry->zone_id, longer_zone);
	publisher_finish(entry, PROVIDER_OTHER_ZONE, error);
}

/* The zone is the caller's. False: the list of zones must be read. */
static bool place_checked(struct finder *finder, struct publisher_entry *entry)
{
	const char *longer_zone;
	switch (provider_zone_index_check(&finder->index, entry->edits[0].set.name, entry->zone_id,
					  loop_now(finder->account->loop), &longer_zone)) {
	case PROVIDER_ZONE_UNCHECKED:
		if (entry->searches == finder->searches)
			return false;
		break; /* this provider has no list */
	case PROVIDER_ZONE_TOO_SHORT:
		fail_in_short_zone(entry, longer_zone);
		return true;
	case PROVIDER_ZONE_FITS:
		break;
	}
	zone_queue_add(account_zone(finder->account, entry->zone_id), entry);
	return true;
}

/* False: nobody knows yet. The entry is in no list. */
static bool place_entry(struct finder *finder, struct publisher_entry *entry)
{
	const struct provider_zone_choice *choice;
	const char *name = entry->edits[0].set.name;
	if (entry->zone_id != NULL)
		return place_checked(finder, entry);
	switch (provider_zone_index_find(&finder->index, name, loop_now(finder->account->loop),
					 &choice)) {
	case PROVIDER_ZONE_UNKNOWN:
		return false;
	case PROVIDER_ZONE_MISSING:
		fail_without_zone(entry);
		return true;
	case PROVIDER_ZONE_FOUND:
		break;
	}
	entry->found_zone = true;
	if (choice->others != NULL && entry->other_zones == NULL)
		entry->other_zones = xstrdup(choice->others);
	zone_queue_add(account_zone(finder->account, choice->id), entry);
	return true;
}

/* Asks for a turn when something waits and nothing is under way. */
static void search_on(struct finder *finder)
{
	if (finder->waiting.n == 0 || finder->call.is_running || finder->timer.heap_at != 0)
		return;
	account_turn_wait(finder->account, &finder->turn);
}

static void place_waiting(struct finder *finder)
{
	struct entry_list before = { 0 };
	struct publisher_entry *entry;
	while ((entry = entry_pop(&finder->waiting)) != NULL)
		entry_push(&before, entry);
	while ((entry = entry_pop(&before)) != NULL) {
		if (!place_entry(finder, entry))
			entry_push(&finder->waiting, entry);
	}
	search_on(finder);
}

static void end_search(struct finder *finder)
{
	free(TAKE_PTR(finder->name));
	free(TAKE_PTR(finder->page));
	finder->pages = 0;
	finder->attempts = 0;
}

void finder_fail(struct finder *finder, enum provider_code code, const char *error)
{
	struct publisher_entry *entry;
	if (!finder->call.is_running) /* it borrows name and page */
		end_search(finder);
	while ((entry = entry_pop(&finder->waiting)) != NULL) {
		/* Who may not list zones may write to the one that is given. */
		if (entry->zone_id != NULL && code != PROVIDER_UNAUTHENTICATED)
			zone_queue_add(account_zone(finder->account, entry->zone_id), entry);
		else
			publisher_finish(entry, code, error);
	}
}

/* Zones of all pages so far; true: there is another page. */
static bool take_page(struct finder *finder, struct provider_job *job)
{
	for (size_t i = 0; i < job->n_zones; i++)
		provider_zone_index_add(&finder->index, &job->zones[i]);
	if (job->next_page == NULL)
		return false;
	bool is_repeated = finder->page != NULL && strcmp(finder->page, job->next_page) == 0;
	free(finder->page);
	finder->page = TAKE_PTR(job->next_page);
	return !is_repeated && ++finder->pages < FINDER_PAGES_MAX;
}

static void learn_zones(struct finder *finder, struct provider_job *job)
{
	uint64_t now = loop_now(finder->account->loop);
	if (job->is_zone_of_name) {
		provider_zone_index_learn(&finder->index, finder->name,
					  job->n_zones != 0 ? &job->zones[0] : NULL, now);
	} else {
		if (take_page(finder, job)) {
			search_on(finder);
			return;
		}
		provider_zone_index_complete(&finder->index, now);
	}
	end_search(finder);
	finder->searches++;
	place_waiting(finder);
}

static void on_finished(struct publisher_call *call)
{
	struct finder *finder = CONTAINER_OF(call, struct finder, call);
	struct provider_job *job = &call->job;
	if (job->code == PROVIDER_OK) {
		finder->attempts = 0;
		learn_zones(finder, job);
		return;
	}
	enum provider_reaction reaction = provider_code_reaction(job->code);
	if (reaction == PROVIDER_FAIL || reaction == PROVIDER_ISOLATE) {
		finder_fail(finder, job->code, job->error);
		if (job->code == PROVIDER_UNAUTHENTICATED)
			account_fail_unsent(finder->account, job->code, job->error);
		return;
	}
	if (job->code == PROVIDER_THROTTLED)
		search_on(finder);
	else
		loop_timer_set(finder->account->loop, &finder->timer,
			       loop_now(finder->account->loop) +
				       provider_backoff_ns(finder->attempts++));
}

static void on_timer(struct loop_timer *timer)
{
	place_waiting(CONTAINER_OF(timer, struct finder, timer));
}

static void run_turn(struct account_turn *turn)
{
	struct finder *finder = CONTAINER_OF(turn, struct finder, turn);
	if (finder->waiting.n == 0)
		return;
	if (finder->name == NULL) {
		finder->name = xstrdup(finder->waiting.first->edits[0].set.name);
		provider_zone_index_begin(&finder->index, loop_now(finder->account->loop));
	}
	finder->call.account = finder->account;
	finder->call.finished = on_finished;
	finder->call.job.kind = PROVIDER_FIND_ZONES;
	finder->call.job.name = finder->name;
	finder->call.job.page = finder->page;
	call_start(&finder->call);
}

void finder_init(struct finder *finder, struct publisher_account *account)
{
	*finder = (struct finder){ .account = account,
				   .turn = { .run = run_turn },
				   .timer = { .cb = on_timer } };
	provider_zone_index_init(&finder->index);
}

void finder_done(struct finder *finder)
{
	struct publisher_entry *entry;
	call_cancel(&finder->call);
	provider_job_clear(&finder->call.job);
	loop_timer_stop(finder->account->loop, &finder->timer);
	account_turn_leave(finder->account, &finder->turn);
	end_search(finder);
	while ((entry = entry_pop(&finder->waiting)) != NULL)
		publisher_forget(entry);
	provider_zone_index_done(&finder->index);
}

static void add_checked(struct finder *finder, struct publisher_entry *entry)
{
	const char *longer_zone;
	struct loop *loop = finder->account->loop;
	enum provider_zone_check check =
		provider_zone_index_check(&finder->index, entry->edits[0].set.name, entry->zone_id,
					  loop_now(loop), &longer_zone);
	if (check == PROVIDER_ZONE_FITS) {
		place_checked(finder, entry);
		return;
	}
	if (check == PROVIDER_ZONE_TOO_SHORT) /* later, as below */
		loop_timer_set(loop, &finder->timer, loop_now(loop));
	entry_push(&finder->waiting, entry);
	search_on(finder);
}

void finder_add(struct finder *finder, struct publisher_entry *entry)
{
	const struct provider_zone_choice *choice;
	struct loop *loop = finder->account->loop;
	assert(entry->list == NULL && entry->zone == NULL);
	entry->searches = finder->searches;
	if (entry->zone_id != NULL) {
		add_checked(finder, entry);
		return;
	}
	switch (provider_zone_index_find(&finder->index, entry->edits[0].set.name, loop_now(loop),
					 &choice)) {
	case PROVIDER_ZONE_FOUND:
		place_entry(finder, entry);
		return;
	case PROVIDER_ZONE_MISSING: /* later: the end of one brings the next for its name here */
		loop_timer_set(loop, &finder->timer, loop_now(loop));
		break;
	case PROVIDER_ZONE_UNKNOWN:
		break;
	}
	entry_push(&finder->waiting, entry);
	search_on(finder);
}
