/* Checksums of rows. SQLite finds damage to its own structure; a byte that has changed inside a key
 * or a value is text as good as any to it. So each row carries a checksum of all it holds, which
 * everybody who reads it checks. What is damaged is refused by its name, logged once, and
 * remembered for health checks until a whole pass over the table finds nothing. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "apiserver/store/store_priv.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"

/* The key of the last row that this thread found damaged: errors are codes, and it belongs to the
 * code. */
static _Thread_local char last_key[APISERVER_KEY_MAX_BYTES + 1];

int64_t store_sum(const struct store_sum_row *row)
{
	/* Fixed for ever: it is in files. */
	static const struct hash_key fixed = { 0x6661697266616972, 0x6c6561646c656164 };
	struct {
		uint64_t id, created, prev, removed, value;
		char key[APISERVER_KEY_MAX_BYTES];
	} all = { .id = row->id,
		  .created = row->created,
		  .prev = row->prev,
		  .removed = row->removed,
		  .value = hash_bytes(&fixed, row->value.n > 0 ? row->value.p : "", row->value.n) };
	size_t n = MIN(strlen(row->key), sizeof(all.key));
	memcpy(all.key, row->key, n);
	uint64_t sum = hash_bytes(&fixed, &all, offsetof(__typeof__(all), key) + n);
	return (int64_t)sum;
}

void store_damage_note(struct apiserver_store *store, const char *key)
{
	struct store_damage *d = &store->damage;
	bool is_new = true;
	snprintf(last_key, sizeof(last_key), "%s", key);
	pthread_mutex_lock(&d->lock);
	for (size_t i = 0; i < d->n && is_new; i++)
		is_new = strcmp(d->key[i], key) != 0;
	is_new = is_new && d->n < STORE_DAMAGE_KEYS;
	if (is_new)
		d->key[d->n++] = xstrdup(key);
	pthread_mutex_unlock(&d->lock);
	if (!is_new || store->conf.trouble == NULL)
		return;
	CLEANUP(freep)
	char *text = xasprintf("%s%s%s in '%s' is damaged: put a backup in its place with "
			       "`fairlead restore`",
			       *key != '\0' ? "object '" : "something", key,
			       *key != '\0' ? "'" : "", store->file);
	store->conf.trouble(store->conf.ctx, text);
}

int store_sum_check(struct apiserver_store *store, const struct store_sum_row *row,
		    sqlite3_stmt *st, int column)
{
	/* A store of before there were any may not have had the room to get them. */
	if (sqlite3_column_type(st, column) == SQLITE_NULL ||
	    sqlite3_column_int64(st, column) == store_sum(row))
		return 0;
	store_damage_note(store, row->key);
	return ERR_DAMAGED;
}

/* ---- the rows of before ---- */

static int fill_row(struct store_db *db, sqlite3_stmt *from)
{
	struct store_sum_row row = { .id = (uint64_t)sqlite3_column_int64(from, 0),
				     .key = (const char *)sqlite3_column_text(from, 1),
				     .created = (uint64_t)sqlite3_column_int64(from, 2),
				     .prev = (uint64_t)sqlite3_column_int64(from, 3),
				     .removed = sqlite3_column_int(from, 4) != 0,
				     .value = store_db_blob(from, 5) };
	if (row.key == NULL)
		return ERR_PARSE;
	sqlite3_stmt *st = store_db_stmt(db, SQL_SET_SUM);
	if (st == NULL)
		return store_db_error(db, sqlite3_errcode(db->db));
	sqlite3_bind_int64(st, 1, (sqlite3_int64)row.id);
	sqlite3_bind_int64(st, 2, store_sum(&row));
	int rc = sqlite3_step(st);
	sqlite3_reset(st);
	return rc == SQLITE_DONE ? 0 : store_db_error(db, rc);
}

/* One row per statement: an update under a query that still runs may be seen by it. 1: there may be
 * more. */
static int fill_next(struct store_db *db, uint64_t *at)
{
	sqlite3_stmt *st = store_db_stmt(db, SQL_UNSUMMED);
	if (st == NULL)
		return store_db_error(db, sqlite3_errcode(db->db));
	sqlite3_bind_int64(st, 1, (sqlite3_int64)*at);
	sqlite3_bind_int(st, 2, 1);
	int rc = sqlite3_step(st);
	int r = rc == SQLITE_ROW    ? fill_row(db, st)
		: rc == SQLITE_DONE ? 0
				    : store_db_error(db, rc);
	if (r == 0 && rc == SQLITE_ROW) {
		*at = (uint64_t)sqlite3_column_int64(st, 0);
		r = 1;
	}
	sqlite3_reset(st);
	return r;
}

int store_sum_fill(struct store_db *db)
{
	enum { TOGETHER = 500 };
	uint64_t at = 0;
	int r = 1;
	while (r == 1) {
		r = store_db_run(db, SQL_BEGIN_WRITE);
		for (int i = 0; i < TOGETHER && r >= 0; i++) {
			r = fill_next(db, &at);
			if (r == 0)
				break;
		}
		int done = r < 0 ? r : store_db_run(db, SQL_COMMIT);
		if (done < 0) {
			store_db_rollback(db);
			return done;
		}
	}
	return store_db_exec(db, "DELETE FROM meta WHERE name = 'unsummed'");
}

int store_damage_of(struct apiserver_store *store, int error)
{
	if (error == ERR_PARSE)
		store_damage_note(store, "");
	return error;
}

void store_damage_clear(struct apiserver_store *store)
{
	struct store_damage *d = &store->damage;
	pthread_mutex_lock(&d->lock);
	while (d->n > 0)
		free(d->key[--d->n]);
	pthread_mutex_unlock(&d->lock);
}

int apiserver_store_damaged(struct apiserver_store *store, const char *key)
{
	store_damage_note(store, key);
	return ERR_DAMAGED;
}

const char *apiserver_store_damaged_key(void)
{
	return last_key;
}

bool apiserver_store_is_sound(struct apiserver_store *store, struct strbuf *why)
{
	struct store_damage *d = &store->damage;
	pthread_mutex_lock(&d->lock);
	for (size_t i = 0; i < d->n && why != NULL; i++)
		strbuf_addf(why, "%s%s", i > 0 ? ", " : "damaged in the database: ",
			    d->key[i][0] != '\0' ? d->key[i] : "the file");
	bool sound = d->n == 0;
	pthread_mutex_unlock(&d->lock);
	return sound;
}
