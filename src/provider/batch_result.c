/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What follows from the result of a batch's call: changes are done, refused, tried again, searched
 * for the bad one, or looked up. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "provider/account_priv.h"
#include "provider/batch_priv.h"
#include "provider/entry_priv.h"
#include "provider/guard_priv.h"
#include "provider/shared/job.h"
#include "provider/publisher_priv.h"
#include "provider/rate_priv.h"
#include "provider/suspect_priv.h"
#include "provider/zone_queue_priv.h"
#include "provider/zone_serial.h"

enum {
	DENIED_MAX = 3,	       /* so many refusals in a row: all are refused */
	DOUBTS_MAX = 4,	       /* so many reads without the conflict that the provider has named */
	SETTLE_FIRST_MS = 500, /* between questions whether a change has taken effect; doubles */
	SETTLE_LONGEST_MS = 4000,
	SUSPECT_PAUSE_MS = 100, /* after a suspect, while the server has accepted nothing else */
};

static const struct provider_caps *caps_of(const struct publisher_batch *batch)
{
	return &batch->zone->account->provider->caps;
}

/* ---- ends of entries ---- */

/* The zone that was found is gone: searched once more (DR-20). */
static void search_again(struct publisher_entry *entry, const char *error)
{
	struct publisher_account *account = entry->account;
	if (!entry->found_zone || entry->searched_again) {
		publisher_finish(entry, PROVIDER_NO_ZONE, error);
		return;
	}
	entry->searched_again = true;
	provider_zone_index_forget(&account->finder.index, entry->zone->id);
	entry->zone = NULL;
	finder_add(&account->finder, entry);
}

/* The name of an entry whose zone was searched belongs to a longer zone: it goes there, once. Not where the
 * account lists its zones, and has no such. */
static bool move_to_longer_zone(struct publisher_batch *batch, size_t index)
{
	struct publisher_account *account = batch->zone->account;
	struct publisher_entry *entry = batch->row[index];
	char *zone = batch->changes[index].longer_zone;
	if (batch->changes[index].code != PROVIDER_OTHER_ZONE || zone == NULL ||
	    account->finder.index.listed_ns != 0 || !entry->found_zone || entry->searched_again)
		return false;
	provider_zone_index_learn(&account->finder.index, entry->edits[0].set.name,
				  &(struct provider_zone){ .id = zone, .name = zone },
				  loop_now(account->loop));
	batch_extract(batch, index);
	entry->searched_again = true;
	entry->zone = NULL;
	finder_add(&account->finder, entry);
	return true;
}

static void fail_all(struct publisher_batch *batch, enum provider_code code, const char *text)
{
	struct publisher_account *account = batch->zone->account;
	CLEANUP(freep) char *error = xstrdup(text); /* may be that of a change which is freed */
	for (size_t i = 0; i < batch->n; i++) {
		struct publisher_entry *entry = batch_extract(batch, i);
		if (code == PROVIDER_NO_ZONE)
			search_again(entry, error);
		else
			publisher_finish(entry, code, error);
	}
	batch_close_gaps(batch);
	if (code == PROVIDER_UNAUTHENTICATED)
		account_fail_unsent(account, code, error);
	batch_go_on(batch);
}

/* A conflict may be our own earlier write, or a deletion of what is not there. */
static bool is_doubtful(const struct publisher_entry *entry, enum provider_code code,
			const char *error)
{
	if (code != PROVIDER_CONFLICT)
		return false;
	for (size_t i = 0; i < entry->n_edits; i++) {
		if (entry->edits[i].set.n_values == 0)
			return true;
	}
	return entry->maybe_applied || error[0] == '\0';
}

static void refuse_entry(struct publisher_batch *batch, size_t index, enum provider_code code,
			 const char *text)
{
	if (move_to_longer_zone(batch, index))
		return;
	CLEANUP(freep) char *error = xstrdup(text);
	struct publisher_entry *entry = batch_extract(batch, index);
	suspect_clear(batch->zone, entry->edits[0].set.name);
	batch->denied = code == PROVIDER_UNAUTHORIZED ? batch->denied + 1 : 0;
	if (!is_doubtful(entry, code, error)) {
		publisher_finish(entry, code, error);
		return;
	}
	struct publisher_batch *check = batch_new(batch->zone, BATCH_CHECK, &entry, 1);
	err_text_set(ERR_TEXT(check->bad_error), "%s", error);
	batch_go_on(check);
}

/* ---- writes ---- */

static void note_accepted(struct publisher_batch *batch, struct publisher_entry **entries,
			  size_t count)
{
	for (size_t i = 0; i < count; i++)
		suspect_clear(batch->zone, entries[i]->edits[0].set.name);
	batch->zone->n_accepted += count;
}

/* Those that were accepted will take effect. */
static void settle_entries(struct publisher_batch *batch, struct publisher_entry **entries,
			   size_t count)
{
	struct loop *loop = batch->zone->account->loop;
	note_accepted(batch, entries, count);
	if (count == 0)
		return;
	for (size_t i = 0; i < count; i++)
		entries[i]->maybe_applied = true;
	struct publisher_batch *settling = batch_new(batch->zone, BATCH_SETTLE, entries, count);
	settling->settle_token = TAKE_PTR(batch->call.job.settle_token);
	settling->settle_by_ns = loop_now(loop) + PUBLISHER_SETTLE_S * NS_PER_S;
	batch_retry(settling, SETTLE_FIRST_MS * NS_PER_MS);
}

/* Those that succeeded have taken effect, or will. */
static void accept_entries(struct publisher_batch *batch, struct publisher_entry **entries,
			   size_t count)
{
	if (batch->call.job.settle_token != NULL) {
		settle_entries(batch, entries, count);
		return;
	}
	note_accepted(batch, entries, count);
	for (size_t i = 0; i < count; i++)
		publisher_finish(entries[i], PROVIDER_OK, NULL);
}

/* One change that has a result of its own. True: it stays in the row, to be tried again. */
static bool stays_in_row(struct publisher_batch *batch, size_t index)
{
	switch (provider_code_reaction(batch->changes[index].code)) {
	case PROVIDER_VERIFY:
		batch->row[index]->maybe_applied = true;
		return true;
	case PROVIDER_RETRY:
		return true;
	case PROVIDER_REPORT:
	case PROVIDER_ISOLATE:
	case PROVIDER_FAIL:
		break;
	}
	refuse_entry(batch, index, batch->changes[index].code, batch->changes[index].error);
	return false;
}

static bool has_own_result(const struct provider_change *change)
{
	return change->code != PROVIDER_UNKNOWN && change->code != PROVIDER_OK;
}

/* The call succeeded; without atomicity some of its changes may have failed. */
static void take_success(struct publisher_batch *batch)
{
	VEC(struct publisher_entry *) accepted = { 0 }, unsettled = { 0 };
	bool some_stay = false;
	for (size_t i = 0; i < batch->tried; i++) {
		if (has_own_result(&batch->changes[i]))
			some_stay = stays_in_row(batch, i) || some_stay;
		else if (batch->changes[i].is_unsettled)
			vec_push(&unsettled, batch_extract(batch, i));
		else
			vec_push(&accepted, batch_extract(batch, i));
	}
	batch_close_gaps(batch);
	if (accepted.n + unsettled.n != 0)
		batch->denied = 0;
	accept_entries(batch, accepted.v, accepted.n);
	settle_entries(batch, unsettled.v, unsettled.n);
	vec_done(&accepted);
	vec_done(&unsettled);
	if (!some_stay) {
		batch->attempts = 0;
		batch_go_on(batch);
		return;
	}
	batch->is_bisecting = false;
	batch_retry(batch, provider_backoff_ns(batch->attempts++));
}

/* One more failure of the search. True: the first of the row is bad. */
static bool note_failure(struct publisher_batch *batch)
{
	if (batch->is_bisecting)
		provider_bisect_failed(&batch->bisect, batch->tried);
	else
		provider_bisect_init(&batch->bisect, batch->n);
	batch->is_bisecting = true;
	batch->attempts = 0;
	return provider_bisect_found(&batch->bisect);
}

/* Some change of those that were tried is bad, and nobody knows which. */
static void isolate_bad(struct publisher_batch *batch)
{
	const struct provider_job *job = &batch->call.job;
	batch->bad_code = job->code;
	memcpy(batch->bad_error, job->error, sizeof(batch->bad_error));
	if (note_failure(batch)) {
		refuse_entry(batch, 0, job->code, job->error);
		batch_close_gaps(batch);
	}
	if (batch->denied >= DENIED_MAX)
		fail_all(batch, job->code, job->error);
	else
		batch_go_on(batch);
}

/* The bad one of a search, whose writes were answered with an error that gives no reason. */
static void suspect_at(struct publisher_batch *batch, size_t index, bool was_alone)
{
	suspect_entry(batch_extract(batch, index),
		      &(struct suspicion){ .accepted_before = batch->accepted_before,
					   .error = batch->bad_error,
					   .was_alone = was_alone });
}

/* The same search where the server gives no reason. If it accepts nothing at all it is the one at fault, and
 * is spared. */
static void isolate_unapplied(struct publisher_batch *batch)
{
	batch->bad_code = PROVIDER_UNSURE;
	batch->step = BATCH_WRITE;
	bool is_found = note_failure(batch);
	if (is_found) {
		suspect_at(batch, 0, batch->tried == 1);
		batch_close_gaps(batch);
	}
	if (is_found && batch->n != 0 && batch->zone->n_accepted == batch->accepted_before)
		batch_retry(batch, SUSPECT_PAUSE_MS * NS_PER_MS);
	else
		batch_go_on(batch);
}

/* The provider has named the bad ones; the others were not written. */
static bool refuse_named(struct publisher_batch *batch)
{
	bool some = false;
	for (size_t i = 0; i < batch->tried; i++) {
		if (!has_own_result(&batch->changes[i]))
			continue;
		some = true;
		stays_in_row(batch, i);
	}
	if (!some)
		return false;
	batch_close_gaps(batch);
	batch->is_bisecting = false;
	return true;
}

/* An edit shows whether it was applied: it changes something, and only once. Without guards of the provider
 * all have been read, and those that were as wanted have left the row. */
static bool is_telltale(const struct publisher_entry *entry, bool has_guards)
{
	static const struct provider_rrset missing;
	for (size_t i = 0; i < entry->n_edits; i++) {
		const struct provider_edit *edit = &entry->edits[i];
		bool is_equal = edit->guard == PROVIDER_GUARD_EQUAL;
		if (!has_guards && edit->guard != PROVIDER_GUARD_NONE)
			return true;
		if (!is_equal && edit->guard != PROVIDER_GUARD_ABSENT)
			continue;
		if (!provider_rrset_equal(&edit->set, is_equal ? &edit->before : &missing))
			return true;
	}
	return false;
}

static void add_telltale(struct publisher_batch *batch, size_t index)
{
	if (batch->n_telltales == 0 || batch->telltales[batch->n_telltales - 1] != index)
		batch->telltales[batch->n_telltales++] = index;
}

/* The first, the last and one between: a single one may be as wanted by the hand of others. */
static void choose_telltales(struct publisher_batch *batch)
{
	size_t last = batch->tried, half = batch->tried / 2;
	batch->n_telltales = 0;
	for (size_t i = 0; i < batch->tried; i++) {
		if (!is_telltale(batch->row[i], caps_of(batch)->has_guards))
			continue;
		if (batch->n_telltales == 0 || (batch->n_telltales == 1 && i >= half))
			add_telltale(batch, i);
		last = i;
	}
	if (last != batch->tried)
		add_telltale(batch, last);
	assert(batch->n_telltales <= BATCH_TELLTALES);
}

/* Those without patience end here. What the others were doing begins anew. */
static void drop_late(struct publisher_batch *batch)
{
	const struct provider_job *job = &batch->call.job;
	bool some = false;
	for (size_t i = 0; i < batch->n; i++) {
		struct publisher_entry *entry = batch->row[i];
		if (!entry->is_late)
			continue;
		some = true;
		batch_extract(batch, i);
		publisher_finish(entry, entry->maybe_applied ? PROVIDER_UNSURE : job->code,
				 job->error);
	}
	if (!some || batch->step == BATCH_SETTLE)
		return;
	batch->is_bisecting = false;
	batch->n_read = 0;
	if (batch->step == BATCH_VERIFY)
		batch->step = BATCH_WRITE;
}

/* The next try to write, now or after a pause. A provider without guards would overwrite what others have written
 * since the sets were read: they are read again. Where that takes many calls, a throttled account is spared: it does
 * not wait for long. */
static void write_again(struct publisher_batch *batch, enum provider_code code)
{
	const struct provider_caps *caps = caps_of(batch);
	batch->step = BATCH_WRITE;
	if (caps->has_guards || !batch_needs_read(batch) ||
	    (code == PROVIDER_THROTTLED && caps->read_changes < batch->n))
		return;
	batch->step = BATCH_READ;
	batch->n_read = 0;
	batch->is_bisecting = false;
}

/* Nothing of the write was applied, or to write it again does no harm. One that the server answers so again and
 * again has a bad change; where the zone has suspects already, the first time is enough. */
static void take_unapplied(struct publisher_batch *batch, uint64_t pause_ns)
{
	unsigned most = batch->zone->suspects.n != 0 ? 1 : SUSPECT_TRIES;
	if (batch->was_answered && batch->unapplied++ == 0)
		batch->accepted_before = batch->zone->n_accepted;
	if (batch->was_answered && batch->unapplied >= most) {
		isolate_unapplied(batch);
		return;
	}
	write_again(batch, PROVIDER_UNSURE);
	if (pause_ns != 0)
		batch_retry(batch, pause_ns);
	else
		batch_go_on(batch);
}

/* Those of the write that have no patience end here. */
static void drop_late_of_write(struct publisher_batch *batch)
{
	size_t n_late = 0;
	for (size_t i = 0; i < batch->tried; i++) {
		batch->row[i]->maybe_applied = true;
		n_late += batch->row[i]->is_late;
	}
	drop_late(batch);
	batch_close_gaps(batch);
	batch->tried -= n_late;
	batch->was_answered = batch->was_answered && batch->tried != 0;
}

/* A batch that is applied whole or not at all is verified by a few of its changes. Those without a
 * guard are written again without a question. */
static void verify_write(struct publisher_batch *batch)
{
	batch->was_answered = batch->call.job.was_answered;
	memcpy(batch->bad_error, batch->call.job.error, sizeof(batch->bad_error));
	drop_late_of_write(batch);
	if (batch->n == 0) {
		batch_go_on(batch);
		return;
	}
	/* Those that have failed alone before are asked for at once: they keep others waiting. */
	bool is_urgent =
		batch->was_answered && (batch->is_bisecting || batch->zone->suspects.n != 0);
	uint64_t pause_ns = is_urgent ? 0 : provider_backoff_ns(batch->attempts++);
	batch->n_telltales = 0;
	if (caps_of(batch)->is_atomic)
		choose_telltales(batch);
	if (batch->n_telltales == 0) {
		take_unapplied(batch, pause_ns);
		return;
	}
	batch->step = BATCH_VERIFY;
	batch_retry(batch, pause_ns);
}

static void retry_call(struct publisher_batch *batch, enum provider_code code)
{
	drop_late(batch);
	batch_close_gaps(batch);
	if (batch->step == BATCH_WRITE)
		write_again(batch, code);
	/* The rate knows how long a throttled account waits. */
	if (code == PROVIDER_THROTTLED || batch->n == 0)
		batch_go_on(batch);
	else
		batch_retry(batch, provider_backoff_ns(batch->attempts++));
}

static void take_failure(struct publisher_batch *batch)
{
	const struct provider_job *job = &batch->call.job;
	switch (provider_code_reaction(job->code)) {
	case PROVIDER_REPORT:
	case PROVIDER_RETRY:
		retry_call(batch, job->code);
		break;
	case PROVIDER_VERIFY:
		verify_write(batch);
		break;
	case PROVIDER_ISOLATE:
		for (size_t i = 0; i < batch->tried && !caps_of(batch)->is_atomic; i++)
			batch->row[i]->maybe_applied = true;
		isolate_bad(batch);
		break;
	case PROVIDER_FAIL:
		fail_all(batch, job->code, job->error);
		break;
	}
}

/* Its guard held; guards of providers may not see the TTL. */
static bool changes_values(const struct provider_edit *edit)
{
	static const struct provider_rrset missing;
	struct provider_rrset before = edit->before;
	switch (edit->guard) {
	case PROVIDER_GUARD_NONE:
	case PROVIDER_GUARD_OWNED:
		break; /* nobody knows what there was */
	case PROVIDER_GUARD_ABSENT:
		return !provider_rrset_equal(&edit->set, &missing);
	case PROVIDER_GUARD_EQUAL:
		before.ttl_s = edit->set.ttl_s;
		return !provider_rrset_equal(&edit->set, &before);
	}
	return false;
}

/* Has the write, which succeeded, done more than to repeat what the zone had? Sets that the publisher reads
 * before it writes are different, or they would not be written. */
static bool surely_changes_zone(const struct publisher_batch *batch)
{
	for (size_t i = 0; i < batch->tried; i++) {
		const struct provider_change *change = &batch->changes[i];
		if (has_own_result(change))
			continue;
		if (change->was_different || !caps_of(batch)->has_guards)
			return true;
		for (size_t j = 0; j < change->n_edits; j++) {
			if (changes_values(&change->edits[j]))
				return true;
		}
	}
	return false;
}

static void take_write(struct publisher_batch *batch)
{
	zone_serial_note_write(batch->zone, batch->call.job.code, surely_changes_zone(batch));
	if (batch->call.job.code == PROVIDER_OK) {
		if (batch->is_bisecting)
			provider_bisect_succeeded(&batch->bisect, batch->tried);
		/* The last suspect needs no call of its own. */
		bool is_last = batch->is_bisecting && provider_bisect_found(&batch->bisect);
		if (is_last && batch->bad_code == PROVIDER_UNSURE)
			suspect_at(batch, batch->tried, false);
		else if (is_last)
			refuse_entry(batch, batch->tried, batch->bad_code, batch->bad_error);
		take_success(batch);
	} else if (batch->call.job.code != PROVIDER_UNSURE && refuse_named(batch)) {
		batch_go_on(batch);
	} else {
		take_failure(batch);
	}
}

/* ---- reads ---- */

/* The end of an entry that only reads: what was found is its result. */
static void report_found(struct publisher_batch *batch, size_t index,
			 enum provider_guard_answer answer, const char *error)
{
	struct publisher_entry *entry = batch->row[index];
	entry->found = TAKE_PTR(batch->changes[index].found);
	publisher_finish(batch_extract(batch, index),
			 answer == PROVIDER_GUARD_BROKEN ? PROVIDER_CONFLICT : PROVIDER_OK, error);
}

/* The provider does not serve the set in this zone. */
static void refuse_read(struct publisher_batch *batch, size_t index)
{
	struct publisher_entry *entry = batch->row[index];
	enum provider_code code = batch->changes[index].code;
	if (move_to_longer_zone(batch, index))
		return;
	CLEANUP(freep) char *error = xstrdup(batch->changes[index].error);
	if (entry->only_reads)
		entry->found = TAKE_PTR(batch->changes[index].found);
	publisher_finish(batch_extract(batch, index), code, error);
}

/* A set that was written and that a read does not show may exist all the same, where reads lag behind writes or
 * come from a cache. Deleting one that is missing does no harm. */
static bool deletes_known_set(const struct publisher_entry *entry)
{
	for (size_t i = 0; i < entry->n_edits; i++) {
		if (entry->edits[i].before.n_values == 0)
			return false;
	}
	return entry_only_deletes(entry);
}

/* What is wanted and what was found; true: the entry has left the row. */
static bool judge_read(struct publisher_batch *batch, size_t index)
{
	struct publisher_entry *entry = batch->row[index];
	char error[PROVIDER_ERROR_BYTES];
	if (has_own_result(&batch->changes[index])) {
		refuse_read(batch, index);
		return true;
	}
	enum provider_guard_answer answer =
		provider_guard_check(entry->edits, entry->n_edits, batch->changes[index].found,
				     entry->maybe_applied, ERR_TEXT(error));
	if (entry->only_reads) {
		report_found(batch, index, answer, error);
		return true;
	}
	switch (answer) {
	case PROVIDER_GUARD_HOLDS:
		return false;
	case PROVIDER_GUARD_DONE:
		if (deletes_known_set(entry))
			return false;
		publisher_finish(batch_extract(batch, index), PROVIDER_OK, NULL);
		return true;
	case PROVIDER_GUARD_BROKEN:
		break;
	}
	publisher_finish(batch_extract(batch, index), PROVIDER_CONFLICT, error);
	return true;
}

static void take_read(struct publisher_batch *batch)
{
	size_t end = batch->n_read + batch->tried, left = 0;
	for (size_t i = batch->n_read; i < end; i++)
		left += judge_read(batch, i);
	batch_close_gaps(batch);
	batch->n_read = end - left;
	if (batch->n_read == batch->n)
		batch->step = BATCH_WRITE;
	batch_go_on(batch);
}

/* A lost reply: the row is as after a success, or is written again. */
static void take_verify(struct publisher_batch *batch)
{
	size_t index = batch->telltales[--batch->n_telltales];
	const struct publisher_entry *entry = batch->row[index];
	const struct provider_rrset *found = batch->changes[index].found;
	bool is_applied = provider_guard_is_applied(entry->edits, entry->n_edits, found);
	if (is_applied && batch->n_telltales != 0) {
		batch_go_on(batch);
		return;
	}
	batch->step = BATCH_WRITE;
	if (!is_applied) {
		take_unapplied(batch, 0);
		return;
	}
	for (size_t i = 0; i < batch->tried; i++)
		provider_change_clear(&batch->changes[i]);
	take_write(batch);
}

#define UNEXPLAINED "the provider refuses the change, and does not show why"

/* The provider has refused a change, and reads show nothing that contradicts it: they lag behind writes, or
 * another writer was faster. It is written and read again by turns, without an end where it may be there. A
 * conflict that the provider has named may be none of guards. */
static void doubt_conflict(struct publisher_batch *batch)
{
	struct publisher_entry *entry = batch->row[0];
	CLEANUP(freep) char *named = xstrdup(batch->bad_error);
	unsigned turn = entry->n_doubts++;
	bool has_end = named[0] != '\0' || (!entry->maybe_applied && !entry_only_deletes(entry));
	bool gives_up = has_end && turn >= DOUBTS_MAX;
	bool is_over = entry->is_late || entry->request == NULL;
	if (turn % 2 != 0 && !is_over && !gives_up) {
		batch_retry(batch,
			    MIN(provider_backoff_ns(turn / 2), SETTLE_LONGEST_MS * NS_PER_MS));
		return;
	}
	batch_extract(batch, 0);
	batch_close_gaps(batch);
	if (gives_up)
		publisher_finish(entry, PROVIDER_CONFLICT, named[0] != '\0' ? named : UNEXPLAINED);
	else if (is_over)
		publisher_finish(entry, PROVIDER_UNSURE,
				 UNEXPLAINED ": it may show earlier changes late");
	else
		zone_queue_add(batch->zone, entry);
	batch_go_on(batch);
}

/* Deletions of what is not there have succeeded: what remains is written again. */
static void take_check(struct publisher_batch *batch)
{
	struct publisher_entry *entry = batch->row[0];
	const struct provider_rrset *found = batch->changes[0].found;
	struct publisher_zone *zone = batch->zone;
	char error[PROVIDER_ERROR_BYTES];
	size_t before = entry->n_edits;
	enum provider_guard_answer answer = provider_guard_check(
		entry->edits, before, found, entry->maybe_applied, ERR_TEXT(error));
	bool is_applied =
		answer == PROVIDER_GUARD_DONE ||
		(entry->maybe_applied && provider_guard_is_applied(entry->edits, before, found));
	if (!is_applied)
		entry->n_edits = provider_guard_drop_deleted(entry->edits, before, found);
	if (!is_applied && entry->n_edits == before && answer == PROVIDER_GUARD_HOLDS) {
		doubt_conflict(batch);
		return;
	}
	batch_extract(batch, 0);
	batch_close_gaps(batch);
	if (is_applied || entry->n_edits == 0)
		publisher_finish(entry, PROVIDER_OK, NULL);
	else if (entry->n_edits < before)
		zone_queue_add(zone, entry);
	else
		publisher_finish(entry, PROVIDER_CONFLICT, error);
	batch_go_on(batch);
}

/* Ends those that have taken effect; the others stay. */
static void finish_settled(struct publisher_batch *batch)
{
	for (size_t i = 0; i < batch->n; i++) {
		if (!batch->changes[i].is_unsettled)
			publisher_finish(batch_extract(batch, i), PROVIDER_OK, NULL);
	}
	batch_close_gaps(batch);
}

static void fail_unsettled(struct publisher_batch *batch)
{
	for (size_t i = 0; i < batch->n; i++) {
		const char *why = batch->changes[i].error;
		CLEANUP(freep)
		char *error = xstrdup(why[0] != '\0' ? why
						     : "the provider has accepted the change, but "
						       "it has not taken effect");
		publisher_finish(batch_extract(batch, i), PROVIDER_UNSURE, error);
	}
	batch_close_gaps(batch);
	batch_go_on(batch);
}

static void take_settle(struct publisher_batch *batch, enum provider_code code)
{
	struct loop *loop = batch->zone->account->loop;
	bool is_pending = code == PROVIDER_OK || code == PROVIDER_UNKNOWN ||
			  provider_code_reaction(code) == PROVIDER_RETRY;
	if (code == PROVIDER_OK)
		finish_settled(batch);
	if (!is_pending) {
		fail_all(batch, code, batch->call.job.error);
	} else if (batch->n == 0) {
		batch_go_on(batch);
	} else if (loop_now(loop) < batch->settle_by_ns) {
		batch->attempts++;
		uint64_t pause_ms = (uint64_t)SETTLE_FIRST_MS << MIN(batch->attempts, 10U);
		batch_retry(batch, MIN(pause_ms, (uint64_t)SETTLE_LONGEST_MS) * NS_PER_MS);
	} else {
		fail_unsettled(batch);
	}
}

/* Those of the call have the error; the others of the row are still read. */
static void fail_tried(struct publisher_batch *batch)
{
	const struct provider_job *job = &batch->call.job;
	CLEANUP(freep) char *error = xstrdup(job->error);
	for (size_t i = batch->n_read; i < batch->n_read + batch->tried; i++)
		publisher_finish(batch_extract(batch, i), job->code, error);
	batch_close_gaps(batch);
	batch_go_on(batch);
}

/* A read that failed. */
static void take_read_failure(struct publisher_batch *batch)
{
	const struct provider_job *job = &batch->call.job;
	enum provider_reaction reaction = provider_code_reaction(job->code);
	if (reaction == PROVIDER_RETRY || reaction == PROVIDER_VERIFY ||
	    reaction == PROVIDER_REPORT)
		retry_call(batch, job->code);
	else if (reaction == PROVIDER_ISOLATE && batch->row[0]->only_reads)
		fail_tried(batch);
	else
		fail_all(batch, job->code, job->error);
}

void batch_result(struct publisher_batch *batch)
{
	enum provider_code code = batch->call.job.code;
	switch (batch->step) {
	case BATCH_WRITE:
		take_write(batch);
		return;
	case BATCH_SETTLE:
		take_settle(batch, code);
		return;
	case BATCH_READ:
	case BATCH_VERIFY:
	case BATCH_CHECK:
		break;
	}
	if (code != PROVIDER_OK)
		take_read_failure(batch);
	else if (batch->step == BATCH_READ)
		take_read(batch);
	else if (batch->step == BATCH_VERIFY)
		take_verify(batch);
	else
		take_check(batch);
}
