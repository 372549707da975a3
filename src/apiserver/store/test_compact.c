/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compaction: which rows stay, what lists and watches see, and the thread that does it by time. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include <sqlite3.h>

#include "apiserver/store/compact_test.h"
#include "apiserver/store/read.h"
#include "apiserver/store/store.h"
#include "apiserver/store/test_store.h"
#include "apiserver/store/watch.h"
#include "apiserver/store/writer.h"
#include "base/clock.h"

/* Number of rows in the table. */
static int rows(struct fixture *f)
{
	char path[128];
	sqlite3 *db;
	sqlite3_stmt *st;
	snprintf(path, sizeof(path), "%s/store.db", f->dir);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, "SELECT count(*) FROM row", -1, &st, NULL), 0);
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	int n = sqlite3_column_int(st, 0);
	sqlite3_finalize(st);
	sqlite3_close(db);
	return n;
}

static int list_code(struct fixture *f, uint64_t revision)
{
	struct strbuf b = STRBUF_INIT;
	uint64_t at;
	struct apiserver_range r = { .prefix = "", .at = revision };
	int code = apiserver_store_list(f->s, &r, add_key, &b, &at, NULL);
	strbuf_done(&b);
	return code;
}

static int watch_code(struct fixture *f, uint64_t after)
{
	struct apiserver_watch *w = NULL;
	int r = apiserver_watch_new(f->s, "", after, NULL, NULL, &w);
	apiserver_watch_free(w);
	return r;
}

static void forgets(void **state)
{
	struct fixture *f = *state;
	uint64_t a = put(f->s, "a", 0, "1"), b = put(f->s, "b", 0, "1");
	uint64_t a2 = put(f->s, "a", a, "2"), gone = del(f->s, "b", b);
	uint64_t a3 = put(f->s, "a", a2, "3"), back = put(f->s, "b", 0, "2");
	uint64_t gone2 = del(f->s, "b", back);
	/* The state at the compaction point is unchanged; nothing after it is lost. */
	assert_int_equal(apiserver_store_compact(f->s, gone), 0);
	assert_int_equal(apiserver_store_compacted(f->s), gone);
	assert_int_equal(rows(f), 4); /* a2 a3 back gone2 */
	assert_int_equal(list_code(f, gone - 1), ERR_GONE);
	assert_list(f->s, (struct apiserver_range){ .prefix = "", .at = gone }, "a ", 0);
	assert_list(f->s, (struct apiserver_range){ .prefix = "", .at = back }, "a b ", 0);
	assert_int_equal(watch_code(f, gone - 1), ERR_GONE);
	assert_int_equal(watch_code(f, gone), 0);
	/* The point does not move back. */
	assert_int_equal(apiserver_store_compact(f->s, a), 0);
	assert_int_equal(apiserver_store_compacted(f->s), gone);
	/* A point in the future means now. */
	assert_int_equal(apiserver_store_compact(f->s, UINT64_MAX), 0);
	assert_int_equal(apiserver_store_compacted(f->s), gone2);
	assert_int_equal(rows(f), 1);
	assert_there(f->s, "a", "3", a3);
	assert_absent(f->s, "b");
	/* The revision of a deleted row is not assigned again; stale writers are refused. */
	fixture_reopen(f);
	assert_int_equal(apiserver_store_revision(f->s), gone2);
	assert_int_equal(apiserver_store_compacted(f->s), gone2);
	uint64_t r;
	assert_int_equal(try_put(f->s, "a", a, "late", &r), ERR_CONFLICT);
	assert_int_equal(try_put(f->s, "a", a2, "late", &r), ERR_CONFLICT);
	assert_int_equal(put(f->s, "b", 0, "new"), gone2 + 1);
}

/* A watch that reads the table gets ERR_GONE once its position is compacted. Until then the versions
 * that it needs as `before` exist. */
static void watches(void **state)
{
	struct fixture *f = *state;
	uint64_t first = put(f->s, "k", 0, "0"), at = first;
	for (int i = 1; i < 800; i++)
		at = put(f->s, "k", at, "x");
	fixture_reopen(f);
	struct apiserver_watch *w, *v;
	const struct apiserver_event *e;
	uint64_t seen;
	assert_int_equal(apiserver_watch_new(f->s, "", first, NULL, NULL, &w), 0);
	assert_int_equal(apiserver_watch_next(w, &e, &seen), 1);
	assert_int_equal(e->revision, first + 1);
	assert_int_equal(apiserver_store_compact(f->s, first + 600), 0);
	assert_int_equal(apiserver_watch_new(f->s, "", first + 600, NULL, NULL, &v), 0);
	assert_int_equal(apiserver_watch_next(v, &e, &seen), 1);
	assert_int_equal(e->revision, first + 601);
	assert_value(e->before, "x", first + 600);
	int r, n = 1;
	while ((r = apiserver_watch_next(w, &e, &seen)) == 1)
		n++;
	assert_int_equal(r, ERR_GONE);
	assert_true(n < 600);
	assert_int_equal(apiserver_watch_next(w, &e, &seen), ERR_GONE);
	apiserver_watch_free(w);
	apiserver_watch_free(v);
}

/* More than one batch. */
static void batches(void **state)
{
	struct fixture *f = *state;
	enum { SET = 50, SETS = 70 };
	struct put p[SET];
	struct apiserver_write w[SET];
	char key[SET][16];
	uint64_t r = 0;
	for (int i = 0; i < SETS; i++) {
		for (int k = 0; k < SET; k++) {
			snprintf(key[k], sizeof(key[k]), "k%02d", k);
			w[k] = *put_text(&p[k], key[k], i == 0 ? 0 : r - (SET - 1) + (uint64_t)k,
					 "x");
		}
		assert_int_equal(apiserver_store_write(f->s, w, SET, &r, NULL), 0);
	}
	assert_int_equal(rows(f), SET * SETS);
	assert_int_equal(apiserver_store_compact(f->s, r), 0);
	assert_int_equal(rows(f), SET);
}

static off_t file_bytes(struct fixture *f, const char *name)
{
	char path[128];
	struct stat st;
	snprintf(path, sizeof(path), "%s/%s", f->dir, name);
	return stat(path, &st) == 0 ? st.st_size : 0;
}

/* Compaction by time, under steady updates: the file stays small and the log is truncated. */
static void steady(void **state)
{
	struct fixture *f = *state;
	enum { BYTES = 16 << 10 };
	apiserver_store_close(f->s);
	f->conf.keep_ns = 1;
	f->conf.keep_revisions = 10;
	f->conf.compact_every_ns = 10 * NS_PER_MS;
	fixture_open(f);
	char *big = xmalloc(BYTES);
	memset(big, 'x', BYTES);
	uint64_t at = 0;
	for (int i = 0; i < 1500; i++) {
		struct apiserver_write w = { .key = "k", .expect = at, .head = { big, BYTES } };
		assert_int_equal(apiserver_store_write(f->s, &w, 1, &at, NULL), 0);
	}
	free(big);
	/* 24 MB were written. */
	assert_true(file_bytes(f, "store.db") < 12 << 20);
	uint64_t give_up = clock_mono_ns() + 20 * NS_PER_S;
	while ((file_bytes(f, "store.db-wal") != 0 || apiserver_store_compacted(f->s) < at - 10) &&
	       clock_mono_ns() < give_up)
		usleep(1000);
	assert_int_equal(apiserver_store_compacted(f->s), at - 10);
	assert_int_equal(file_bytes(f, "store.db-wal"), 0);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = { T(forgets), T(watches), T(batches), T(steady) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
