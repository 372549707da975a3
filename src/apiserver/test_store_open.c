#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <sqlite3.h>

#include "apiserver/test_store.h"

static int open_at(struct fixture *f, const char *dir)
{
	struct apiserver_store_conf c = { .dir = dir };
	struct apiserver_store *s = NULL;
	int r = apiserver_store_open(&c, &s, f->err, sizeof(f->err));
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
	/* Another process, too; and a pid left behind is no obstacle. */
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
	rewrite(f, "PRAGMA user_version = 2");
	assert_int_equal(open_at(f, f->dir), ERR_UNSUPPORTED);
	assert_non_null(strstr(f->err, "written by a newer version (schema 2, this one knows 1)"));
	rewrite(f, "PRAGMA user_version = 1; PRAGMA application_id = 7");
	assert_int_equal(open_at(f, f->dir), ERR_PARSE);
	assert_non_null(strstr(f->err, "not a database of Fairlead"));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = { T(one_at_a_time), T(directory), T(versions) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
