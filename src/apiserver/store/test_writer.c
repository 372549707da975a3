/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes: compare and swap, sets, limits, and many threads at once. */
#include <pthread.h>

#include "apiserver/store/read.h"
#include "apiserver/store/store.h"
#include "apiserver/store/test_store.h"
#include "apiserver/store/writer.h"

static void compare_and_swap(void **state)
{
	struct fixture *f = *state;
	uint64_t r, first = put(f->s, "a/b//x", 0, "one");
	assert_there(f->s, "a/b//x", "one", first);
	assert_int_equal(apiserver_store_revision(f->s), first);
	assert_int_equal(try_put(f->s, "a/b//x", 0, "again", &r), ERR_CONFLICT);
	assert_int_equal(try_put(f->s, "a/b//x", first + 1, "future", &r), ERR_CONFLICT);
	assert_int_equal(try_put(f->s, "a/b//y", first, "not there", &r), ERR_CONFLICT);
	uint64_t second = put(f->s, "a/b//x", first, "two");
	assert_true(second > first);
	assert_int_equal(try_put(f->s, "a/b//x", first, "late", &r), ERR_CONFLICT);
	assert_there(f->s, "a/b//x", "two", second);
}

static void remove_and_again(void **state)
{
	struct fixture *f = *state;
	uint64_t r, first = put(f->s, "k", 0, "one");
	uint64_t gone = del(f->s, "k", first);
	assert_true(gone > first);
	assert_absent(f->s, "k");
	struct put p;
	put_text(&p, "k", 0, "");
	p.w.remove = true;
	assert_int_equal(apiserver_store_write(f->s, &p.w, 1, &r, NULL), ERR_CONFLICT);
	assert_int_equal(try_put(f->s, "k", gone, "x", &r), ERR_CONFLICT);
	uint64_t again = put(f->s, "k", 0, "new");
	assert_there(f->s, "k", "new", again);
}

/* A set: all or none, each write with its own revision. */
static void sets(void **state)
{
	struct fixture *f = *state;
	uint64_t r = 0, old = put(f->s, "b", 0, "old");
	size_t conflict = 99;
	struct put p[3];
	put_text(&p[0], "a", 0, "A");
	put_text(&p[1], "b", 0, "B");
	put_text(&p[2], "c", 0, "C");
	struct apiserver_write w[3] = { p[0].w, p[1].w, p[2].w };
	assert_int_equal(apiserver_store_write(f->s, w, 3, &r, &conflict), ERR_CONFLICT);
	assert_int_equal(conflict, 1);
	assert_absent(f->s, "a");
	assert_absent(f->s, "c");
	assert_there(f->s, "b", "old", old);
	w[1].expect = old;
	assert_int_equal(apiserver_store_write(f->s, w, 3, &r, &conflict), 0);
	assert_there(f->s, "a", "A", r - 2);
	assert_there(f->s, "b", "B", r - 1);
	assert_there(f->s, "c", "C", r);
	assert_int_equal(apiserver_store_write(f->s, NULL, 0, &r, NULL), 0);
	assert_int_equal(r, apiserver_store_revision(f->s));
}

static void limits(void **state)
{
	struct fixture *f = *state;
	uint64_t r;
	char key[APISERVER_KEY_MAX_BYTES + 2];
	memset(key, 'k', sizeof(key));
	key[sizeof(key) - 1] = '\0';
	assert_int_equal(try_put(f->s, key, 0, "x", &r), ERR_LIMIT);
	key[sizeof(key) - 2] = '\0';
	assert_there(f->s, key, "x", put(f->s, key, 0, "x"));
	char *big = xcalloc(1, APISERVER_VALUE_MAX_BYTES + 1);
	memset(big, ' ', APISERVER_VALUE_MAX_BYTES + 1);
	struct apiserver_write w = { .key = "big", .head = { big, APISERVER_VALUE_MAX_BYTES + 1 } };
	assert_int_equal(apiserver_store_write(f->s, &w, 1, &r, NULL), ERR_LIMIT);
	w.head.n--;
	assert_int_equal(apiserver_store_write(f->s, &w, 1, &r, NULL), 0);
	struct strbuf b = STRBUF_INIT;
	assert_int_equal(apiserver_store_get(f->s, "big", &b, &r), 0);
	assert_true(b.n > APISERVER_VALUE_MAX_BYTES);
	strbuf_done(&b);
	free(big);
}

/* Many threads increment one object: each sees the last success, no number is lost. */
enum { THREADS = 8, ROUNDS = 100 };

static void *count_up(void *arg)
{
	struct apiserver_store *s = arg;
	for (int i = 0; i < ROUNDS;) {
		struct strbuf b = STRBUF_INIT;
		uint64_t at, r;
		assert_int_equal(apiserver_store_get(s, "n", &b, &at), 0);
		int n;
		assert_int_equal(sscanf(b.s, "{\"v\":\"%d", &n), 1);
		char text[24];
		snprintf(text, sizeof(text), "%d", n + 1);
		int code = try_put(s, "n", at, text, &r);
		assert_true(code == 0 || code == ERR_CONFLICT);
		if (code == 0)
			i++;
		strbuf_done(&b);
	}
	return NULL;
}

static void contention(void **state)
{
	struct fixture *f = *state;
	pthread_t t[THREADS];
	put(f->s, "n", 0, "0");
	for (size_t i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, count_up, f->s);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	char want[24];
	snprintf(want, sizeof(want), "%d", THREADS * ROUNDS);
	struct strbuf b = STRBUF_INIT;
	uint64_t at;
	assert_int_equal(apiserver_store_get(f->s, "n", &b, &at), 0);
	assert_value(strbuf_slice(&b), want, at);
	strbuf_done(&b);
}

static void kept_over_restart(void **state)
{
	struct fixture *f = *state;
	uint64_t a = put(f->s, "a", 0, "A");
	uint64_t gone = del(f->s, "b", put(f->s, "b", 0, "B"));
	fixture_reopen(f);
	assert_int_equal(apiserver_store_revision(f->s), gone);
	assert_there(f->s, "a", "A", a);
	assert_absent(f->s, "b");
	assert_int_equal(put(f->s, "c", 0, "C"), gone + 1);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(compare_and_swap), T(remove_and_again), T(sets),
		T(limits),	     T(contention),	  T(kept_over_restart)
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
