/* The writer: one thread, one connection. All sets that wait when it looks go into one transaction
 * and share its fsync; each is applied as a whole or not at all, and hears of it when all is
 * durable. */
#include <signal.h>
#include <string.h>

#include "apiserver/store/store_priv.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/metrics/metrics.h"

/* Of a full disk, for pages beside those of the values. */
enum { ROOM_BYTES = 1 << 20 };

static const struct metrics_family commits_total = {
	.name = "fairlead_api_store_commits_total",
	.help = "Transactions of the embedded API's store: each waits once for the disk.",
	.kind = METRICS_COUNTER,
};
static const struct metrics_family writes_total = {
	.name = "fairlead_api_store_writes_total",
	.help = "Writes in these transactions.",
	.kind = METRICS_COUNTER,
};

/* ---- one write ---- */

struct newest {
	uint64_t id, created, prev;
	bool removed;
	struct slice value; /* borrowed from the statement until it is reset */
};

/* The newest version; id 0: there is none. */
static int newest_get(struct apiserver_store *store, const char *key, struct newest *ret)
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
	/* Watchers will get it as the version before. */
	return store_sum_check(store,
			       &(struct store_sum_row){ .id = ret->id,
							.key = key,
							.created = ret->created,
							.prev = ret->prev,
							.removed = ret->removed,
							.value = ret->value },
			       st, 5);
}

static int insert(struct store_db *db, const struct store_event *event, const struct newest *newest)
{
	sqlite3_stmt *st = store_db_stmt(db, SQL_INSERT);
	if (st == NULL)
		return store_db_error(db, sqlite3_errcode(db->db));
	bool first = event->e.replaced == 0;
	sqlite3_bind_int64(st, 1, (sqlite3_int64)event->e.revision);
	sqlite3_bind_text(st, 2, event->e.key, -1, SQLITE_STATIC);
	sqlite3_bind_int64(st, 3, (sqlite3_int64)(first ? event->e.revision : newest->created));
	sqlite3_bind_int64(st, 4, (sqlite3_int64)newest->id);
	sqlite3_bind_int(st, 5, event->e.removed);
	sqlite3_bind_blob64(st, 6, event->e.value.p, event->e.value.n, SQLITE_STATIC);
	sqlite3_bind_int64(st, 7,
			   store_sum(&(struct store_sum_row){ .id = event->e.revision,
							      .key = event->e.key,
							      .created = first ? event->e.revision
									       : newest->created,
							      .prev = newest->id,
							      .removed = event->e.removed,
							      .value = event->e.value }));
	int rc = sqlite3_step(st);
	sqlite3_reset(st);
	if (rc == SQLITE_CONSTRAINT_UNIQUE)
		return ERR_CONFLICT;
	return rc == SQLITE_DONE ? 0 : store_db_error(db, rc);
}

static int apply_one(struct apiserver_store *store, struct store_job *job,
		     const struct apiserver_write *write)
{
	struct store_writer *wr = &store->writer;
	struct newest n = { 0 };
	int r = wr->last < wr->high ? 0 : store_high_reserve(store->dir, wr->last, &wr->high);
	if (r == 0)
		r = newest_get(store, write->key, &n);
	if (r < 0) {
		sqlite3_reset(wr->db.stmt[SQL_NEWEST]);
		return r;
	}
	uint64_t there = n.removed ? 0 : n.id;
	/* What is not there cannot be removed. */
	if (there != write->expect || (write->remove && there == 0)) {
		sqlite3_reset(wr->db.stmt[SQL_NEWEST]);
		return ERR_CONFLICT;
	}
	struct store_event *e = store_event_new(&(struct store_event_parts){
		.key = write->key,
		.revision = ++wr->last,
		.replaced = there,
		.removed = write->remove,
		.head = write->head,
		.tail = write->tail,
		.before = there != 0 ? n.value : (struct slice){ 0 },
	});
	sqlite3_reset(wr->db.stmt[SQL_NEWEST]);
	*job->events_end = e;
	job->events_end = &e->next;
	job->revision = e->e.revision;
	return insert(&wr->db, e, &n);
}

/* ---- a set ---- */

static void drop_events(struct store_job *job)
{
	while (job->events != NULL) {
		struct store_event *e = job->events;
		job->events = e->next;
		store_event_unref(e);
	}
	job->events_end = &job->events;
}

static bool is_refusal(int ret)
{
	return ret == ERR_CONFLICT || ret == ERR_DAMAGED;
}

/* 0, with ERR_CONFLICT or ERR_DAMAGED in `job` when only this set is refused, or what fails the
 * whole batch. A single write needs no savepoint: a statement is all or nothing by itself. */
static int apply(struct apiserver_store *store, struct store_job *job)
{
	struct store_writer *wr = &store->writer;
	drop_events(job); /* of a try that did not fit */
	int r = job->n > 1 ? store_db_run(&wr->db, SQL_SAVE) : 0;
	for (size_t i = 0; r == 0 && i < job->n; i++) {
		r = apply_one(store, job, &job->w[i]);
		if (is_refusal(r))
			job->conflict = i;
	}
	job->r = r;
	if (r < 0)
		drop_events(job);
	if (r < 0 && !is_refusal(r))
		return r;
	if (job->n == 1)
		return 0;
	if (r < 0)
		r = store_db_run(&wr->db, SQL_SAVE_UNDO);
	return r < 0 ? r : store_db_run(&wr->db, SQL_SAVE_DONE);
}

static int apply_all(struct apiserver_store *store, struct store_job *batch)
{
	struct store_writer *wr = &store->writer;
	int r = store_db_run(&wr->db, SQL_BEGIN_WRITE);
	for (struct store_job *j = batch; r == 0 && j != NULL; j = j->next)
		r = j->passed_over ? 0 : apply(store, j);
	if (r == 0)
		r = store_db_run(&wr->db, SQL_COMMIT);
	if (r < 0)
		store_db_rollback(&wr->db);
	return r;
}

static bool frees(const struct store_job *job)
{
	for (size_t i = 0; i < job->n; i++)
		if (!job->w[i].remove && !job->w[i].frees)
			return false;
	return true;
}

/* Of a batch, what may use the room kept for it. True: there is something. */
static bool pass_over_others(struct store_job *batch)
{
	bool any = false;
	for (struct store_job *j = batch; j != NULL; j = j->next) {
		drop_events(j);
		j->passed_over = !frees(j);
		any |= !j->passed_over;
	}
	return any;
}

static size_t job_bytes(const struct store_job *job)
{
	size_t n = 0;
	for (size_t i = 0; i < job->n; i++)
		n += job->w[i].head.n + job->w[i].tail.n;
	return n;
}

static bool has_removal(const struct store_job *batch)
{
	for (const struct store_job *j = batch; j != NULL; j = j->next)
		if (frees(j))
			return true;
	return false;
}

/* True: what is not a removal may be written, too. */
static bool has_room(struct apiserver_store *store, const struct store_job *batch)
{
	uint64_t bytes = 0;
	if (!atomic_load(&store->tight) && !store->lean)
		return true;
	for (const struct store_job *j = batch; j != NULL; j = j->next)
		bytes += frees(j) ? 0 : job_bytes(j);
	return store_spare_make(store, bytes);
}

static int apply_alone(struct apiserver_store *store, struct store_job *job)
{
	struct store_db *db = &store->writer.db;
	int r = store_db_run(db, SQL_BEGIN_WRITE);
	if (r == 0)
		r = apply(store, job);
	if (r == 0)
		r = store_db_run(db, SQL_COMMIT);
	if (r < 0)
		store_db_rollback(db);
	return r;
}

/* Many removals are faster than the compactor: what they have left is given back before the file
 * has grown so far into the spare's room that there could be no spare any more. */
static void make_room(struct apiserver_store *store, uint64_t bytes)
{
	if (store_spare_disk(store) < STORE_SPARE_MIN_BYTES + 2 * bytes + ROOM_BYTES)
		IGNORE(store_compact_now(store)); /* the write tells */
}

static int apply_together(struct apiserver_store *store, struct store_job *batch)
{
	uint64_t bytes = 0;
	for (const struct store_job *j = batch; j != NULL; j = j->next)
		bytes += j->passed_over ? 0 : job_bytes(j);
	make_room(store, bytes);
	return apply_all(store, batch);
}

/* Removals that do not fit together may do so alone. */
static int apply_each(struct apiserver_store *store, struct store_job *batch)
{
	bool any = false;
	for (struct store_job *j = batch; j != NULL; j = j->next) {
		if (j->passed_over)
			continue;
		make_room(store, job_bytes(j));
		if (apply_alone(store, j) == 0) {
			any = true;
			continue;
		}
		drop_events(j);
		j->passed_over = true;
	}
	return any ? 0 : ERR_SPACE;
}

/* On a full disk, removals alone. */
static int apply_what_fits(struct apiserver_store *store, struct store_job *batch)
{
	int r = ERR_SPACE;
	if (has_room(store, batch)) {
		r = apply_all(store, batch);
		if (r == ERR_SPACE) {
			/* There may be room in the file, and only the log has none. */
			store_spare_shrink(store);
			IGNORE(store_db_empty_log(&store->writer.db)); /* the write tells */
			r = apply_all(store, batch);
		}
		if (r == 0 && store->lean && has_removal(batch))
			store_compact_hurry(store);
		if (r != ERR_SPACE)
			return r;
	}
	if (!pass_over_others(batch))
		return ERR_SPACE;
	store_spare_give(store);
	r = apply_together(store, batch);
	if (r == ERR_SPACE)
		r = apply_each(store, batch);
	if (r == 0)
		store_compact_hurry(store);
	return r;
}

/* Durable first, then published, then answered, then watchers are woken. */
static void commit(struct apiserver_store *store, struct store_job *batch)
{
	int r = apply_what_fits(store, batch);
	struct store_event *list = NULL, **end = &list;
	uint64_t writes = 0;
	for (struct store_job *j = batch; j != NULL; j = j->next) {
		if (r < 0) {
			/* Also those refused: by what, perhaps, has not been kept. */
			drop_events(j);
			j->r = r;
		} else if (j->passed_over) {
			j->r = ERR_SPACE;
		} else if (j->events != NULL) {
			*end = j->events;
			end = j->events_end;
			j->events = NULL;
			writes += j->n;
		}
	}
	*end = NULL;
	if (writes > 0) {
		metrics_add(store->writer.commits, 0, 1);
		metrics_add(store->writer.writes, 0, writes);
	}
	store_ring_publish(&store->ring, list);
}

/* ---- the thread ---- */

/* Under lock: what is done next, as a list; work that runs alone comes alone. */
static struct store_job *take_batch(struct store_writer *wr)
{
	struct store_job *first = wr->first, *last = first;
	size_t writes = first->n, bytes = job_bytes(first);
	while (first->run == NULL && last->next != NULL && last->next->run == NULL) {
		writes += last->next->n;
		bytes += job_bytes(last->next);
		if (writes > STORE_BATCH_WRITES || bytes > STORE_BATCH_BYTES)
			break;
		last = last->next;
	}
	wr->first = last->next;
	if (wr->first == NULL)
		wr->end = &wr->first;
	last->next = NULL;
	return first;
}

static void finish(struct store_writer *wr, struct store_job *batch)
{
	pthread_mutex_lock(&wr->lock);
	while (batch != NULL) {
		/* Its owner may be gone with it as soon as the lock is free. */
		struct store_job *next = batch->next;
		batch->finished = true;
		pthread_cond_signal(&batch->cond);
		batch = next;
	}
	pthread_mutex_unlock(&wr->lock);
}

static void *writer_main(void *arg)
{
	struct apiserver_store *s = arg;
	struct store_writer *wr = &s->writer;
	pthread_mutex_lock(&wr->lock);
	for (;;) {
		while (wr->first == NULL && !wr->closing)
			pthread_cond_wait(&wr->cond, &wr->lock);
		if (wr->first == NULL)
			break;
		struct store_job *batch = take_batch(wr);
		pthread_mutex_unlock(&wr->lock);
		if (batch->run != NULL)
			batch->r = batch->run(s, batch->ctx);
		else
			commit(s, batch);
		finish(wr, batch);
		store_ring_wake(&s->ring);
		pthread_mutex_lock(&wr->lock);
	}
	pthread_mutex_unlock(&wr->lock);
	/* Here, where a limit of file sizes is an error and no signal. */
	store_db_close(&wr->db);
	return NULL;
}

int store_thread(pthread_t *ret, void *(*fn)(void *), void *arg)
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int r = -pthread_create(ret, NULL, fn, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r;
}

int store_write_start(struct apiserver_store *store)
{
	struct store_writer *wr = &store->writer;
	wr->end = &wr->first;
	wr->commits = metrics_get(&commits_total, NULL);
	wr->writes = metrics_get(&writes_total, NULL);
	pthread_mutex_init(&wr->lock, NULL);
	pthread_cond_init(&wr->cond, NULL);
	int r = store_thread(&wr->thread, writer_main, store);
	wr->started = r == 0;
	return r;
}

void store_write_stop(struct apiserver_store *store)
{
	struct store_writer *wr = &store->writer;
	if (!wr->started) {
		store_db_close(&wr->db);
		return;
	}
	pthread_mutex_lock(&wr->lock);
	wr->closing = true;
	pthread_cond_signal(&wr->cond);
	pthread_mutex_unlock(&wr->lock);
	pthread_join(wr->thread, NULL);
	pthread_cond_destroy(&wr->cond);
	pthread_mutex_destroy(&wr->lock);
}

int store_write_job(struct apiserver_store *store, struct store_job *job)
{
	struct store_writer *wr = &store->writer;
	job->events = NULL;
	job->events_end = &job->events;
	job->next = NULL;
	job->finished = false;
	pthread_cond_init(&job->cond, NULL);
	pthread_mutex_lock(&wr->lock);
	*wr->end = job;
	wr->end = &job->next;
	pthread_cond_signal(&wr->cond);
	while (!job->finished)
		pthread_cond_wait(&job->cond, &wr->lock);
	pthread_mutex_unlock(&wr->lock);
	pthread_cond_destroy(&job->cond);
	return job->r;
}

int apiserver_store_write(struct apiserver_store *store, const struct apiserver_write *write,
			  size_t count, uint64_t *ret, size_t *ret_conflict)
{
	for (size_t i = 0; i < count; i++)
		if (strlen(write[i].key) > APISERVER_KEY_MAX_BYTES ||
		    write[i].head.n + write[i].tail.n > APISERVER_VALUE_MAX_BYTES)
			return ERR_LIMIT;
	if (count == 0) {
		*ret = apiserver_store_revision(store);
		return 0;
	}
	struct store_job j = { .w = write, .n = count };
	int r = store_write_job(store, &j);
	if (r == ERR_CONFLICT && ret_conflict != NULL)
		*ret_conflict = j.conflict;
	if (r == ERR_DAMAGED)
		store_damage_note(store, write[j.conflict].key); /* for this thread */
	if (r == 0)
		*ret = j.revision;
	return store_damage_of(store, r);
}
