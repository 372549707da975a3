/* What the files of the store share.
 *
 *	open.c	start and end
 *	lock.c	the directory and who may use it
 *	high_revision.c	the number no revision has gone beyond
 *	schema.c	tables, their version, checks of the file
 *	db.c	a connection to SQLite with its statements
 *	write.c	the writer: its thread, group commit
 *	read.c	get and list, on connections lent from a pool
 *	ring.c	events, the ring, waking watchers
 *	watch.c	watches: from the table first, then from the ring
 *	compact.c	forgetting history
 *	checksum.c	checksums of rows, and what was found damaged
 *	verify.c	a pass over all rows
 *	spare.c	room for removals when the disk is full
 *	backup.c	copies
 *	restore.c	and back */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "apiserver/store/store.h"
#include "base/compiler.h"

enum {
	STORE_SCHEMA_VERSION = 2,
	STORE_APPLICATION_ID = 0x464c5244, /* "FLRD" */
	/* Connections kept for readers; more are opened when all are lent, and closed again. */
	STORE_READERS_KEPT = 4,
	STORE_BATCH_WRITES = 512,
	STORE_BATCH_BYTES = 8 << 20,
	STORE_BUSY_MS = 5000,
	STORE_SAMPLES = 64,
	STORE_DAMAGE_KEYS = 16,	 /* named; more are not */
	STORE_RESERVE = 1 << 20, /* revisions, see high_revision.c */
	/* More than the log holds that cannot be put into the file when that cannot grow. */
	STORE_SPARE_BYTES = 8 << 20,
	/* The log of the largest object's removal fits. */
	STORE_SPARE_MIN_BYTES = 5 << 20,
};

/* ---- a connection ---- */

enum store_sql {
	SQL_BEGIN_READ,
	SQL_BEGIN_WRITE,
	SQL_COMMIT,
	SQL_ROLLBACK,
	SQL_SAVE,
	SQL_SAVE_DONE,
	SQL_SAVE_UNDO,
	SQL_NEWEST,   /* ?1 key -> id, created, removed, value, prev, sum */
	SQL_INSERT,   /* ?1 id ?2 key ?3 created ?4 prev ?5 removed ?6 value ?7 sum */
	SQL_VIEW,     /* -> newest revision, compacted */
	SQL_WALK,     /* ?1 <= key < ?2 -> key, id; by key, then id */
	SQL_ROW,      /* ?1 id -> created, removed, value, prev, sum */
	SQL_COUNT,    /* ?1 < key < ?2, as of ?3 -> how many objects there are */
	SQL_CHANGES,  /* ?1 < id -> id, key, created, prev, removed, value, sum; by id */
	SQL_VERIFY,   /* likewise, at most ?2, and the id that the index has for the row */
	SQL_UNSUMMED, /* likewise, without the id: rows that have no checksum yet */
	SQL_SET_SUM,  /* ?1 id ?2 sum */
	SQL_SET_COMPACTED,
	SQL_SET_SWEPT,
	SQL_BATCH,	     /* id <= ?1, at most ?2 -> swept, last id, number */
	SQL_DELETE_REPLACED, /* by changes ?1 < id <= ?2 */
	SQL_DELETE_REMOVED,  /* ?1 < id <= ?2 */
};
enum { STORE_SQL_COUNT = SQL_DELETE_REMOVED + 1 };

/* One thread at a time. */
struct store_db {
	sqlite3 *db;
	sqlite3_stmt *stmt[STORE_SQL_COUNT];
	struct store_db *next; /* in the pool */
};

enum store_db_mode {
	STORE_DB_BARE, /* as it is, its log stays beside it: it may be damaged, or not ours */
	STORE_DB_WRITER,
	STORE_DB_READER,
	STORE_DB_COPY,	  /* a new file that may be lost: whoever made it will sync it */
	STORE_DB_FOREIGN, /* not ours to write */
};

/* Opens the file, which exists. */
MUST_CHECK int store_db_open(const char *file, enum store_db_mode mode, struct store_db *ret);
MUST_CHECK int store_db_exec(struct store_db *db, const char *text);
MUST_CHECK int store_db_settle(struct store_db *db, enum store_db_mode mode);
/* Or is it put into the file by the last connection that closes? */
void store_db_keep_log(struct store_db *db, bool keep);
/* The log goes into the file and is cut; not while somebody reads it, which is no failure. */
MUST_CHECK int store_db_empty_log(struct store_db *db);
/* The first column of a statement's only row. */
MUST_CHECK int store_db_number(struct store_db *db, const char *text, int64_t *ret);
void store_db_close(struct store_db *db);
/* The statement, reset and without bindings; NULL when it cannot be prepared. */
sqlite3_stmt *store_db_stmt(struct store_db *db, enum store_sql which);
/* Runs a statement that gives no rows. */
MUST_CHECK int store_db_run(struct store_db *db, enum store_sql which);
/* Ends a transaction of either sort without keeping anything. */
void store_db_rollback(struct store_db *db);
/* One of ours, or -errno, for the failure SQLite has just reported. */
int store_db_error(struct store_db *db, int rc);
/* Newest revision and compaction point of the current transaction's view. */
MUST_CHECK int store_db_view(struct store_db *db, uint64_t *ret_revision, uint64_t *ret_compacted);
struct slice store_db_blob(sqlite3_stmt *st, int column);

/* ---- directory, lock and schema ---- */

/* Makes the directory and takes its lock; *ret is the lock's descriptor. */
MUST_CHECK int store_lock_take(const char *dir, int *ret, char *err, size_t err_n);

/* Opens the database for the writer, after checks; makes it when the directory is new. */
MUST_CHECK int store_schema_open(const char *dir, const char *file, struct store_db *ret, char *err,
				 size_t err_n);
/* Whether the file is a store's and of a version we know: 0; 1: it is empty. */
MUST_CHECK int store_schema_look(struct store_db *db, const char *file, char *err, size_t err_n);
/* All of it; ERR_PARSE. */
MUST_CHECK int store_schema_check(struct store_db *db, const char *file, char *err, size_t err_n);
/* A sentence for the failure `ret`, which is returned. */
int store_schema_refuse(int ret, const char *file, const char *why, char *err, size_t err_n);

/* The number in the directory's `store.revision`. ERR_NOTFOUND, ERR_PARSE, -errno. */
MUST_CHECK int store_high_read(const char *dir, uint64_t *ret);
MUST_CHECK int store_high_write(const char *dir, uint64_t high);
/* Writes one well above a revision. */
MUST_CHECK int store_high_reserve(const char *dir, uint64_t above, uint64_t *high);
MUST_CHECK int store_sync_dir(const char *dir);

/* ---- checksums and damage ---- */

/* What a checksum is of. */
struct store_sum_row {
	uint64_t id, created, prev;
	bool removed;
	const char *key;
	struct slice value;
};

int64_t store_sum(const struct store_sum_row *row);
/* Against the checksum in the statement's column, which may be NULL: 0, or ERR_DAMAGED, which is
 * noted. */
MUST_CHECK int store_sum_check(struct apiserver_store *store, const struct store_sum_row *row,
			       sqlite3_stmt *st, int column);
/* Gives rows of before there were checksums theirs. ERR_SPACE: not all. */
MUST_CHECK int store_sum_fill(struct store_db *db);

struct store_damage {
	pthread_mutex_t lock; /* guards all */
	char *key[STORE_DAMAGE_KEYS];
	size_t n;
};

/* `key` "": it is not known what. Any thread. */
void store_damage_note(struct apiserver_store *store, const char *key);
/* Notes an error that tells of damage; returns it. */
int store_damage_of(struct apiserver_store *store, int error);
void store_damage_clear(struct apiserver_store *store);

/* ---- events and the ring ---- */

/* Shared; freed when the last one lets go. */
struct store_event {
	struct apiserver_event e;
	atomic_uint refs;
	size_t bytes;
	struct store_event *next; /* of a list not yet published, or a watcher's chunk */
};

struct store_event_parts {
	const char *key;
	uint64_t revision, replaced;
	bool removed;
	struct slice head, tail; /* of the value; `revision` is written between them */
	bool whole;		 /* `head` is all of it */
	struct slice before;
};

struct store_event *store_event_new(const struct store_event_parts *parts);
struct store_event *store_event_ref(struct store_event *event);
void store_event_unref(struct store_event *event);

struct store_ring {
	pthread_mutex_t lock;	   /* guards all below */
	pthread_cond_t published;  /* a new revision is out */
	pthread_cond_t waked;	   /* `waking` has changed */
	struct store_event **slot; /* event number i is in slot[i % APISERVER_RING_EVENTS] */
	uint64_t first, end;	   /* numbers of the oldest event kept and behind the newest */
	uint64_t evicted;	   /* all changes behind this revision are in the ring */
	size_t bytes;
	struct apiserver_watch *watches; /* all */
	struct apiserver_watch *to_wake; /* whose wake is due */
	struct apiserver_watch *waking;	 /* whose wake is running */
	pthread_t waker;		 /* the thread it is running on */
	_Atomic uint64_t revision;	 /* newest published; written under lock */
};

void store_ring_init(struct store_ring *ring, uint64_t revision);
void store_ring_done(struct store_ring *ring);
/* Takes over the list, which is in order. */
void store_ring_publish(struct store_ring *ring, struct store_event *list);
/* Calls what publishing has made due. */
void store_ring_wake(struct store_ring *ring);
/* Returns when the revision, which is durable, is published too: microseconds. */
void store_ring_await(struct store_ring *ring, uint64_t revision);

struct apiserver_watch {
	struct apiserver_store *store;
	char *prefix;
	size_t prefix_n;
	void (*wake)(void *ctx);
	void *ctx;
	/* The taker's, one thread at a time. */
	uint64_t at;		     /* all up to this revision has been seen */
	struct store_event *current; /* handed out */
	struct store_event *chunk;   /* read from the table, not yet handed out */
	/* Guarded by the ring's lock. */
	bool joined; /* takes from the ring, at `number` */
	bool idle;   /* was told that there is nothing: wake it */
	bool due;    /* is in to_wake */
	uint64_t number;
	struct apiserver_watch *next, **link;
	struct apiserver_watch *wake_next;
};

/* ---- the writer ---- */

struct store_job {
	/* A set of writes, or work to be done alone on the writer's thread. */
	const struct apiserver_write *w;
	size_t n;
	int (*run)(struct apiserver_store *s, void *ctx);
	void *ctx;
	/* The result. */
	int r;
	uint64_t revision;
	size_t conflict;
	/* The writer's. */
	bool passed_over; /* there is no room for it */
	struct store_event *events, **events_end;
	struct store_job *next;
	bool finished;
	pthread_cond_t cond;
};

struct store_writer {
	pthread_t thread;
	bool started;
	struct store_db db; /* the thread's */
	uint64_t last;	    /* the thread's: highest revision used, durable or not */
	uint64_t high;	    /* the thread's: up to here they may be used */
	struct metrics_series *commits, *writes;
	pthread_mutex_t lock; /* guards the queue and `finished` of jobs */
	pthread_cond_t cond;
	struct store_job *first, **end;
	bool closing;
};

/* A thread that no signal is delivered to. */
MUST_CHECK int store_thread(pthread_t *ret, void *(*fn)(void *), void *arg);
MUST_CHECK int store_write_start(struct apiserver_store *store);
/* Finishes what waits. */
void store_write_stop(struct apiserver_store *store);
/* Queues the job and waits until it is finished; its result. */
int store_write_job(struct apiserver_store *store, struct store_job *job);

/* ---- backup ---- */

/* Copies into the file, runs `then` (may be NULL) on the copy, checks and syncs it. */
MUST_CHECK int store_backup_copy(struct store_db *from, const char *file, const char *then,
				 char *err, size_t err_n);

/* ---- compaction ---- */

struct store_sample {
	uint64_t ns, revision;
};

struct store_compactor {
	pthread_t thread;
	bool ready, started;
	uint64_t keep_ns, keep_revisions, every_ns;
	/* The thread's. */
	struct store_sample sample[STORE_SAMPLES]; /* oldest first */
	size_t n_samples;
	bool undone;	      /* there may be rows below the point */
	uint64_t verify_ns;   /* when all rows are checked again */
	pthread_mutex_t lock; /* guards `closing` and `hurry` */
	pthread_cond_t cond;
	bool closing, hurry;
};

MUST_CHECK int store_compact_start(struct apiserver_store *store);
/* Ends its thread, while the writer is still there; and what is left, when it is not. */
void store_compact_stop(struct apiserver_store *store);
void store_compact_done(struct apiserver_store *store);
/* Do it now, and keep no history: space is short. */
void store_compact_hurry(struct apiserver_store *store);
/* The same, before it returns; on the writer's thread. */
MUST_CHECK int store_compact_now(struct apiserver_store *store);
/* Waits; true when the store is closing. */
bool store_compact_pause(struct apiserver_store *store, uint64_t ns);

/* ---- the spare ---- */

/* All on the writer's thread, or before there is one. */
/* True: it is there, and removals stay possible when so many bytes more have been written. False:
 * the store is tight. */
bool store_spare_make(struct apiserver_store *store, uint64_t more_bytes);
/* Where there is room in the database, but not for the log: gives some of its own up for that. */
void store_spare_shrink(struct apiserver_store *store);
/* Bytes that are free on the disk. */
uint64_t store_spare_disk(const struct apiserver_store *store);
/* Gives all of its room up. */
void store_spare_give(struct apiserver_store *store);

/* ---- readers ---- */

struct store_pool {
	pthread_mutex_t lock; /* guards all below */
	struct store_db *free;
	size_t n_free;
};

MUST_CHECK int store_read_lend(struct apiserver_store *store, struct store_db **ret);
void store_read_return(struct apiserver_store *store, struct store_db *db);
void store_read_close(struct apiserver_store *store);

/* ---- all ---- */

struct apiserver_store {
	struct apiserver_store_conf conf;
	char *dir, *file;
	int lock_fd;
	struct store_writer writer;
	struct store_compactor compactor;
	struct store_pool pool;
	struct store_ring ring;
	struct store_damage damage;
	_Atomic uint64_t compacted;
	atomic_bool tight; /* there is no spare: only what leads to removals is written */
	bool lean;	   /* the writer's: it is smaller than it should be */
};
