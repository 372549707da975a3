/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A full disk, by a small file system of its own and by a file size limit. Writes are refused as a
 * whole, reads continue, and writes work again as soon as there is space. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "apiserver/store/compact_test.h"
#include "apiserver/store/read.h"
#include "apiserver/store/store.h"
#include "apiserver/store/test_store.h"
#include "apiserver/store/watch.h"
#include "apiserver/store/writer.h"
#include "base/err_text.h"

enum { BYTES = 8 << 10 };
static char text[BYTES];

static int put_big(struct apiserver_store *s, int i, uint64_t *ret)
{
	char key[2][16];
	snprintf(key[0], sizeof(key[0]), "a%d", i);
	snprintf(key[1], sizeof(key[1]), "b%d", i);
	struct apiserver_write w[2] = {
		{ .key = key[0], .head = { text, BYTES } },
		{ .key = key[1], .head = { text, BYTES } },
	};
	return apiserver_store_write(s, w, 2, ret, NULL);
}

/* Both objects of each pair below n exist, and none of pair n. */
static void assert_pairs(struct apiserver_store *s, int n)
{
	char key[16];
	struct strbuf b = STRBUF_INIT;
	uint64_t r;
	for (int i = 0; i <= n; i++) {
		for (int half = 0; half < 2; half++) {
			snprintf(key, sizeof(key), "%c%d", "ab"[half], i);
			strbuf_reset(&b);
			assert_int_equal(apiserver_store_get(s, key, &b, &r),
					 i < n ? 0 : ERR_NOTFOUND);
			assert_true(i == n || b.n > BYTES);
		}
	}
	strbuf_done(&b);
}

/* Writes until the disk is full; returns how many pairs fit. */
static int fill_up(struct fixture *f)
{
	uint64_t before = apiserver_store_revision(f->s), r = 0;
	int n = 0, code;
	while ((code = put_big(f->s, n, &r)) == 0) {
		before = r;
		n++;
		assert_true(n < 10000);
	}
	assert_int_equal(code, ERR_SPACE);
	/* Neither the revision nor watches show the refused write. */
	assert_int_equal(apiserver_store_revision(f->s), before);
	assert_true(n > 0);
	assert_pairs(f->s, n);
	struct apiserver_watch *w;
	const struct apiserver_event *e;
	uint64_t at = 0;
	assert_int_equal(apiserver_watch_new(f->s, "", before, NULL, NULL, &w), 0);
	assert_int_equal(apiserver_watch_next(w, &e, &at), 0);
	apiserver_watch_free(w);
	return n;
}

static void small_disk(void **state)
{
	struct fixture *f = *state;
	char dir[64], ballast[96];
	memcpy(dir, f->dir, sizeof(dir));
	apiserver_store_close(f->s);
	assert_int_equal(mount("small", dir, "tmpfs", 0, "size=14m"), 0);
	snprintf(ballast, sizeof(ballast), "%s/ballast", dir);
	int fd = open(ballast, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(posix_fallocate(fd, 0, 3 << 20), 0);
	close(fd);
	fixture_open(f);
	assert_true(apiserver_store_has_space(f->s, NULL));
	int n = fill_up(f);
	assert_int_equal(put_big(f->s, n, &(uint64_t){ 0 }), ERR_SPACE);
	CLEANUP(strbuf_done) struct strbuf why = STRBUF_INIT;
	assert_false(apiserver_store_has_space(f->s, &why));
	assert_non_null(strstr(why.s, "is full, and writes are refused"));
	/* With space again, writes work without a restart. */
	assert_int_equal(unlink(ballast), 0);
	uint64_t r = 0, before = apiserver_store_revision(f->s);
	assert_int_equal(put_big(f->s, n, &r), 0);
	assert_true(apiserver_store_has_space(f->s, NULL));
	assert_true(r > before);
	assert_pairs(f->s, n + 1);
	fixture_reopen(f);
	assert_pairs(f->s, n + 1);
	assert_int_equal(apiserver_store_revision(f->s), r);
	apiserver_store_close(f->s);
	f->s = NULL;
	assert_int_equal(umount(dir), 0);
}

static int remove_big(struct apiserver_store *s, const char *key)
{
	uint64_t r = 0, revision = 0;
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	assert_int_equal(apiserver_store_get(s, key, &b, &revision), 0);
	struct apiserver_write w = {
		.key = key, .expect = revision, .remove = true, .head = { text, BYTES }
	};
	return apiserver_store_write(s, &w, 1, &r, NULL);
}

/* Removals and compaction have reserved space; they make space for other writes. */
static void way_out(void **state)
{
	struct fixture *f = *state;
	char dir[64], key[16];
	memcpy(dir, f->dir, sizeof(dir));
	apiserver_store_close(f->s);
	assert_int_equal(mount("small", dir, "tmpfs", 0, "size=20m"), 0);
	fixture_open(f);
	int n = fill_up(f);
	assert_true(n > 100);
	for (int i = 0; i < 50; i++) {
		snprintf(key, sizeof(key), "a%d", i);
		assert_int_equal(remove_big(f->s, key), 0);
		assert_false(apiserver_store_has_space(f->s, NULL));
		assert_int_equal(put_big(f->s, n, &(uint64_t){ 0 }), ERR_SPACE);
	}
	assert_int_equal(apiserver_store_compact(f->s, UINT64_MAX), 0);
	assert_int_equal(put_big(f->s, n, &(uint64_t){ 0 }), 0);
	/* Again, with a restart. */
	while (put_big(f->s, ++n, &(uint64_t){ 0 }) == 0)
		;
	assert_int_equal(remove_big(f->s, "b0"), 0);
	fixture_reopen(f);
	assert_int_equal(remove_big(f->s, "b1"), 0);
	apiserver_store_close(f->s);
	f->s = NULL;
	assert_int_equal(umount(dir), 0);
}

/* Tombstones of large objects let the file grow into the spare's space for good. Pages that removals
 * freed inside the file count as space, too. */
static void way_out_of_large_objects(void **state)
{
	struct fixture *f = *state;
	enum { LARGE = 900 << 10 };
	CLEANUP(freep) char *large = xmalloc(LARGE);
	char dir[64], key[16];
	uint64_t r = 0, revision[4 * 48 + 1];
	int n = 0;
	memset(large, 'x', LARGE);
	memcpy(dir, f->dir, sizeof(dir));
	apiserver_store_close(f->s);
	assert_int_equal(mount("small", dir, "tmpfs", 0, "size=48m"), 0);
	fixture_open(f);
	for (int round = 0; round < 4; round++) {
		/* Fill the disk and remove some objects, repeatedly. */
		int first = n;
		for (;; n++) {
			snprintf(key, sizeof(key), "k%d", n);
			struct apiserver_write w = { .key = key, .head = { large, LARGE } };
			int code = apiserver_store_write(f->s, &w, 1, &r, NULL);
			revision[n] = r;
			if (code == 0)
				continue;
			assert_int_equal(code, ERR_SPACE);
			break;
		}
		assert_in_range(n - first, 8, 48);
		for (int i = MAX(first, n - 20); i < n; i++) {
			snprintf(key, sizeof(key), "k%d", i);
			struct apiserver_write w = { .key = key,
						     .expect = revision[i],
						     .remove = true,
						     .head = { large, LARGE } };
			assert_int_equal(apiserver_store_write(f->s, &w, 1, &r, NULL), 0);
		}
		/* As the compactor does on request. */
		assert_int_equal(apiserver_store_compact(f->s, UINT64_MAX), 0);
	}
	fixture_reopen(f);
	assert_int_equal(put_big(f->s, 0, &r), 0);
	apiserver_store_close(f->s);
	f->s = NULL;
	assert_int_equal(umount(dir), 0);
}

static void size_limit(void **state)
{
	struct fixture *f = *state;
	struct rlimit before, low;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	low = before;
	low.rlim_cur = 1 << 20;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
	int n = fill_up(f);
	fixture_reopen(f);
	assert_pairs(f->s, n);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	uint64_t r = 0;
	assert_int_equal(put_big(f->s, n, &r), 0);
	assert_pairs(f->s, n + 1);
}

static void read_only(void **state)
{
	struct fixture *f = *state;
	apiserver_store_close(f->s);
	f->s = NULL;
	assert_int_equal(mount(f->dir, f->dir, NULL, MS_BIND, NULL), 0);
	assert_int_equal(mount(NULL, f->dir, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL), 0);
	assert_int_equal(apiserver_store_open(&f->conf, &f->s, ERR_TEXT(f->err)), -EROFS);
	assert_non_null(strstr(f->err, "Read-only file system"));
	assert_int_equal(umount(f->dir), 0);
}

/* Mounts are visible to this process only. */
static bool own_mounts(void)
{
	int flags = CLONE_NEWNS | (geteuid() == 0 ? 0 : CLONE_NEWUSER);
	return unshare(flags) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

int main(void)
{
	if (!own_mounts()) {
		perror("unshare");
		return 1;
	}
	memset(text, 'x', sizeof(text));
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = { T(small_disk), T(way_out), T(way_out_of_large_objects),
					    T(size_limit), T(read_only) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
