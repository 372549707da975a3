/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Backup and restore: also into damaged directories, during writes, and killed at any moment. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "apiserver/store/backup.h"
#include "apiserver/store/compact_test.h"
#include "apiserver/store/read.h"
#include "apiserver/store/store.h"
#include "apiserver/store/test_store.h"
#include "apiserver/store/watch.h"
#include "apiserver/store/writer.h"
#include "base/err_text.h"

static const char *path(struct fixture *f, const char *name)
{
	static char p[4][128];
	static int i;
	i = (i + 1) % 4;
	snprintf(p[i], sizeof(p[i]), "%s/%s", f->dir, name);
	return p[i];
}

static void close_it(struct fixture *f)
{
	apiserver_store_close(f->s);
	f->s = NULL;
}

static void backup(struct fixture *f, const char *file)
{
	if (apiserver_backup(f->dir, file, ERR_TEXT(f->err)) < 0)
		fail_msg("%s", f->err);
}

static void restore(struct fixture *f, const char *file)
{
	if (apiserver_restore(f->dir, file, ERR_TEXT(f->err)) < 0)
		fail_msg("%s", f->err);
}

static void there_and_back(void **state)
{
	struct fixture *f = *state;
	uint64_t a = put(f->s, "a", 0, "then"), b = put(f->s, "b", 0, "then");
	backup(f, path(f, "backup"));
	assert_int_equal(apiserver_backup(f->dir, path(f, "backup"), ERR_TEXT(f->err)), -EEXIST);
	assert_non_null(strstr(f->err, "exists already"));
	struct stat st;
	assert_int_equal(stat(path(f, "backup"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	uint64_t a2 = put(f->s, "a", a, "later"), c = put(f->s, "c", 0, "later");
	assert_int_equal(apiserver_restore(f->dir, path(f, "backup"), ERR_TEXT(f->err)), ERR_BUSY);
	assert_non_null(strstr(f->err, "in use by process"));
	close_it(f);
	restore(f, path(f, "backup"));
	assert_non_null(strstr(f->err, "store.db.replaced-1'"));
	fixture_open(f);
	assert_there(f->s, "a", "then", a);
	assert_there(f->s, "b", "then", b);
	assert_absent(f->s, "c");
	/* Clients that saw the later state must list again; new revisions follow it. */
	uint64_t now = apiserver_store_revision(f->s);
	assert_true(now > c);
	struct apiserver_watch *w;
	assert_int_equal(apiserver_watch_new(f->s, "", c, NULL, NULL, &w), ERR_GONE);
	assert_int_equal(apiserver_watch_new(f->s, "", now, NULL, NULL, &w), 0);
	assert_int_equal(try_put(f->s, "a", a2, "stale", &(uint64_t){ 0 }), ERR_CONFLICT);
	assert_int_equal(put(f->s, "a", a, "new"), now + 1);
	apiserver_watch_free(w);
	/* The replaced database can be restored in the same way. */
	close_it(f);
	restore(f, path(f, "store.db.replaced-1"));
	assert_non_null(strstr(f->err, "store.db.replaced-2'"));
	fixture_open(f);
	assert_there(f->s, "c", "later", c);
	assert_true(apiserver_store_revision(f->s) > now + 1);
	assert_int_equal(apiserver_store_compact(f->s, UINT64_MAX), 0);
	assert_there(f->s, "a", "later", a2);
}

static void new_directory(void **state)
{
	struct fixture *f = *state, g = { 0 };
	uint64_t a = put(f->s, "a", 0, "x");
	backup(f, path(f, "backup"));
	snprintf(g.dir, sizeof(g.dir), "%.40s/other", f->dir);
	g.conf.dir = g.dir;
	restore(&g, path(f, "backup"));
	assert_string_equal(g.err, "");
	fixture_open(&g);
	assert_there(g.s, "a", "x", a);
	apiserver_store_close(g.s);
}

/* The database is unreadable, and had higher revisions than the backup. */
static void damaged(void **state)
{
	struct fixture *f = *state;
	uint64_t at = put(f->s, "a", 0, "x");
	backup(f, path(f, "backup"));
	for (int i = 0; i < 100; i++)
		at = put(f->s, "a", at, "y");
	close_it(f);
	int fd = open(path(f, "store.db"), O_WRONLY | O_CLOEXEC);
	assert_int_equal(write(fd, "junk junk junk junk", 19), 19);
	close(fd);
	restore(f, path(f, "backup"));
	assert_non_null(strstr(f->err, "store.db.replaced-1'"));
	fixture_open(f);
	assert_true(apiserver_store_revision(f->s) > at);
	struct strbuf b = STRBUF_INIT;
	assert_int_equal(apiserver_store_get(f->s, "a", &b, &at), 0);
	strbuf_done(&b);
	/* Only its log is left, which SQLite would apply to any database. */
	at = put(f->s, "b", 0, "x");
	char cmd[300];
	snprintf(cmd, sizeof(cmd), "cp %s %s", path(f, "store.db-wal"), path(f, "log"));
	assert_int_equal(system(cmd), 0);
	close_it(f);
	assert_int_equal(unlink(path(f, "store.db")), 0);
	assert_int_equal(rename(path(f, "log"), path(f, "store.db-wal")), 0);
	restore(f, path(f, "backup"));
	assert_string_equal(f->err, "");
	assert_int_equal(access(path(f, "store.db-wal"), F_OK), -1);
	fixture_open(f);
	assert_true(apiserver_store_revision(f->s) > at);
	assert_absent(f->s, "b");
}

static void not_a_backup(void **state)
{
	struct fixture *f = *state;
	put(f->s, "a", 0, "x");
	backup(f, path(f, "backup"));
	close_it(f);
	assert_int_equal(truncate(path(f, "backup"), 4096), 0);
	int fd = open(path(f, "empty"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	close(fd);
	static const char *const names[] = { "backup", "empty", "store.lock" };
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		assert_int_equal(apiserver_restore(f->dir, path(f, names[i]), ERR_TEXT(f->err)),
				 ERR_PARSE);
		assert_non_null(strstr(f->err, "is not a complete backup"));
	}
	assert_int_equal(apiserver_restore(f->dir, path(f, "none"), ERR_TEXT(f->err)), -ENOENT);
	assert_int_equal(apiserver_backup(path(f, "none"), path(f, "x"), ERR_TEXT(f->err)),
			 -ENOENT);
	fixture_open(f);
}

/* ---- while others write ---- */

struct writing {
	struct apiserver_store *s;
	atomic_bool stop;
};

static void *write_pairs(void *arg)
{
	struct writing *w = arg;
	uint64_t at[2] = { 0 }, r = 0;
	for (int i = 0; !atomic_load(&w->stop); i++) {
		char number[16];
		struct put p[2];
		snprintf(number, sizeof(number), "%d", i);
		struct apiserver_write both[2] = { *put_text(&p[0], "a", at[0], number),
						   *put_text(&p[1], "b", at[1], number) };
		assert_int_equal(apiserver_store_write(w->s, both, 2, &r, NULL), 0);
		at[0] = r - 1;
		at[1] = r;
	}
	return NULL;
}

/* Another process backs up a store in use: the copy is one consistent state. */
static void in_use(void **state)
{
	struct fixture *f = *state, g = { 0 };
	struct writing w = { .s = f->s };
	pthread_t t;
	pthread_create(&t, NULL, write_pairs, &w);
	while (apiserver_store_revision(f->s) < 100)
		usleep(1000);
	pid_t child = fork();
	if (child == 0) {
		/* The child must not use the parent's open files. */
		execl("/proc/self/exe", "backup", f->dir, path(f, "backup"), NULL);
		_exit(1);
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	uint64_t seen = apiserver_store_revision(f->s);
	while (apiserver_store_revision(f->s) < seen + 10)
		usleep(1000);
	atomic_store(&w.stop, true);
	pthread_join(t, NULL);
	snprintf(g.dir, sizeof(g.dir), "%.40s/other", f->dir);
	g.conf.dir = g.dir;
	restore(&g, path(f, "backup"));
	fixture_open(&g);
	struct strbuf a = STRBUF_INIT, b = STRBUF_INIT;
	uint64_t ra = 0, rb = 0;
	assert_int_equal(apiserver_store_get(g.s, "a", &a, &ra), 0);
	assert_int_equal(apiserver_store_get(g.s, "b", &b, &rb), 0);
	assert_int_equal(rb, ra + 1);
	assert_true(rb >= 100 && rb <= seen);
	strbuf_done(&a);
	strbuf_done(&b);
	apiserver_store_close(g.s);
}

/* A killed restore has happened completely or not at all. */
static void killed(void **state)
{
	struct fixture *f = *state;
	uint64_t a = put(f->s, "a", 0, "then");
	backup(f, path(f, "backup"));
	put(f->s, "a", a, "later");
	unsigned seed = 1;
	int restored = 0;
	for (int i = 0; i < 20; i++) {
		uint64_t before = apiserver_store_revision(f->s);
		close_it(f);
		pid_t child = fork();
		if (child == 0) {
			IGNORE(apiserver_restore(f->dir, path(f, "backup"), ERR_TEXT(f->err)));
			_exit(0);
		}
		/* The last one is not killed. */
		if (i < 19) {
			usleep((useconds_t)rand_r(&seed) % (1000U << i % 6));
			kill(child, SIGKILL);
		}
		assert_int_equal(waitpid(child, NULL, 0), child);
		fixture_open(f);
		struct strbuf b = STRBUF_INIT;
		uint64_t at = 0;
		assert_int_equal(apiserver_store_get(f->s, "a", &b, &at), 0);
		assert_true(apiserver_store_revision(f->s) >= before);
		bool later = strstr(b.s, "later") != NULL;
		if (!later) {
			assert_value(strbuf_slice(&b), "then", a);
			assert_true(apiserver_store_revision(f->s) > before);
			put(f->s, "a", at, "later");
			restored++;
		}
		strbuf_done(&b);
	}
	print_message("%d of 20 restores were done when killed\n", restored);
	assert_true(restored > 0);
}

int main(int argc, char **argv)
{
	char err[256];
	if (argc == 3)
		return apiserver_backup(argv[1], argv[2], ERR_TEXT(err)) == 0 ? 0 : 1;
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = { T(there_and_back), T(new_directory), T(damaged),
					    T(not_a_backup),   T(in_use),	 T(killed) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
