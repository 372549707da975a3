/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Batches: filling them, making their calls, ending them. provider/batch_result.c decides what
 * follows from results. */
#include "provider/batch_priv.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "provider/account_priv.h"
#include "provider/shared/job.h"
#include "provider/publisher_priv.h"
#include "provider/zone_queue_priv.h"

/* ---- its life ---- */

static void on_finished(struct publisher_call *call)
{
	batch_result(CONTAINER_OF(call, struct publisher_batch, call));
}

static void on_timer(struct loop_timer *timer)
{
	batch_go_on(CONTAINER_OF(timer, struct publisher_batch, timer));
}

static void run_turn(struct account_turn *turn);

static void link_batch(struct publisher_batch *batch)
{
	struct publisher_account *account = batch->zone->account;
	batch->next = account->batches;
	if (account->batches != NULL)
		account->batches->prev = batch;
	account->batches = batch;
}

struct publisher_batch *batch_new(struct publisher_zone *zone, enum batch_step step,
				  struct publisher_entry **entries, size_t count)
{
	struct publisher_batch *batch = xcalloc(1, sizeof(*batch));
	*batch = (struct publisher_batch){
		.zone = zone,
		.turn = { .run = run_turn, .priority = PUBLISHER_PERIODIC },
		.call = { .account = zone->account, .finished = on_finished },
		.timer = { .cb = on_timer },
		.step = step,
		.n = count
	};
	assert(count != 0);
	batch->row = xmemdup(entries, count * sizeof(struct publisher_entry *));
	batch->changes = xcalloc(count, sizeof(*batch->changes));
	for (size_t i = 0; i < count; i++) {
		batch->changes[i] = (struct provider_change){ .edits = entries[i]->edits,
							      .n_edits = entries[i]->n_edits,
							      .code = PROVIDER_UNKNOWN };
		if (entries[i]->priority == PUBLISHER_NOW)
			batch->turn.priority = PUBLISHER_NOW;
	}
	link_batch(batch);
	return batch;
}

static void free_batch(struct publisher_batch *batch)
{
	struct publisher_account *account = batch->zone->account;
	assert(batch->n == 0 && !batch->call.is_running);
	loop_timer_stop(account->loop, &batch->timer);
	account_turn_leave(account, &batch->turn);
	if (batch->prev != NULL)
		batch->prev->next = batch->next;
	else
		account->batches = batch->next;
	if (batch->next != NULL)
		batch->next->prev = batch->prev;
	provider_job_clear(&batch->call.job);
	free(batch->settle_token);
	free(batch->changes);
	free(batch->row);
	free(batch);
}

void batch_abort(struct publisher_batch *batch)
{
	call_cancel(&batch->call);
	for (size_t i = 0; i < batch->n; i++) {
		provider_change_clear(&batch->changes[i]);
		publisher_forget(batch->row[i]);
	}
	batch->n = 0;
	free_batch(batch);
}

struct publisher_entry *batch_extract(struct publisher_batch *batch, size_t index)
{
	struct publisher_entry *entry = batch->row[index];
	assert(index < batch->n && entry != NULL);
	provider_change_clear(&batch->changes[index]);
	batch->row[index] = NULL;
	return entry;
}

void batch_close_gaps(struct publisher_batch *batch)
{
	size_t kept = 0;
	for (size_t i = 0; i < batch->n; i++) {
		if (batch->row[i] == NULL)
			continue;
		if (kept != i) {
			batch->row[kept] = batch->row[i];
			batch->changes[kept] = batch->changes[i];
		}
		kept++;
	}
	batch->n = kept;
}

/* ---- its calls ---- */

/* Requests that were cancelled meanwhile are not sent, unless they may have been applied: others for
 * the same name must not overtake them. What was accepted cannot be overtaken. */
static void drop_cancelled(struct publisher_batch *batch)
{
	bool is_settling = batch->step == BATCH_SETTLE;
	if (!is_settling && (batch->step != BATCH_WRITE || batch->is_bisecting))
		return;
	for (size_t i = 0; i < batch->n; i++) {
		if (batch->row[i]->request == NULL &&
		    (is_settling || !batch->row[i]->maybe_applied))
			publisher_finish(batch_extract(batch, i), PROVIDER_UNKNOWN, NULL);
	}
	batch_close_gaps(batch);
}

static void mark_sent(struct publisher_entry *entry)
{
	bool is_first = !entry->was_sent;
	entry->was_sent = true;
	if (is_first && entry->request != NULL && entry->request->sent != NULL)
		entry->request->sent(entry->request);
}

/* Changes of the row from `from` on. */
static void call_changes(struct publisher_batch *batch, enum provider_job_kind kind, size_t from,
			 size_t count)
{
	struct provider_job *job = &batch->call.job;
	assert(count != 0 && from + count <= batch->n);
	for (size_t i = from; i < from + count; i++) {
		provider_change_clear(&batch->changes[i]);
		mark_sent(batch->row[i]);
	}
	batch->tried = count;
	job->kind = kind;
	job->changes = &batch->changes[from];
	job->n_changes = count;
}

static void fill_call(struct publisher_batch *batch)
{
	const struct provider_caps *caps = &batch->zone->account->provider->caps;
	switch (batch->step) {
	case BATCH_READ:
		call_changes(batch, PROVIDER_READ, batch->n_read,
			     MIN(MAX(caps->read_changes, (size_t)1), batch->n - batch->n_read));
		break;
	case BATCH_WRITE:
		assert(!batch->is_bisecting || batch->bisect.left == batch->n);
		call_changes(batch, PROVIDER_APPLY, 0,
			     batch->is_bisecting ? provider_bisect_next(&batch->bisect) : batch->n);
		break;
	case BATCH_VERIFY: {
		size_t tried = batch->tried; /* of the write */
		call_changes(batch, PROVIDER_READ, batch->telltales[batch->n_telltales - 1], 1);
		batch->tried = tried;
		break;
	}
	case BATCH_CHECK:
		call_changes(batch, PROVIDER_READ, 0, 1);
		break;
	case BATCH_SETTLE:
		call_changes(batch, PROVIDER_SETTLE, 0, batch->n);
		batch->call.job.token = batch->settle_token;
		if (batch->settle_token != NULL)
			batch->call.job.n_changes = 0;
		break;
	}
}

static void run_turn(struct account_turn *turn)
{
	struct publisher_batch *batch = CONTAINER_OF(turn, struct publisher_batch, turn);
	drop_cancelled(batch);
	if (batch->n == 0) {
		batch_go_on(batch);
		return;
	}
	batch->call.job.zone = batch->zone->id;
	fill_call(batch);
	call_start(&batch->call);
}

void batch_go_on(struct publisher_batch *batch)
{
	struct publisher_zone *zone = batch->zone;
	bool is_writer = batch->is_writer;
	if (batch->n != 0) {
		account_turn_wait(zone->account, &batch->turn);
		return;
	}
	free_batch(batch);
	if (is_writer)
		zone_queue_written(zone);
}

void batch_retry(struct publisher_batch *batch, uint64_t pause_ns)
{
	struct loop *loop = batch->zone->account->loop;
	loop_timer_set(loop, &batch->timer, loop_now(loop) + pause_ns);
}

/* ---- beginning ---- */

static bool fits(const struct provider *provider, struct provider_size *sum,
		 const struct publisher_entry *entry)
{
	struct provider_change change = { .edits = entry->edits, .n_edits = entry->n_edits };
	struct provider_size own = provider->measure != NULL ? provider->measure(&change)
							     : provider_change_size(&change);
	sum->records += own.records;
	sum->bytes += own.bytes;
	return (provider->caps.batch_records == 0 ||
		sum->records <= provider->caps.batch_records) &&
	       (provider->caps.batch_bytes == 0 || sum->bytes <= provider->caps.batch_bytes);
}

static bool needs_read(const struct publisher_entry *entry)
{
	for (size_t i = 0; i < entry->n_edits; i++) {
		if (entry->edits[i].guard != PROVIDER_GUARD_NONE)
			return true;
	}
	return false;
}

bool batch_needs_read(const struct publisher_batch *batch)
{
	for (size_t i = 0; i < batch->n; i++) {
		if (needs_read(batch->row[i]))
			return true;
	}
	return false;
}

static void begin_with(struct publisher_zone *zone, struct publisher_entry **taken, size_t count)
{
	bool has_guards = zone->account->provider->caps.has_guards;
	enum batch_step step = BATCH_WRITE;
	for (size_t i = 0; i < count; i++) {
		if (taken[i]->only_reads || (!has_guards && needs_read(taken[i])))
			step = BATCH_READ;
	}
	struct publisher_batch *batch = batch_new(zone, step, taken, count);
	batch->is_writer = true;
	run_turn(&batch->turn);
}

void batch_begin(struct publisher_zone *zone)
{
	const struct provider *provider = zone->account->provider;
	size_t most = MAX(provider->caps.batch_changes, (size_t)1);
	VEC(struct publisher_entry *) taken = { 0 };
	struct provider_size sum = { 0 };
	struct publisher_entry *entry;
	/* One that is larger than a batch may be goes alone: the provider says what is wrong. Those that only
	 * read are among themselves. */
	while (taken.n < most && (entry = zone_queue_first(zone)) != NULL &&
	       (fits(provider, &sum, entry) || taken.n == 0) &&
	       (taken.n == 0 || entry->only_reads == taken.v[0]->only_reads)) {
		zone_queue_take(zone, entry);
		vec_push(&taken, entry);
	}
	begin_with(zone, taken.v, taken.n);
	vec_done(&taken);
}

void batch_begin_alone(struct publisher_entry *entry)
{
	begin_with(entry->zone, &entry, 1);
}
