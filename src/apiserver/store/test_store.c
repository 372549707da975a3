/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Opening a store: lock, permissions, versions, and files that are damaged, empty or not a store. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <sqlite3.h>

#include "apiserver/store/store.h"
#include "apiserver/store/test_store.h"
#include "apiserver/store/writer.h"
#include "base/err_text.h"

static int open_at(struct fixture *f, const char *dir)
{
	struct apiserver_store_conf c = { .dir = dir };
	struct apiserver_store *s = NULL;
	int r = apiserver_store_open(&c, &s, ERR_TEXT(f->err));
	apiserver_store_close(s);
	return r;
}

static const char *path(struct fixture *f, const char *name)
{
	static char p[128];
	snprintf(p, sizeof(p), "%s/%s", f->dir, name);
	return p;
}

static void close_it(struct fixture *f)
{
	apiserver_store_close(f->s);
	f->s = NULL;
}

static void one_at_a_time(void **state)
{
	struct fixture *f = *state;
	char want[200];
	snprintf(want, sizeof(want), "data directory '%s' is in use by process %d", f->dir,
		 (int)getpid());
	assert_int_equal(open_at(f, f->dir), ERR_BUSY);
	assert_string_equal(f->err, want);
	/* Another process is refused, too; a pid left behind by a crash does no harm. */
	pid_t child = fork();
	if (child == 0)
		_exit(open_at(f, f->dir) == ERR_BUSY ? 0 : 1);
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	close_it(f);
	assert_int_equal(open_at(f, f->dir), 0);
}

static void directory(void **state)
{
	struct fixture *f = *state;
	struct stat st;
	assert_int_equal(open_at(f, path(f, "new/deeper")), 0);
	assert_int_equal(stat(path(f, "new/deeper"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(stat(path(f, "new/deeper/store.db"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(open_at(f, path(f, "store.db/below")), -ENOTDIR);
	assert_non_null(strstr(f->err, "cannot use data directory"));
	assert_int_equal(open_at(f, path(f, "store.db")), -ENOTDIR);
	assert_int_equal(open_at(f, "/proc/nothing"), -ENOENT);
}

static void rewrite(struct fixture *f, const char *sql)
{
	sqlite3 *db;
	assert_int_equal(sqlite3_open(path(f, "store.db"), &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static void versions(void **state)
{
	struct fixture *f = *state;
	close_it(f);
	rewrite(f, "PRAGMA user_version = 3");
	assert_int_equal(open_at(f, f->dir), ERR_UNSUPPORTED);
	assert_non_null(strstr(
		f->err, "written by a newer version (schema 3, this program supports 2): run "
			"that version, or go back with `fairlead restore`"));
	rewrite(f, "PRAGMA user_version = 2; PRAGMA application_id = 7");
	assert_int_equal(open_at(f, f->dir), ERR_PARSE);
	assert_non_null(strstr(f->err, "not a database of Fairlead"));
}

/* ---- damage ---- */

static void overwrite(struct fixture *f, off_t at, size_t n)
{
	char junk[512];
	memset(junk, 0xa5, sizeof(junk));
	int fd = open(path(f, "store.db"), O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	for (; n > 0; n -= MIN(n, sizeof(junk)), at += (off_t)sizeof(junk))
		assert_true(pwrite(fd, junk, MIN(n, sizeof(junk)), at) > 0);
	close(fd);
}

static void assert_damaged(struct fixture *f)
{
	char want[128];
	assert_int_equal(open_at(f, f->dir), ERR_PARSE);
	snprintf(want, sizeof(want), "'%s/store.db' is damaged (", f->dir);
	assert_non_null(strstr(f->err, want));
	assert_non_null(strstr(f->err, "`fairlead restore`"));
}

/* A dozen pages. */
static void fill(struct fixture *f)
{
	static char text[1000];
	struct apiserver_write w[50];
	char key[50][8];
	uint64_t r;
	memset(text, 'x', sizeof(text));
	for (int i = 0; i < 50; i++) {
		snprintf(key[i], sizeof(key[i]), "k%d", i);
		w[i] = (struct apiserver_write){ .key = key[i], .head = { text, sizeof(text) } };
	}
	assert_int_equal(apiserver_store_write(f->s, w, 50, &r, NULL), 0);
}

static void junk_at_start(void **state)
{
	struct fixture *f = *state;
	fill(f);
	close_it(f);
	overwrite(f, 0, 100);
	assert_damaged(f);
}

static void cut_short(void **state)
{
	struct fixture *f = *state;
	fill(f);
	close_it(f);
	assert_int_equal(truncate(path(f, "store.db"), 8192), 0);
	assert_damaged(f);
}

static void emptied_or_missing(void **state)
{
	struct fixture *f = *state;
	close_it(f);
	assert_int_equal(truncate(path(f, "store.db"), 0), 0);
	assert_damaged(f);
	assert_int_equal(unlink(path(f, "store.db")), 0);
	assert_damaged(f);
}

/* After a crash, damage in the middle of the file is found before anything is served. */
static void junk_inside(void **state)
{
	struct fixture *f = *state, copy = { 0 };
	char cmd[512];
	fill(f);
	fixture_reopen(f); /* moves the log into the file */
	put(f->s, "last", 0, "in the log");
	snprintf(copy.dir, sizeof(copy.dir), "%.40s/copy", f->dir);
	snprintf(cmd, sizeof(cmd), "mkdir %s && cp %s/store.* %s && cp %s/store.db-wal %s/keep",
		 copy.dir, f->dir, copy.dir, copy.dir, copy.dir);
	assert_int_equal(system(cmd), 0);
	assert_int_equal(open_at(&copy, copy.dir), 0);
	snprintf(cmd, sizeof(cmd), "cp %s/keep %s/store.db-wal", copy.dir, copy.dir);
	assert_int_equal(system(cmd), 0);
	overwrite(&copy, 6 * 4096, 4 * 4096);
	assert_damaged(&copy);
}

/* A directory of another user. */
static void rights(void **state)
{
	struct fixture *f = *state;
	if (geteuid() == 0) {
		assert_int_equal(seteuid(65534), 0);
		assert_int_equal(open_at(f, f->dir), -EACCES);
		assert_int_equal(seteuid(0), 0);
	} else {
		assert_int_equal(open_at(f, "/root/x"), -EACCES);
	}
	char want[128];
	snprintf(want, sizeof(want), "cannot use data directory '");
	assert_memory_equal(f->err, want, strlen(want));
	assert_non_null(strstr(f->err, "ermission denied"));
}

static void reserved_revisions(void **state)
{
	struct fixture *f = *state;
	uint64_t last = put(f->s, "a", 0, "x");
	close_it(f);
	/* The number is only a bound: if it is too low or unreadable, it is written again. */
	static const char *const texts[] = { "1\n", "", "x",
					     "99999999999999999999999999999999999" };
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		int fd = open(path(f, "store.revision"), O_WRONLY | O_TRUNC | O_CLOEXEC);
		assert_int_equal(write(fd, texts[i], strlen(texts[i])), strlen(texts[i]));
		close(fd);
		fixture_open(f);
		char key[8];
		snprintf(key, sizeof(key), "k%zu", i);
		assert_int_equal(put(f->s, key, 0, "x"), ++last);
		close_it(f);
		FILE *in = fopen(path(f, "store.revision"), "re");
		unsigned long long high = 0;
		assert_int_equal(fscanf(in, "%llu", &high), 1);
		fclose(in);
		assert_true(high > last);
	}
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = { T(one_at_a_time), T(directory), T(versions),
					    T(junk_at_start), T(cut_short), T(emptied_or_missing),
					    T(junk_inside),   T(rights),    T(reserved_revisions) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
