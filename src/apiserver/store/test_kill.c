/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kill -9 at random moments under write load, repeatedly on the same store: acknowledged writes exist,
 * sets are complete, no revision is assigned twice, watches resume.
 *
 *	test_store_kill [ROUNDS]		default 20 */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "apiserver/store/read.h"
#include "apiserver/store/store.h"
#include "apiserver/store/test_store.h"
#include "apiserver/store/watch.h"
#include "apiserver/store/writer.h"
#include "base/clock.h"
#include "base/err_text.h"

enum { THREADS = 4, KEYS = 5 };

/* What the child reports of each acknowledged set. */
struct ack {
	int thread, key, count;
	uint64_t revision;
};

static int rounds = 20;
static int acks[2];

/* ---- the child: pairs of objects that count up together ---- */

struct load {
	struct apiserver_store *s;
	int thread;
	pthread_t id;
};

static int pair(struct apiserver_store *s, int thread, int key, int *count, uint64_t *revision)
{
	for (int half = 0; half < 2; half++) {
		char name[24];
		struct strbuf b = STRBUF_INIT;
		snprintf(name, sizeof(name), "%c/%d-%d", "ab"[half], thread, key);
		int r = apiserver_store_get(s, name, &b, &revision[half]);
		if (r == ERR_NOTFOUND)
			count[half] = 0, revision[half] = 0;
		else if (r < 0 || sscanf(b.s, "{\"v\":\"%d", &count[half]) != 1)
			return ERR_PARSE;
		strbuf_done(&b);
	}
	return 0;
}

static void *load_main(void *arg)
{
	struct load *l = arg;
	int count[KEYS];
	uint64_t at[KEYS][2];
	for (int k = 0; k < KEYS; k++) {
		int both[2];
		if (pair(l->s, l->thread, k, both, at[k]) < 0)
			_exit(3);
		count[k] = both[0];
	}
	for (int k = 0;; k = (k + 1) % KEYS) {
		char name[2][24], number[16];
		struct put p[2];
		struct apiserver_write w[2];
		snprintf(number, sizeof(number), "%d", count[k] + 1);
		for (int half = 0; half < 2; half++) {
			snprintf(name[half], sizeof(name[half]), "%c/%d-%d", "ab"[half],
				 l -> thread, k);
			w[half] = *put_text(&p[half], name[half], at[k][half], number);
		}
		struct ack a = { l->thread, k, ++count[k], 0 };
		if (apiserver_store_write(l->s, w, 2, &a.revision, NULL) < 0)
			_exit(4);
		at[k][0] = a.revision - 1;
		at[k][1] = a.revision;
		/* One write of few bytes to a pipe is never torn. */
		if (write(acks[1], &a, sizeof(a)) != sizeof(a))
			_exit(5);
	}
	return NULL;
}

static void child_main(struct fixture *f)
{
	struct load l[THREADS];
	f->conf.keep_ns = 1;
	f->conf.keep_revisions = 50;
	f->conf.compact_every_ns = 5 * NS_PER_MS;
	if (apiserver_store_open(&f->conf, &f->s, ERR_TEXT(f->err)) < 0)
		_exit(2);
	for (int i = 0; i < THREADS; i++) {
		l[i] = (struct load){ f->s, i, 0 };
		pthread_create(&l[i].id, NULL, load_main, &l[i]);
	}
	for (;;)
		pause();
}

/* ---- the parent ---- */

struct known {
	int count[THREADS][KEYS];
	uint64_t revision; /* highest ever seen */
	uint64_t total;
};

/* Reads what was acknowledged in this round. */
static void read_acks(struct known *known)
{
	struct ack a;
	uint64_t before = known->revision;
	ssize_t n;
	while ((n = read(acks[0], &a, sizeof(a))) > 0) {
		assert_int_equal(n, sizeof(a));
		assert_true(a.revision > before);
		assert_true(a.count > known->count[a.thread][a.key]);
		known->count[a.thread][a.key] = a.count;
		known->revision = MAX(known->revision, a.revision);
		known->total++;
	}
}

static void check_pairs(struct apiserver_store *s, struct known *known)
{
	for (int t = 0; t < THREADS; t++) {
		for (int k = 0; k < KEYS; k++) {
			int count[2];
			uint64_t revision[2];
			assert_int_equal(pair(s, t, k, count, revision), 0);
			assert_int_equal(count[0], count[1]);
			/* One more may have been written without a report. */
			assert_in_range(count[0], known->count[t][k], known->count[t][k] + 1);
			known->count[t][k] = count[0];
		}
	}
}

/* A watch from the compaction point delivers every change in order. */
static void check_watch(struct apiserver_store *s)
{
	struct apiserver_watch *w;
	const struct apiserver_event *e;
	uint64_t at = 0, last = apiserver_store_compacted(s);
	int r;
	assert_int_equal(apiserver_watch_new(s, "", last, NULL, NULL, &w), 0);
	while ((r = apiserver_watch_next(w, &e, &at)) == 1) {
		assert_true(e->revision > last);
		last = e->revision;
		if (e->replaced != 0)
			assert_true(e->before.n > 0);
	}
	assert_int_equal(r, 0);
	assert_int_equal(at, apiserver_store_revision(s));
	apiserver_watch_free(w);
	if (apiserver_store_compacted(s) > 0)
		assert_int_equal(apiserver_watch_new(s, "", apiserver_store_compacted(s) - 1, NULL,
						     NULL, &w),
				 ERR_GONE);
}

static void one_round(struct fixture *f, struct known *known, unsigned ms)
{
	assert_int_equal(pipe(acks), 0);
	pid_t child = fork();
	if (child == 0)
		child_main(f);
	close(acks[1]);
	usleep(ms * 1000);
	kill(child, SIGKILL);
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	read_acks(known);
	close(acks[0]);
	fixture_open(f);
	assert_true(apiserver_store_revision(f->s) >= known->revision);
	known->revision = apiserver_store_revision(f->s);
	check_pairs(f->s, known);
	check_watch(f->s);
	apiserver_store_close(f->s);
	f->s = NULL;
}

static void killed(void **state)
{
	struct fixture *f = *state;
	struct known known = { 0 };
	unsigned seed = (unsigned)clock_mono_ns();
	apiserver_store_close(f->s);
	f->s = NULL;
	print_message("seed %u\n", seed);
	for (int i = 0; i < rounds; i++)
		one_round(f, &known, (unsigned)rand_r(&seed) % 150);
	print_message("%d kills, %llu sets acknowledged, revision %llu\n", rounds,
		      (unsigned long long)known.total, (unsigned long long)known.revision);
	assert_true(known.total > 0);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		rounds = (int)strtol(argv[1], NULL, 10);
	const struct CMUnitTest tests[] = { cmocka_unit_test_setup_teardown(killed, setup,
									    teardown) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
