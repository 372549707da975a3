/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Damage inside rows, which SQLite does not detect; and upgrades of stores without checksums. */
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include "apiserver/store/backup.h"
#include "apiserver/store/damage.h"
#include "apiserver/store/read.h"
#include "apiserver/store/store.h"
#include "apiserver/store/test_store.h"
#include "apiserver/store/watch.h"

enum { OBJECTS = 40 };

static char logged[2048];

static void note_error(void *ctx, const char *text)
{
	(void)ctx;
	strncat(logged, text, sizeof(logged) - strlen(logged) - 2);
	strncat(logged, "\n", 2);
}

static void fill(struct fixture *f)
{
	char key[16], text[32];
	for (int i = 0; i < OBJECTS; i++) {
		snprintf(key, sizeof(key), "c/k%02d", i);
		snprintf(text, sizeof(text), "value-of-%02d", i);
		put(f->s, key, 0, text);
	}
}

static void close_it(struct fixture *f)
{
	apiserver_store_close(f->s);
	f->s = NULL;
	logged[0] = '\0';
	f->conf.on_failure = note_error;
}

/* Replaces all occurrences of the bytes in the closed file; returns their number. */
static int change(struct fixture *f, const char *from, const char *to)
{
	char path[96];
	struct stat st;
	int n = 0;
	snprintf(path, sizeof(path), "%s/store.db", f->dir);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0 && fstat(fd, &st) == 0);
	CLEANUP(freep) char *all = xmalloc((size_t)st.st_size);
	assert_int_equal(read(fd, all, (size_t)st.st_size), st.st_size);
	for (char *at = all;
	     (at = memmem(at, (size_t)(all + st.st_size - at), from, strlen(from))) != NULL;
	     at++, n++)
		assert_int_equal(pwrite(fd, to, strlen(to), at - all), strlen(to));
	close(fd);
	return n;
}

static int list(struct fixture *f, const char *prefix, size_t *ret)
{
	CLEANUP(strbuf_done) struct strbuf keys = STRBUF_INIT;
	struct apiserver_range range = { .prefix = prefix };
	uint64_t at = 0;
	int r = apiserver_store_list(f->s, &range, add_key, &keys, &at, NULL);
	*ret = 0;
	for (const char *p = keys.s; (p = strchr(p, ' ')) != NULL; p++)
		++*ret;
	return r;
}

static int get(struct fixture *f, const char *key)
{
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	uint64_t revision;
	return apiserver_store_get(f->s, key, &out, &revision);
}

static void assert_unsound(struct fixture *f, const char *key)
{
	CLEANUP(strbuf_done) struct strbuf why = STRBUF_INIT;
	assert_false(apiserver_store_is_sound(f->s, &why));
	assert_non_null(strstr(why.s, key));
	assert_non_null(strstr(logged, key));
}

/* One changed byte of a value: readers of that object get an error that names it, others are served. */
static void a_byte_of_a_value(void **state)
{
	struct fixture *f = *state;
	size_t n;
	fill(f);
	close_it(f);
	assert_int_equal(change(f, "value-of-07", "value-0f-07"), 1);
	fixture_open(f);
	assert_true(apiserver_store_is_sound(f->s, NULL));
	assert_int_equal(get(f, "c/k06"), 0);
	assert_int_equal(get(f, "c/k07"), ERR_DAMAGED);
	assert_string_equal(apiserver_store_damaged_key(), "c/k07");
	assert_unsound(f, "c/k07");
	/* A list fails; it does not return the 39 others. */
	assert_int_equal(list(f, "c/", &n), ERR_DAMAGED);
	assert_int_equal(list(f, "c/k1", &n), 0);
	assert_int_equal(n, 10);
	/* Logged once. */
	assert_null(strstr(strstr(logged, "c/k07") + 1, "c/k07"));
	/* It cannot be replaced: watches would deliver the damaged version as `before`. */
	uint64_t r = 0;
	assert_int_equal(try_put(f->s, "c/k07", 9, "new", &r), ERR_DAMAGED);
	assert_int_equal(try_put(f->s, "c/new", 0, "new", &r), 0);
	/* A watch that reaches the row ends with the error. */
	struct apiserver_watch *w;
	const struct apiserver_event *e;
	uint64_t at;
	int code;
	assert_int_equal(apiserver_watch_new(f->s, "c/", 1, NULL, NULL, &w), 0);
	while ((code = apiserver_watch_next(w, &e, &at)) == 1)
		assert_string_not_equal(e->key, "c/k07");
	assert_int_equal(code, ERR_DAMAGED);
	apiserver_watch_free(w);
}

/* Keys are in the table and in its index. If either is changed, no object is omitted silently. */
static void a_byte_of_a_key(void **state)
{
	struct fixture *f = *state;
	fill(f);
	close_it(f);
	assert_true(change(f, "c/k07", "x/k07") >= 2);
	fixture_open(f);
	/* A list cannot detect it; verification does. */
	assert_int_equal(apiserver_store_verify(f->s), ERR_DAMAGED);
	assert_unsound(f, "k07");
}

static void nobody_asks_for_it(void **state)
{
	struct fixture *f = *state;
	fill(f);
	assert_int_equal(apiserver_store_verify(f->s), 0);
	close_it(f);
	assert_int_equal(change(f, "value-of-31", "value-of-3\xff"), 1);
	fixture_open(f);
	assert_int_equal(apiserver_store_verify(f->s), ERR_DAMAGED);
	assert_unsound(f, "c/k31");
	/* After a repair, the next verification clears the state. */
	close_it(f);
	assert_int_equal(change(f, "value-of-3\xff", "value-of-31"), 1);
	fixture_open(f);
	assert_int_equal(apiserver_store_verify(f->s), 0);
	assert_true(apiserver_store_is_sound(f->s, NULL));
	assert_int_equal(get(f, "c/k31"), 0);
}

/* --- the older schema --- */

static void sql(struct fixture *f, const char *text)
{
	char path[96];
	sqlite3 *db;
	snprintf(path, sizeof(path), "%s/store.db", f->dir);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, text, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s", sqlite3_errmsg(db));
	sqlite3_close(db);
}

/* A store as schema version 1 wrote it. */
static const char old_schema[] =
	"ALTER TABLE row RENAME TO new_row; DROP INDEX row_removed;"
	"CREATE TABLE row (id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL,"
	" created INTEGER NOT NULL, prev INTEGER NOT NULL, removed INTEGER NOT NULL,"
	" value BLOB NOT NULL, UNIQUE (key, prev));"
	"CREATE INDEX row_removed ON row (key) WHERE removed = 1;"
	"INSERT INTO row SELECT id, key, created, prev, removed, value FROM new_row;"
	"DROP TABLE new_row; PRAGMA user_version = 1; VACUUM";

static int64_t number(struct fixture *f, const char *text)
{
	char path[96];
	sqlite3 *db;
	sqlite3_stmt *st;
	snprintf(path, sizeof(path), "%s/store.db", f->dir);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, text, -1, &st, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	int64_t value = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	sqlite3_close(db);
	return value;
}

static void stores_of_before(void **state)
{
	struct fixture *f = *state;
	size_t n;
	fill(f);
	uint64_t last = del(f->s, "c/k39", apiserver_store_revision(f->s));
	close_it(f);
	sql(f, old_schema);
	assert_int_equal(number(f, "PRAGMA user_version"), 1);
	fixture_open(f);
	assert_int_equal(apiserver_store_revision(f->s), last);
	assert_int_equal(list(f, "c/", &n), 0);
	assert_int_equal(n, OBJECTS - 1);
	assert_int_equal(apiserver_store_verify(f->s), 0);
	assert_there(f->s, "c/k05", "value-of-05", 7);
	put(f->s, "c/k05", 7, "changed");
	close_it(f);
	assert_int_equal(number(f, "PRAGMA user_version"), 2);
	assert_int_equal(number(f, "SELECT count(*) FROM row WHERE sum IS NULL"), 0);
	assert_int_equal(number(f, "SELECT count(*) FROM meta"), 2);
	/* Damage is now detected in old rows, too. */
	assert_int_equal(change(f, "value-of-07", "value-0f-07"), 1);
	fixture_open(f);
	assert_int_equal(get(f, "c/k07"), ERR_DAMAGED);
	assert_int_equal(get(f, "c/k05"), 0);
}

/* Before its tables are upgraded a copy is made, which the older program can restore. */
static void copy_before_upgrade(void **state)
{
	struct fixture *f = *state;
	char copy[128], partial[160], err[512] = "";
	fill(f);
	snprintf(copy, sizeof(copy), "%s/store.db.schema-1-%llu", f->dir,
		 (unsigned long long)apiserver_store_revision(f->s));
	snprintf(partial, sizeof(partial), "%s.%d.partial", copy, (int)getpid());
	close_it(f);
	sql(f, old_schema);
	/* A copy that cannot be written: the database stays as it is. */
	assert_int_equal(mkdir(partial, 0700), 0);
	assert_true(apiserver_store_open(&f->conf, &f->s, ERR_TEXT(err)) < 0);
	assert_non_null(strstr(err, "was not changed, because the copy"));
	assert_int_equal(number(f, "PRAGMA user_version"), 1);
	assert_int_equal(rmdir(partial), 0);
	fixture_open(f);
	put(f->s, "c/new", 0, "later");
	close_it(f);
	assert_int_equal(number(f, "PRAGMA user_version"), 2);
	assert_int_equal(apiserver_restore(f->dir, copy, ERR_TEXT(err)), 0);
	assert_int_equal(number(f, "PRAGMA user_version"), 1);
	/* The next upgrade has a copy of its own: revisions have gone on. */
	fixture_open(f);
	assert_there(f->s, "c/k05", "value-of-05", 7);
	assert_absent(f->s, "c/new");
	close_it(f);
	assert_int_equal(number(f, "PRAGMA user_version"), 2);
	assert_int_equal(access(copy, F_OK), 0);
}

/* An upgrade that was interrupted, or had no disk space, continues at the next start. */
static void upgrade_cut_off(void **state)
{
	struct fixture *f = *state;
	fill(f);
	close_it(f);
	sql(f, "UPDATE row SET sum = NULL WHERE id > 20; INSERT INTO meta VALUES ('unsummed', 1)");
	fixture_open(f);
	close_it(f);
	assert_int_equal(number(f, "SELECT count(*) FROM row WHERE sum IS NULL"), 0);
	fixture_open(f);
	assert_int_equal(apiserver_store_verify(f->s), 0);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = { T(a_byte_of_a_value),   T(a_byte_of_a_key),
					    T(nobody_asks_for_it),  T(stores_of_before),
					    T(copy_before_upgrade), T(upgrade_cut_off) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
