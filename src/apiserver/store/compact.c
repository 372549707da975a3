/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compaction: deletes replaced versions and tombstones up to a revision, the compaction point. Lists
 * and watches before it get ERR_GONE. The point is moved first; then rows are deleted in batches on
 * the writer's thread, with pauses for other writes. If a crash interrupts it, the next round
 * continues.
 *
 * The rows to delete are found from the changes since the last round, each of which names the version
 * that it replaced: the cost depends on the number of changes, not on the size of the table. Rows are
 * deleted in the order of revisions, so a tombstone goes after the versions that it ended. */
#include "apiserver/store/compact_priv.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "apiserver/store/compact_test.h"
#include "apiserver/store/damage.h"
#include "apiserver/store/db_priv.h"
#include "apiserver/store/spare_file_priv.h"
#include "apiserver/store/store.h"
#include "apiserver/store/store_priv.h"
#include "apiserver/store/writer_priv.h"
#include "base/clock.h"
#include "base/err.h"

/* The size of a batch adapts to what the disk does in about 10 ms: so long writers wait for it. */
enum { BATCH_ROWS = 1000, BATCH_ROWS_MIN = 50 };

#define BATCH_LONG_NS  (20 * NS_PER_MS)
#define BATCH_SHORT_NS (5 * NS_PER_MS)
#define PAUSE_NS       (5 * NS_PER_MS)
#define DEFAULT_KEEP   (5 * 60 * NS_PER_S)
#define DEFAULT_EVERY  (60 * NS_PER_S)
#define VERIFY_EVERY   (6 * 3600 * NS_PER_S)
enum { DEFAULT_REVISIONS = 1000 };

/* ---- on the writer's thread ---- */

/* Runs a statement with one or two parameters. */
static int run_with(struct store_db *db, enum store_sql which, uint64_t left, uint64_t right)
{
	sqlite3_stmt *st = store_db_stmt(db, which);
	if (st == NULL)
		return store_db_error(db, sqlite3_errcode(db->db));
	sqlite3_bind_int64(st, 1, (sqlite3_int64)left);
	if (sqlite3_bind_parameter_count(st) > 1)
		sqlite3_bind_int64(st, 2, (sqlite3_int64)right);
	int rc = sqlite3_step(st);
	sqlite3_reset(st);
	return rc == SQLITE_DONE ? 0 : store_db_error(db, rc);
}

/* Runs `fn` in a transaction of its own; an error undoes it. */
static int run_in_transaction(struct store_db *db, int (*fn)(struct store_db *db, void *ctx),
			      void *ctx)
{
	int r = store_db_run(db, SQL_BEGIN_WRITE);
	if (r == 0)
		r = fn(db, ctx);
	if (r == 0)
		r = store_db_run(db, SQL_COMMIT);
	if (r < 0)
		store_db_rollback(db);
	return r;
}

static int move_point(struct store_db *db, void *ctx)
{
	return run_with(db, SQL_SET_COMPACTED, *(uint64_t *)ctx, 0);
}

static int move_point_job(struct apiserver_store *store, void *ctx)
{
	uint64_t to = *(uint64_t *)ctx;
	assert(to <= apiserver_store_revision(store));
	if (to <= atomic_load(&store->compacted))
		return 0;
	int r = run_in_transaction(&store->writer.db, move_point, &to);
	if (r == 0)
		atomic_store(&store->compacted, to);
	return r;
}

/* The state of one round. */
struct sweep {
	uint64_t upto;	  /* the compaction point */
	int rows;	  /* of the next batch */
	bool done;	  /* the last batch reached the point */
	uint64_t took_ns; /* by the last batch */
};

/* The revisions (*ret_from, *ret_to] of the next batch. */
static int find_batch_end(struct store_db *db, struct sweep *sweep, uint64_t *ret_from,
			  uint64_t *ret_to)
{
	sqlite3_stmt *st = store_db_stmt(db, SQL_BATCH);
	if (st == NULL)
		return store_db_error(db, sqlite3_errcode(db->db));
	sqlite3_bind_int64(st, 1, (sqlite3_int64)sweep->upto);
	sqlite3_bind_int(st, 2, sweep->rows);
	int rc = sqlite3_step(st);
	if (rc != SQLITE_ROW) {
		sqlite3_reset(st);
		return store_db_error(db, rc);
	}
	*ret_from = (uint64_t)sqlite3_column_int64(st, 0);
	sweep->done = sqlite3_column_int(st, 2) < sweep->rows;
	*ret_to = sweep->done ? sweep->upto : (uint64_t)sqlite3_column_int64(st, 1);
	sqlite3_reset(st);
	return 0;
}

static int delete_batch(struct store_db *db, void *ctx)
{
	struct sweep *sweep = ctx;
	uint64_t from = 0, to = 0;
	int r = find_batch_end(db, sweep, &from, &to);
	if (r < 0 || to <= from)
		return r;
	r = run_with(db, SQL_DELETE_REPLACED, from, to);
	if (r == 0)
		r = run_with(db, SQL_DELETE_REMOVED, from, to);
	if (r == 0)
		r = run_with(db, SQL_SET_SWEPT, to, 0);
	return r;
}

static int delete_batch_job(struct apiserver_store *store, void *ctx)
{
	struct sweep *sweep = ctx;
	uint64_t start = clock_mono_ns();
	int r = run_in_transaction(&store->writer.db, delete_batch, sweep);
	sweep->took_ns = clock_mono_ns() - start;
	if (sweep->took_ns > BATCH_LONG_NS)
		sweep->rows = MAX(sweep->rows / 2, BATCH_ROWS_MIN);
	else if (sweep->took_ns < BATCH_SHORT_NS)
		sweep->rows = MIN(sweep->rows * 2, BATCH_ROWS);
	return r;
}

static int checkpoint_job(struct apiserver_store *store, void *ctx)
{
	(void)ctx;
	return store_db_truncate_log(&store->writer.db);
}

int store_compact_now(struct apiserver_store *store)
{
	uint64_t to = apiserver_store_revision(store);
	int r = move_point_job(store, &to);
	struct sweep sweep = { .upto = apiserver_store_compacted(store), .rows = BATCH_ROWS_MIN };
	while (r == 0 && !sweep.done) {
		r = delete_batch_job(store, &sweep);
		if (r == 0)
			r = store_db_truncate_log(&store->writer.db);
	}
	return r;
}

/* ---- a round ---- */

static int release_spare_job(struct apiserver_store *store, void *ctx)
{
	(void)ctx;
	store_spare_release(store);
	return 0;
}

static int make_spare_job(struct apiserver_store *store, void *ctx)
{
	(void)ctx;
	return store_spare_make(store, 0) ? 0 : ERR_SPACE;
}

/* Compaction needs disk space itself: on a full disk it uses that of the spare file. */
static int run_on_writer(struct apiserver_store *store, int (*fn)(struct apiserver_store *, void *),
			 void *ctx)
{
	int r = store_writer_run(store, &(struct store_job){ .run = fn, .ctx = ctx });
	if (r != ERR_SPACE || atomic_load(&store->removals_only))
		return r;
	IGNORE(store_writer_run(store,
				&(struct store_job){ .run = release_spare_job })); /* cannot fail */
	return store_writer_run(store, &(struct store_job){ .run = fn, .ctx = ctx });
}

/* Waits, at most until a compaction is requested; true if the store is being closed. */
static bool wait_for(struct store_compactor *compactor, uint64_t ns)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	ns += (uint64_t)t.tv_nsec;
	t.tv_sec += (time_t)(ns / NS_PER_S);
	t.tv_nsec = (long)(ns % NS_PER_S);
	pthread_mutex_lock(&compactor->lock);
	int r = 0;
	while (!compactor->closing && !compactor->requested && r != ETIMEDOUT)
		r = pthread_cond_timedwait(&compactor->cond, &compactor->lock, &t);
	bool closing = compactor->closing;
	pthread_mutex_unlock(&compactor->lock);
	return closing;
}

bool store_compact_wait(struct apiserver_store *store, uint64_t ns)
{
	return wait_for(&store->compactor, ns);
}

int apiserver_store_compact(struct apiserver_store *store, uint64_t below)
{
	uint64_t to = MIN(below, apiserver_store_revision(store));
	int r = run_on_writer(store, move_point_job, &to);
	struct sweep sweep = { .upto = apiserver_store_compacted(store), .rows = BATCH_ROWS / 4 };
	while (r == 0 && !sweep.done) {
		r = run_on_writer(store, delete_batch_job, &sweep);
		/* Three quarters of the time are left to queued writes. */
		if (r == 0 && !sweep.done &&
		    wait_for(&store->compactor, MAX(PAUSE_NS, 3 * sweep.took_ns)))
			return 0;
	}
	return r == 0 ? run_on_writer(store, checkpoint_job, NULL) : r;
}

/* ---- by the clock ---- */

/* Records the present revision: a few samples over the time for which history is kept. */
static void take_sample(struct store_compactor *compactor, uint64_t now, uint64_t revision)
{
	if (compactor->n_samples > 0 && now - compactor->sample[compactor->n_samples - 1].ns <
						compactor->keep_ns / (STORE_SAMPLES / 2))
		return;
	assert(compactor->n_samples <= STORE_SAMPLES);
	if (compactor->n_samples == STORE_SAMPLES)
		memmove(compactor->sample, compactor->sample + 1,
			--compactor->n_samples * sizeof(compactor->sample[0]));
	compactor->sample[compactor->n_samples++] = (struct store_sample){ now, revision };
}

/* The highest revision up to which both limits, of time and of number, allow compaction; 0: none. */
static uint64_t find_due_point(const struct store_compactor *compactor, uint64_t now,
			       uint64_t revision)
{
	uint64_t old = 0;
	for (size_t i = 0;
	     i < compactor->n_samples && now - compactor->sample[i].ns >= compactor->keep_ns; i++)
		old = compactor->sample[i].revision;
	return revision > compactor->keep_revisions ? MIN(old, revision - compactor->keep_revisions)
						    : 0;
}

static bool take_request(struct store_compactor *compactor)
{
	pthread_mutex_lock(&compactor->lock);
	bool requested = compactor->requested;
	compactor->requested = false;
	pthread_mutex_unlock(&compactor->lock);
	return requested;
}

static void compact_if_due(struct apiserver_store *store)
{
	struct store_compactor *compactor = &store->compactor;
	uint64_t now = clock_mono_ns(), revision = apiserver_store_revision(store);
	take_sample(compactor, now, revision);
	/* On a full disk the space of removed objects is needed now. */
	bool all = take_request(compactor) || atomic_load(&store->removals_only);
	uint64_t to = all ? revision : find_due_point(compactor, now, revision);
	if (to <= apiserver_store_compacted(store) && !compactor->incomplete)
		return;
	int r = apiserver_store_compact(store, to);
	compactor->incomplete = r < 0;
	/* If that fails, the store stays in its state, and the next round tries again. */
	if (r == 0 && atomic_load(&store->removals_only))
		IGNORE(store_writer_run(store, &(struct store_job){ .run = make_spare_job }));
	if (r < 0 && store->conf.on_failure != NULL) {
		char text[512];
		snprintf(text, sizeof(text),
			 "cannot remove old versions from '%s', trying again later: %s",
			 store->file, err_str(r));
		store->conf.on_failure(store->conf.ctx, text);
	}
}

/* Damage is recorded and reported where it is found. */
static void verify_if_due(struct apiserver_store *store)
{
	uint64_t now = clock_mono_ns();
	if (now < store->compactor.verify_ns)
		return;
	store->compactor.verify_ns = now + VERIFY_EVERY;
	IGNORE(apiserver_store_verify(store));
}

static void *compactor_main(void *arg)
{
	struct apiserver_store *store = arg;
	do {
		compact_if_due(store);
		verify_if_due(store);
	} while (!wait_for(&store->compactor, store->compactor.every_ns));
	return NULL;
}

int store_compact_start(struct apiserver_store *store)
{
	struct store_compactor *compactor = &store->compactor;
	const struct apiserver_store_conf *conf = &store->conf;
	compactor->keep_ns = conf->keep_ns != 0 ? conf->keep_ns : DEFAULT_KEEP;
	compactor->keep_revisions =
		conf->keep_revisions != 0 ? conf->keep_revisions : DEFAULT_REVISIONS;
	compactor->every_ns = conf->compact_every_ns != 0 ? conf->compact_every_ns : DEFAULT_EVERY;
	compactor->incomplete = true; /* the last process may have been killed */
	pthread_condattr_t attr;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_mutex_init(&compactor->lock, NULL);
	pthread_cond_init(&compactor->cond, &attr);
	pthread_condattr_destroy(&attr);
	compactor->ready = true;
	if (compactor->every_ns == UINT64_MAX)
		return 0;
	int r = store_thread_start(&compactor->thread, compactor_main, store);
	compactor->started = r == 0;
	return r;
}

void store_compact_request(struct apiserver_store *store)
{
	struct store_compactor *compactor = &store->compactor;
	pthread_mutex_lock(&compactor->lock);
	compactor->requested = true;
	pthread_cond_broadcast(&compactor->cond);
	pthread_mutex_unlock(&compactor->lock);
}

void store_compact_stop(struct apiserver_store *store)
{
	struct store_compactor *compactor = &store->compactor;
	if (!compactor->ready)
		return;
	pthread_mutex_lock(&compactor->lock);
	compactor->closing = true;
	pthread_cond_broadcast(&compactor->cond);
	pthread_mutex_unlock(&compactor->lock);
	if (compactor->started)
		pthread_join(compactor->thread, NULL);
}

void store_compact_done(struct apiserver_store *store)
{
	struct store_compactor *compactor = &store->compactor;
	if (!compactor->ready)
		return;
	assert(compactor->closing);
	pthread_cond_destroy(&compactor->cond);
	pthread_mutex_destroy(&compactor->lock);
}
