/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One batch of writes as a transaction. Each set of writes is applied completely or not at all; all
 * sets of a batch share one commit, and so one fsync. On a full disk only removals, and writes that
 * lead to them, are applied: they may use the space of the spare file. */
#include "apiserver/store/transaction_priv.h"

#include <assert.h>

#include "apiserver/store/checksum_priv.h"
#include "apiserver/store/compact_priv.h"
#include "apiserver/store/data_dir_priv.h"
#include "apiserver/store/db_priv.h"
#include "apiserver/store/event_priv.h"
#include "apiserver/store/ring_priv.h"
#include "apiserver/store/spare_file_priv.h"
#include "apiserver/store/store_priv.h"
#include "base/err.h"
#include "base/metrics/metrics.h"

/* Space that a transaction needs beside its values: index pages and the like. */
enum { PAGE_ROOM_BYTES = 1 << 20 };

/* ---- one write ---- */

/* The newest version of a key; id 0: there is none. */
struct newest {
	uint64_t id, created, prev;
	bool removed;
	struct slice value; /* valid until release_newest */
	struct store_event *event;
};

static void release_newest(struct apiserver_store *store, struct newest *newest)
{
	newest->value = (struct slice){ 0 };
	if (newest->event != NULL)
		store_event_unref(TAKE_PTR(newest->event));
	else
		sqlite3_reset(store->writer.db.stmt[SQL_NEWEST]);
}

/* From the ring, which does not have the writes of this batch: after one of them the insert fails,
 * since another version follows the same one already. A removed one may have left the table by now. */
static bool find_newest(struct apiserver_store *store, const char *key, struct newest *ret)
{
	struct store_event *event = store_ring_find(&store->ring, key, NULL);
	if (event == NULL || event->change.removed) {
		store_event_unref(event);
		return false;
	}
	*ret = (struct newest){ .id = event->change.revision,
				.created = event->created,
				.value = event->change.value,
				.event = event };
	return true;
}

/* From the table. */
static int read_newest(struct apiserver_store *store, const char *key, struct newest *ret)
{
	struct store_db *db = &store->writer.db;
	sqlite3_stmt *st = store_db_stmt(db, SQL_NEWEST);
	if (st == NULL)
		return store_db_error(db, sqlite3_errcode(db->db));
	sqlite3_bind_text(st, 1, key, -1, SQLITE_STATIC);
	int rc = sqlite3_step(st);
	*ret = (struct newest){ 0 };
	if (rc == SQLITE_DONE)
		return 0;
	if (rc != SQLITE_ROW)
		return store_db_error(db, rc);
	ret->id = (uint64_t)sqlite3_column_int64(st, 0);
	ret->created = (uint64_t)sqlite3_column_int64(st, 1);
	ret->removed = sqlite3_column_int(st, 2) != 0;
	ret->value = store_db_blob(st, 3);
	ret->prev = (uint64_t)sqlite3_column_int64(st, 4);
	/* Watches will deliver it as the version before. */
	return store_sum_check(store,
			       &(struct store_sum_row){ .id = ret->id,
							.key = key,
							.created = ret->created,
							.prev = ret->prev,
							.removed = ret->removed,
							.value = ret->value },
			       st, 5);
}

/* `prev` is the version before, which may be a removal; 0: none. */
static int insert_row(struct store_db *db, const struct store_event *event, uint64_t prev)
{
	sqlite3_stmt *st = store_db_stmt(db, SQL_INSERT);
	if (st == NULL)
		return store_db_error(db, sqlite3_errcode(db->db));
	sqlite3_bind_int64(st, 1, (sqlite3_int64)event->change.revision);
	sqlite3_bind_text(st, 2, event->change.key, -1, SQLITE_STATIC);
	sqlite3_bind_int64(st, 3, (sqlite3_int64)event->created);
	sqlite3_bind_int64(st, 4, (sqlite3_int64)prev);
	sqlite3_bind_int(st, 5, event->change.removed);
	sqlite3_bind_blob64(st, 6, event->change.value.p, event->change.value.n, SQLITE_STATIC);
	sqlite3_bind_int64(st, 7,
			   store_sum_of(&(struct store_sum_row){ .id = event->change.revision,
								 .key = event->change.key,
								 .created = event->created,
								 .prev = prev,
								 .removed = event->change.removed,
								 .value = event->change.value }));
	int rc = sqlite3_step(st);
	sqlite3_reset(st);
	if (rc == SQLITE_CONSTRAINT_UNIQUE)
		return ERR_CONFLICT;
	return rc == SQLITE_DONE ? 0 : store_db_error(db, rc);
}

static int apply_one(struct apiserver_store *store, struct store_job *job,
		     const struct apiserver_write *write)
{
	struct store_writer *writer = &store->writer;
	struct newest newest = { 0 };
	int r = writer->last_revision < writer->bound
			? 0
			: store_bound_reserve(store->dir, writer->last_revision, &writer->bound);
	if (r == 0 && !find_newest(store, write->key, &newest))
		r = read_newest(store, write->key, &newest);
	uint64_t stored = newest.removed ? 0 : newest.id;
	/* A missing object cannot be removed. */
	if (r == 0 && (stored != write->expect || (write->remove && stored == 0)))
		r = ERR_CONFLICT;
	if (r < 0) {
		release_newest(store, &newest);
		return r;
	}
	assert(writer->last_revision < writer->bound);
	const uint64_t revision = ++writer->last_revision;
	struct store_event *event = store_event_new(&(struct store_event_parts){
		.key = write->key,
		.revision = revision,
		.replaced = stored,
		.created = stored != 0 ? newest.created : revision,
		.removed = write->remove,
		.head = write->head,
		.tail = write->tail,
		.optional = write->optional,
		.before = stored != 0 ? newest.value : (struct slice){ 0 },
	});
	release_newest(store, &newest);
	*job->events_end = event;
	job->events_end = &event->next;
	job->revision = revision;
	return insert_row(&writer->db, event, newest.id);
}

/* ---- a set ---- */

static void drop_events(struct store_job *job)
{
	store_event_unref_list(TAKE_PTR(job->events));
	job->events_end = &job->events;
}

/* Errors that concern one set alone; the rest of the batch goes on. */
static bool is_refusal(int error)
{
	return error == ERR_CONFLICT || error == ERR_DAMAGED;
}

/* Applies one set. Returns 0 also if the set alone is refused, with the reason in job->result; an
 * error fails the whole batch. A single write needs no savepoint: one statement is atomic. */
static int apply_set(struct apiserver_store *store, struct store_job *job)
{
	struct store_writer *writer = &store->writer;
	drop_events(job); /* of an attempt that did not fit */
	int r = job->count > 1 ? store_db_run(&writer->db, SQL_SAVE) : 0;
	for (size_t i = 0; r == 0 && i < job->count; i++) {
		r = apply_one(store, job, &job->writes[i]);
		if (is_refusal(r))
			job->refused = i;
	}
	job->result = r;
	if (r < 0)
		drop_events(job);
	if (r < 0 && !is_refusal(r))
		return r;
	if (job->count == 1)
		return 0;
	if (r < 0)
		r = store_db_run(&writer->db, SQL_SAVE_UNDO);
	return r < 0 ? r : store_db_run(&writer->db, SQL_SAVE_DONE);
}

static int apply_all(struct apiserver_store *store, struct store_job *batch)
{
	struct store_writer *writer = &store->writer;
	int r = store_db_run(&writer->db, SQL_BEGIN_WRITE);
	for (struct store_job *job = batch; r == 0 && job != NULL; job = job->next)
		r = job->passed_over ? 0 : apply_set(store, job);
	if (r == 0) {
		/* Any error that made SQLite roll back by itself has ended the loop. */
		assert(sqlite3_get_autocommit(writer->db.db) == 0);
		r = store_db_run(&writer->db, SQL_COMMIT);
	}
	if (r < 0)
		store_db_rollback(&writer->db);
	return r;
}

/* True if all writes of the set are removals or lead to one. */
static bool is_freeing(const struct store_job *job)
{
	for (size_t i = 0; i < job->count; i++)
		if (!job->writes[i].remove && !job->writes[i].frees)
			return false;
	return true;
}

/* Passes over the sets that may not use the reserved space. True: some may. */
static bool pass_over_others(struct store_job *batch)
{
	bool any = false;
	for (struct store_job *job = batch; job != NULL; job = job->next) {
		drop_events(job);
		job->passed_over = !is_freeing(job);
		any |= !job->passed_over;
	}
	return any;
}

size_t store_transaction_job_bytes(const struct store_job *job)
{
	size_t n = 0;
	for (size_t i = 0; i < job->count; i++)
		n += job->writes[i].head.n + job->writes[i].tail.n;
	return n;
}

static bool has_removal(const struct store_job *batch)
{
	for (const struct store_job *job = batch; job != NULL; job = job->next)
		if (is_freeing(job))
			return true;
	return false;
}

/* True if the disk has space for all of the batch, not only for removals. */
static bool has_room(struct apiserver_store *store, const struct store_job *batch)
{
	uint64_t bytes = 0;
	if (!atomic_load(&store->removals_only) && !store->spare_short)
		return true;
	for (const struct store_job *job = batch; job != NULL; job = job->next)
		bytes += is_freeing(job) ? 0 : store_transaction_job_bytes(job);
	return store_spare_make(store, bytes);
}

static int apply_alone(struct apiserver_store *store, struct store_job *job)
{
	struct store_db *db = &store->writer.db;
	int r = store_db_run(db, SQL_BEGIN_WRITE);
	if (r == 0)
		r = apply_set(store, job);
	if (r == 0)
		r = store_db_run(db, SQL_COMMIT);
	if (r < 0)
		store_db_rollback(db);
	return r;
}

/* Many removals outrun the compactor. So the writer itself compacts, before the file grows so far
 * into the space of the spare file that the spare could not be made again. */
static void make_room(struct apiserver_store *store, uint64_t bytes)
{
	if (store_spare_disk_free(store) < STORE_SPARE_MIN_BYTES + 2 * bytes + PAGE_ROOM_BYTES)
		IGNORE(store_compact_now(store)); /* if it failed, so will the write */
}

static int apply_together(struct apiserver_store *store, struct store_job *batch)
{
	uint64_t bytes = 0;
	for (const struct store_job *job = batch; job != NULL; job = job->next)
		bytes += job->passed_over ? 0 : store_transaction_job_bytes(job);
	make_room(store, bytes);
	return apply_all(store, batch);
}

/* Applies each set in a transaction of its own: removals that do not fit together may fit alone. */
static int apply_each(struct apiserver_store *store, struct store_job *batch)
{
	bool any = false;
	for (struct store_job *job = batch; job != NULL; job = job->next) {
		if (job->passed_over)
			continue;
		make_room(store, store_transaction_job_bytes(job));
		if (apply_alone(store, job) == 0) {
			any = true;
			continue;
		}
		drop_events(job);
		job->passed_over = true;
	}
	return any ? 0 : ERR_SPACE;
}

/* Applies the batch; on a full disk only its removals. */
static int apply_what_fits(struct apiserver_store *store, struct store_job *batch)
{
	int r = ERR_SPACE;
	if (has_room(store, batch)) {
		r = apply_all(store, batch);
		if (r == ERR_SPACE) {
			/* The file may have free pages while only the log cannot grow. */
			store_spare_shrink(store);
			/* If it failed, so will the write. */
			IGNORE(store_db_truncate_log(&store->writer.db));
			r = apply_all(store, batch);
		}
		if (r == 0 && store->spare_short && has_removal(batch))
			store_compact_request(store);
		if (r != ERR_SPACE)
			return r;
	}
	if (!pass_over_others(batch))
		return ERR_SPACE;
	store_spare_release(store);
	r = apply_together(store, batch);
	if (r == ERR_SPACE)
		r = apply_each(store, batch);
	if (r == 0)
		store_compact_request(store);
	return r;
}

/* For apiserver_store_has_space: removals say nothing about other writes. */
static void note_refusals(struct apiserver_store *store, const struct store_job *batch)
{
	for (const struct store_job *job = batch; job != NULL; job = job->next)
		if (!is_freeing(job) && (job->result == 0 || job->result == ERR_SPACE))
			atomic_store(&store->refused, job->result == ERR_SPACE);
}

/* Order: events become durable, then visible; after that the writer answers its callers and wakes
 * watches. */
void store_transaction_commit(struct apiserver_store *store, struct store_job *batch)
{
	int r = apply_what_fits(store, batch);
	struct store_event *list = NULL, **end = &list;
	uint64_t writes = 0;
	for (struct store_job *job = batch; job != NULL; job = job->next) {
		if (r < 0) {
			/* Refused sets too: they may conflict with a write that is undone now. */
			drop_events(job);
			job->result = r;
		} else if (job->passed_over) {
			job->result = ERR_SPACE;
		} else if (job->events != NULL) {
			assert(job->result == 0 && job->revision <= store->writer.last_revision);
			*end = job->events;
			end = job->events_end;
			job->events = NULL;
			writes += job->count;
		}
	}
	*end = NULL;
	note_refusals(store, batch);
	if (writes > 0) {
		metrics_add(store->writer.commits, 0, 1);
		metrics_add(store->writer.writes, 0, writes);
	}
	store_ring_publish(&store->ring, list);
}
