/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Watches: events from the table and from the ring, waking, and freeing while `wake` runs. */
#include <pthread.h>
#include <stdatomic.h>

#include "apiserver/store/compact_test.h"
#include "apiserver/store/ring_priv.h"
#include "apiserver/store/store.h"
#include "apiserver/store/test_store.h"
#include "apiserver/store/watch.h"
#include "apiserver/store/writer.h"

static struct apiserver_watch *watch(struct fixture *f, const char *prefix, uint64_t after)
{
	struct apiserver_watch *w = NULL;
	assert_int_equal(apiserver_watch_new(f->s, prefix, after, NULL, NULL, &w), 0);
	return w;
}

static const struct apiserver_event *next(struct apiserver_watch *w)
{
	const struct apiserver_event *e = NULL;
	uint64_t at;
	assert_int_equal(apiserver_watch_next(w, &e, &at), 1);
	return e;
}

static void assert_none(struct apiserver_watch *w, uint64_t want_at)
{
	const struct apiserver_event *e;
	uint64_t at = 0;
	assert_int_equal(apiserver_watch_next(w, &e, &at), 0);
	assert_int_equal(at, want_at);
}

/* The life of one object, watched from revision `after`. */
static void assert_life(struct apiserver_watch *w, const uint64_t *revision)
{
	const struct apiserver_event *e = next(w);
	assert_string_equal(e->key, "a/1");
	assert_int_equal(e->revision, revision[0]);
	assert_int_equal(e->replaced, 0);
	assert_int_equal(e->before.n, 0);
	assert_false(e->removed);
	assert_value(e->value, "one", revision[0]);
	e = next(w);
	assert_int_equal(e->replaced, revision[0]);
	assert_value(e->before, "one", revision[0]);
	assert_value(e->value, "two", revision[1]);
	e = next(w);
	assert_true(e->removed);
	assert_int_equal(e->replaced, revision[1]);
	assert_value(e->before, "two", revision[1]);
	assert_value(e->value, "gone", revision[2]);
	e = next(w);
	assert_int_equal(e->replaced, 0);
	assert_int_equal(e->before.n, 0);
	assert_value(e->value, "back", revision[3]);
}

static void live(struct fixture *f, uint64_t *revision)
{
	put(f->s, "b/1", 0, "other");
	revision[0] = put(f->s, "a/1", 0, "one");
	revision[1] = put(f->s, "a/1", revision[0], "two");
	put(f->s, "b/2", 0, "other");
	revision[2] = del(f->s, "a/1", revision[1]);
	revision[3] = put(f->s, "a/1", 0, "back");
	revision[4] = put(f->s, "b/3", 0, "other");
}

static void from_ring_and_table(void **state)
{
	struct fixture *f = *state;
	uint64_t start = apiserver_store_revision(f->s), revision[5];
	struct apiserver_watch *early = watch(f, "a/", start);
	assert_none(early, start);
	live(f, revision);
	assert_life(early, revision);
	assert_none(early, revision[4]);
	apiserver_watch_free(early);
	/* After a restart the ring is empty. */
	fixture_reopen(f);
	struct apiserver_watch *late = watch(f, "a/", start);
	assert_life(late, revision);
	assert_none(late, revision[4]);
	uint64_t more = put(f->s, "a/2", 0, "x");
	assert_int_equal(next(late)->revision, more);
	assert_none(late, more);
	apiserver_watch_free(late);
	struct apiserver_watch *middle = watch(f, "", revision[3]);
	assert_int_equal(next(middle)->revision, revision[4]);
	assert_int_equal(next(middle)->revision, more);
	assert_none(middle, more);
	apiserver_watch_free(middle);
	apiserver_watch_free(NULL);
}

/* The optional part of a value lies in the event's own copy; the table does not know it. */
static void optional_part(void **state)
{
	struct fixture *f = *state;
	uint64_t start = apiserver_store_revision(f->s), revision = 0;
	char tail[] = "\",\"x\":1,\"y\":2}";
	struct apiserver_write write = { .key = "a/1",
					 .head = SLICE("{\"rv\":\""),
					 .tail = slice_of(tail),
					 .optional = { tail + 1, strlen(",\"x\":1") } };
	struct apiserver_watch *early = watch(f, "a/", start);
	assert_int_equal(apiserver_store_write(f->s, &write, 1, &revision, NULL), 0);
	memset(tail, '-', strlen(tail));
	const struct apiserver_event *e = next(early);
	assert_true(slice_is(e->optional, ",\"x\":1"));
	assert_true(e->optional.p > e->value.p &&
		    e->optional.p + e->optional.n < e->value.p + e->value.n);
	apiserver_watch_free(early);
	fixture_reopen(f);
	struct apiserver_watch *late = watch(f, "a/", start);
	assert_int_equal(next(late)->optional.n, 0);
	apiserver_watch_free(late);
}

/* More events than ring and chunk hold, by bytes and by number: all are delivered in order. */
static void lag(struct fixture *f, size_t sets, size_t set, size_t bytes)
{
	char *big = xmalloc(bytes);
	memset(big, 'x', bytes);
	struct apiserver_watch *w = watch(f, "k", apiserver_store_revision(f->s));
	uint64_t first = apiserver_store_revision(f->s) + 1, r = 0;
	for (size_t i = 0; i < sets; i++) {
		char key[50][32];
		struct apiserver_write wr[50];
		assert_true(set <= ARRAY_LEN(wr));
		for (size_t k = 0; k < set; k++) {
			snprintf(key[k], sizeof(key[k]), "k-%zu-%zu-%zu", bytes, i, k);
			wr[k] = (struct apiserver_write){ .key = key[k], .head = { big, bytes } };
		}
		assert_int_equal(apiserver_store_write(f->s, wr, set, &r, NULL), 0);
		if (i == 10)
			assert_int_equal(next(w)->revision, first);
	}
	for (uint64_t want = first + 1; want <= r; want++)
		assert_int_equal(next(w)->revision, want);
	assert_none(w, r);
	apiserver_watch_free(w);
	free(big);
}

static void laggard(void **state)
{
	_Static_assert(40 * 20 * 16000 > STORE_RING_BYTES, "leaves the ring by bytes");
	_Static_assert(400 * 50 > STORE_RING_EVENTS, "leaves the ring by number");
	lag(*state, 40, 20, 16000);
	lag(*state, 400, 50, 10);
}

/* ---- waking ---- */

struct taker {
	struct fixture *f;
	struct apiserver_watch *w;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool woken;
	uint64_t seen, until;
	const char *prefix;
	uint64_t after;
};

static void on_wake(void *ctx)
{
	struct taker *t = ctx;
	pthread_mutex_lock(&t->lock);
	t->woken = true;
	pthread_cond_signal(&t->cond);
	pthread_mutex_unlock(&t->lock);
}

static void await(struct taker *t)
{
	pthread_mutex_lock(&t->lock);
	while (!t->woken)
		pthread_cond_wait(&t->cond, &t->lock);
	t->woken = false;
	pthread_mutex_unlock(&t->lock);
}

static void *take_all(void *arg)
{
	struct taker *t = arg;
	const struct apiserver_event *e;
	uint64_t at, last = t->after;
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->cond, NULL);
	assert_int_equal(apiserver_watch_new(t->f->s, t->prefix, t->after, on_wake, t, &t->w), 0);
	while (t->seen < t->until) {
		int r = apiserver_watch_next(t->w, &e, &at);
		assert_true(r >= 0);
		if (r == 0) {
			await(t);
			continue;
		}
		assert_true(e->revision > last);
		last = e->revision;
		t->seen++;
	}
	apiserver_watch_free(t->w);
	return NULL;
}

enum { WATCHERS = 20, WRITERS = 4, WRITES = 200 };

static void *write_some(void *arg)
{
	struct fixture *f = arg;
	static atomic_int n;
	for (int i = 0; i < WRITES; i++) {
		int k = atomic_fetch_add(&n, 1);
		char key[16];
		snprintf(key, sizeof(key), "%s/%d", k % 2 == 0 ? "even" : "odd", k);
		put(f->s, key, 0, "x");
	}
	return NULL;
}

/* Every watch delivers all its events, wherever it starts. */
static void many(void **state)
{
	struct fixture *f = *state;
	struct taker t[WATCHERS];
	pthread_t watcher[WATCHERS], writer[WRITERS];
	uint64_t start = apiserver_store_revision(f->s);
	memset(t, 0, sizeof(t));
	for (size_t i = 0; i < WRITERS; i++)
		pthread_create(&writer[i], NULL, write_some, f);
	for (size_t i = 0; i < WATCHERS; i++) {
		t[i].f = f;
		t[i].after = start;
		t[i].prefix = i % 2 == 0 ? "even/" : "";
		t[i].until = (uint64_t)WRITERS * WRITES / (i % 2 == 0 ? 2 : 1);
		pthread_create(&watcher[i], NULL, take_all, &t[i]);
	}
	for (size_t i = 0; i < WRITERS; i++)
		pthread_join(writer[i], NULL);
	for (size_t i = 0; i < WATCHERS; i++)
		pthread_join(watcher[i], NULL);
}

static void wake_only_for_its_keys(void **state)
{
	struct fixture *f = *state;
	struct taker t = { .f = f };
	const struct apiserver_event *e;
	uint64_t at;
	pthread_mutex_init(&t.lock, NULL);
	pthread_cond_init(&t.cond, NULL);
	assert_int_equal(
		apiserver_watch_new(f->s, "a/", apiserver_store_revision(f->s), on_wake, &t, &t.w),
		0);
	put(f->s, "b/1", 0, "x");
	put(f->s, "a/1", 0, "x");
	await(&t);
	put(f->s, "a/2", 0, "x"); /* no wake: the watch has not returned 0 since the last one */
	assert_int_equal(apiserver_watch_next(t.w, &e, &at), 1);
	assert_int_equal(apiserver_watch_next(t.w, &e, &at), 1);
	assert_int_equal(apiserver_watch_next(t.w, &e, &at), 0);
	/* After two more writes all wakes of the first one have run. */
	put(f->s, "b/2", 0, "x");
	put(f->s, "b/3", 0, "x");
	pthread_mutex_lock(&t.lock);
	assert_false(t.woken);
	pthread_mutex_unlock(&t.lock);
	put(f->s, "a/3", 0, "x");
	await(&t);
	apiserver_watch_free(t.w);
}

static bool is_marked(const struct apiserver_event *event)
{
	return memmem(event->value.p, event->value.n, "marked", strlen("marked")) != NULL;
}

static void wake_only_for_wanted_events(void **state)
{
	struct fixture *f = *state;
	struct taker t = { .f = f };
	uint64_t start = apiserver_store_revision(f->s);
	pthread_mutex_init(&t.lock, NULL);
	pthread_cond_init(&t.cond, NULL);
	put(f->s, "a/1", 0, "plain");
	uint64_t marked = put(f->s, "a/2", 0, "marked");
	fixture_reopen(f); /* so that these come from the table */
	assert_int_equal(apiserver_watch_new(f->s, "a/", start, on_wake, &t, &t.w), 0);
	apiserver_watch_only(t.w, is_marked);
	assert_int_equal(next(t.w)->revision, marked);
	assert_none(t.w, marked);
	/* What it does not want may leave the ring and the history: the watch is not behind. */
	uint64_t last = put(f->s, "a/3", 0, "plain");
	for (int i = 0; i < STORE_RING_EVENTS + 10; i += 10) {
		char key[10][24];
		struct apiserver_write set[10];
		for (int k = 0; k < 10; k++) {
			snprintf(key[k], sizeof(key[k]), "a/plain-%d", i + k);
			set[k] = (struct apiserver_write){ .key = key[k], .head = SLICE("0") };
		}
		assert_int_equal(apiserver_store_write(f->s, set, 10, &last, NULL), 0);
	}
	assert_int_equal(apiserver_store_compact(f->s, last), 0);
	pthread_mutex_lock(&t.lock);
	assert_false(t.woken);
	pthread_mutex_unlock(&t.lock);
	assert_none(t.w, last);
	marked = put(f->s, "a/4", 0, "marked");
	await(&t);
	assert_int_equal(next(t.w)->revision, marked);
	apiserver_watch_free(t.w);
}

/* Freeing a watch waits for its `wake`, which may itself free it. */
struct slow {
	struct apiserver_watch *w;
	atomic_bool in, out, go;
};

static void slow_wake(void *ctx)
{
	struct slow *s = ctx;
	atomic_store(&s->in, true);
	while (!atomic_load(&s->go))
		usleep(100);
	atomic_store(&s->out, true);
}

static void *let_go(void *arg)
{
	struct slow *s = arg;
	usleep(2000);
	atomic_store(&s->go, true);
	return NULL;
}

static void free_own(void *ctx)
{
	struct slow *s = ctx;
	apiserver_watch_free(s->w);
	atomic_store(&s->out, true);
}

static void freeing(void **state)
{
	struct fixture *f = *state;
	uint64_t at = apiserver_store_revision(f->s);
	struct slow s = { 0 };
	pthread_t t;
	assert_int_equal(apiserver_watch_new(f->s, "", at, slow_wake, &s, &s.w), 0);
	put(f->s, "a", 0, "x");
	while (!atomic_load(&s.in))
		usleep(100);
	pthread_create(&t, NULL, let_go, &s);
	apiserver_watch_free(s.w);
	assert_true(atomic_load(&s.out));
	pthread_join(t, NULL);
	struct slow own = { 0 };
	assert_int_equal(apiserver_watch_new(f->s, "", at, free_own, &own, &own.w), 0);
	put(f->s, "b", 0, "x");
	while (!atomic_load(&own.out))
		usleep(100);
	put(f->s, "c", 0, "x");
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = { T(from_ring_and_table),
					    T(optional_part),
					    T(laggard),
					    T(many),
					    T(wake_only_for_its_keys),
					    T(wake_only_for_wanted_events),
					    T(freeing) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
