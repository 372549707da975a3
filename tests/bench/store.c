/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The store of the embedded API by itself: durable writes per second beside what one fdatasync
 * takes, watchers' delays, and a large store opened, listed and compacted.
 *
 *	store-bench DIR [--threads N] [--seconds S] [--bytes N] [--objects N]
 *
 * DIR is made, and must not be there before. */
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apiserver/store/store.h"
#include "apiserver/store/compact_test.h"
#include "apiserver/store/read.h"
#include "apiserver/store/watch.h"
#include "apiserver/store/writer.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/err_text.h"

enum { MAX_THREADS = 256, WATCHERS = 100, WATCH_RATE = 200, SYNCS = 200 };

struct bench {
	const char *dir;
	unsigned threads, seconds, bytes, objects;
	struct apiserver_store *s;
	char *filler;
	_Atomic uint64_t until_ns;
};

static void must(int r, const char *what)
{
	if (r >= 0)
		return;
	fprintf(stderr, "%s: %s\n", what, err_str(r));
	exit(1);
}

static double ms(uint64_t ns)
{
	return (double)ns / (double)NS_PER_MS;
}

/* What this process has used: tells more than the clock on a busy machine. */
static uint64_t cpu_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

/* Sorts. */
static void print_times(const char *what, uint64_t *v, size_t n)
{
	if (n == 0)
		return;
	qsort(v, n, sizeof(*v), by_value);
	printf("%s: median %.3f ms, p99 %.3f ms, longest %.3f ms (%zu)\n", what, ms(v[n / 2]),
	       ms(v[n - 1 - n / 100]), ms(v[n - 1]), n);
}

static void open_store(struct bench *b)
{
	char err[512];
	struct apiserver_store_conf c = { .dir = b->dir, .compact_every_ns = UINT64_MAX };
	uint64_t start = clock_mono_ns();
	if (apiserver_store_open(&c, &b->s, ERR_TEXT(err)) < 0) {
		fprintf(stderr, "%s\n", err);
		exit(1);
	}
	printf("open: %.1f ms\n", ms(clock_mono_ns() - start));
}

static uint64_t put(struct bench *b, const char *key, uint64_t expect)
{
	uint64_t revision = 0;
	struct apiserver_write w = { .key = key,
				     .expect = expect,
				     .head = { b->filler, b->bytes } };
	must(apiserver_store_write(b->s, &w, 1, &revision, NULL), "write");
	return revision;
}

/* ---- the disk ---- */

static void measure_disk(struct bench *b)
{
	uint64_t t[SYNCS];
	char *path = xasprintf("%s/sync", b->dir);
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	for (size_t i = 0; i < SYNCS; i++) {
		if (write(fd, b->filler, b->bytes) < 0)
			exit(1);
		uint64_t start = clock_mono_ns();
		fdatasync(fd);
		t[i] = clock_mono_ns() - start;
	}
	close(fd);
	unlink(path);
	free(path);
	print_times("fdatasync", t, SYNCS);
}

/* ---- writes ---- */

struct client {
	struct bench *b;
	unsigned number;
	uint64_t *took;
	size_t n, cap;
	pthread_t thread;
};

/* Each updates its own hundred objects in turn. */
static void *write_load(void *arg)
{
	struct client *c = arg;
	uint64_t revision[100] = { 0 };
	for (size_t i = 0; clock_mono_ns() < atomic_load(&c->b->until_ns); i++) {
		char key[64];
		snprintf(key, sizeof(key), "core/configmaps/bench/%u-%zu", c->number, i % 100);
		uint64_t start = clock_mono_ns();
		revision[i % 100] = put(c->b, key, revision[i % 100]);
		if (c->n == c->cap) {
			c->cap = c->cap * 2 + 1024;
			c->took = xreallocarray(c->took, c->cap, sizeof(*c->took));
		}
		c->took[c->n++] = clock_mono_ns() - start;
	}
	return NULL;
}

static void measure_writes(struct bench *b, unsigned threads)
{
	struct client *c = xcalloc(threads, sizeof(*c));
	uint64_t start = clock_mono_ns(), cpu = cpu_ns();
	static unsigned number;
	atomic_store(&b->until_ns, start + b->seconds * NS_PER_S);
	for (unsigned i = 0; i < threads; i++) {
		c[i] = (struct client){ .b = b, .number = number++ };
		pthread_create(&c[i].thread, NULL, write_load, &c[i]);
	}
	size_t n = 0;
	for (unsigned i = 0; i < threads; i++) {
		pthread_join(c[i].thread, NULL);
		n += c[i].n;
	}
	cpu = cpu_ns() - cpu;
	uint64_t took = clock_mono_ns() - start, *all = xcalloc(n + 1, sizeof(*all)), *at = all;
	for (unsigned i = 0; i < threads; i++) {
		at = mempcpy(at, c[i].took, c[i].n * sizeof(*at));
		free(c[i].took);
	}
	printf("%u threads, %u bytes: %.0f writes/s, %.1f us of CPU each\n", threads, b->bytes,
	       (double)n * 1e9 / (double)took, (double)cpu / 1e3 / (double)n);
	print_times("  a write", all, n);
	free(all);
	free(c);
}

/* ---- watchers ---- */

/* When each write was made durable and its writer told, by revision. */
static _Atomic uint64_t written_ns[1 << 16];

struct watcher {
	struct apiserver_watch *w;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool woken;
	uint64_t first, last;
	uint64_t *delay;
	size_t n;
};

static void on_wake(void *ctx)
{
	struct watcher *w = ctx;
	pthread_mutex_lock(&w->lock);
	w->woken = true;
	pthread_cond_signal(&w->cond);
	pthread_mutex_unlock(&w->lock);
}

static void *watch_load(void *arg)
{
	struct watcher *w = arg;
	const struct apiserver_event *e;
	uint64_t at = 0, expect = w->first;
	while (expect <= w->last) {
		int r = apiserver_watch_next(w->w, &e, &at);
		must(r, "watch");
		if (r == 0) {
			pthread_mutex_lock(&w->lock);
			while (!w->woken)
				pthread_cond_wait(&w->cond, &w->lock);
			w->woken = false;
			pthread_mutex_unlock(&w->lock);
			continue;
		}
		if (e->revision != expect)
			must(ERR_INTERNAL, "an event is missing");
		w->delay[w->n++] = clock_mono_ns() - atomic_load(&written_ns[expect % (1 << 16)]);
		expect++;
	}
	return NULL;
}

static void measure_watchers(struct bench *b)
{
	size_t n = (size_t)b->seconds * WATCH_RATE;
	struct watcher *w = xcalloc(WATCHERS, sizeof(*w));
	uint64_t first = apiserver_store_revision(b->s) + 1, last = first + n - 1, revision = 0;
	for (size_t i = 0; i < WATCHERS; i++) {
		w[i].first = first;
		w[i].last = last;
		w[i].delay = xcalloc(n, sizeof(uint64_t));
		pthread_mutex_init(&w[i].lock, NULL);
		pthread_cond_init(&w[i].cond, NULL);
		must(apiserver_watch_new(b->s, "", first - 1, on_wake, &w[i], &w[i].w), "watch");
		pthread_create(&w[i].thread, NULL, watch_load, &w[i]);
	}
	uint64_t next = clock_mono_ns();
	for (uint64_t i = first; i <= last; i++) {
		/* From before the write: the delay holds its time on disk, too. */
		atomic_store(&written_ns[i % (1 << 16)], clock_mono_ns());
		revision = put(b, "core/leases/bench/watched", revision);
		next += NS_PER_S / WATCH_RATE;
		uint64_t now = clock_mono_ns();
		if (now < next)
			usleep((useconds_t)((next - now) / 1000));
	}
	uint64_t *all = xcalloc(WATCHERS * n, sizeof(*all)), *at = all;
	for (size_t i = 0; i < WATCHERS; i++) {
		pthread_join(w[i].thread, NULL);
		apiserver_watch_free(w[i].w);
		at = mempcpy(at, w[i].delay, w[i].n * sizeof(*at));
		free(w[i].delay);
	}
	printf("%d watchers, %d writes/s\n", WATCHERS, WATCH_RATE);
	print_times("  from before the write to the watcher", all, WATCHERS * n);
	free(all);
	free(w);
}

/* ---- a large store ---- */

struct filler {
	struct bench *b;
	unsigned from, to;
	pthread_t thread;
};

static void *fill_range(void *arg)
{
	struct filler *f = arg;
	enum { SET = 64 };
	for (unsigned i = f->from; i < f->to; i += SET) {
		char key[SET][64];
		struct apiserver_write w[SET];
		size_t n = MIN(SET, f->to - i);
		for (size_t k = 0; k < n; k++) {
			snprintf(key[k], sizeof(key[k]), "core/pods/ns-%zu/pod-%zu", (i + k) % 50,
				 i + k);
			w[k] = (struct apiserver_write){ .key = key[k],
							 .head = { f->b->filler, f->b->bytes } };
		}
		for (int twice = 0; twice < 2; twice++) {
			uint64_t revision;
			must(apiserver_store_write(f->b->s, w, n, &revision, NULL), "fill");
			for (size_t k = 0; k < n; k++)
				w[k].expect = revision - (n - 1) + k;
		}
	}
	return NULL;
}

static int count_row(void *ctx, const struct apiserver_row *r)
{
	*(size_t *)ctx += r->value.n;
	return 0;
}

static void measure_list(struct bench *b, const char *what, struct apiserver_range range)
{
	size_t bytes = 0;
	uint64_t at, left, start = clock_mono_ns(), cpu = cpu_ns();
	must(apiserver_store_list(b->s, &range, count_row, &bytes, &at, &left), "list");
	printf("%s: %.1f ms, CPU %.1f ms, %.1f MB\n", what, ms(clock_mono_ns() - start),
	       ms(cpu_ns() - cpu), (double)bytes / 1e6);
}

static void print_resident(const char *when)
{
	unsigned long pages = 0;
	FILE *in = fopen("/proc/self/statm", "re");
	if (in == NULL || fscanf(in, "%*u %lu", &pages) != 1)
		exit(1);
	fclose(in);
	printf("resident %s: %.1f MB\n", when, (double)pages * (double)sysconf(_SC_PAGESIZE) / 1e6);
}

static void measure_large(struct bench *b)
{
	struct filler f[4];
	for (unsigned i = 0; i < ARRAY_LEN(f); i++) {
		f[i] = (struct filler){ b, b->objects / 4 * i, b->objects / 4 * (i + 1), 0 };
		pthread_create(&f[i].thread, NULL, fill_range, &f[i]);
	}
	for (unsigned i = 0; i < ARRAY_LEN(f); i++)
		pthread_join(f[i].thread, NULL);
	printf("%u objects in two versions each\n", b->objects);
	apiserver_store_close(b->s);
	open_store(b);
	for (int i = 0; i < 2; i++)
		measure_list(b, "list of all", (struct apiserver_range){ .prefix = "core/pods/" });
	measure_list(b, "list of the first 500, others counted",
		     (struct apiserver_range){ .prefix = "core/pods/", .limit = 500 });
	measure_list(b, "list of a namespace",
		     (struct apiserver_range){ .prefix = "core/pods/ns-7/" });
	print_resident("after the lists");
}

static void *compact(void *arg)
{
	struct bench *b = arg;
	uint64_t start = clock_mono_ns();
	must(apiserver_store_compact(b->s, apiserver_store_revision(b->s)), "compact");
	printf("compaction beside them: %.1f ms\n", ms(clock_mono_ns() - start));
	return NULL;
}

static void measure_compaction(struct bench *b)
{
	pthread_t t;
	pthread_create(&t, NULL, compact, b);
	measure_writes(b, b->threads);
	pthread_join(t, NULL);
}

int main(int argc, char **argv)
{
	struct bench b = { .threads = 16, .seconds = 2, .bytes = 1024, .objects = 100000 };
	static const struct option options[] = {
		{ "threads", required_argument, NULL, 't' },
		{ "seconds", required_argument, NULL, 's' },
		{ "bytes", required_argument, NULL, 'b' },
		{ "objects", required_argument, NULL, 'o' },
		{ 0 },
	};
	for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
		unsigned n = optarg != NULL ? (unsigned)strtoul(optarg, NULL, 10) : 0;
		if (c == '?')
			return 2;
		*(c == 't'   ? &b.threads
		  : c == 's' ? &b.seconds
		  : c == 'b' ? &b.bytes
			     : &b.objects) = n;
	}
	if (optind != argc - 1 || b.threads == 0 || b.threads > MAX_THREADS ||
	    mkdir(argv[optind], 0700) < 0) {
		fprintf(stderr, "usage: store-bench NEW-DIRECTORY [--threads N] [--seconds S] "
				"[--bytes N] [--objects N]\n");
		return 2;
	}
	b.dir = argv[optind];
	b.filler = xmalloc(b.bytes + 1);
	memset(b.filler, 'x', b.bytes);
	measure_disk(&b);
	open_store(&b);
	print_resident("at start");
	measure_writes(&b, 1);
	measure_writes(&b, b.threads);
	measure_watchers(&b);
	if (b.objects > 0)
		measure_large(&b);
	measure_compaction(&b);
	apiserver_store_close(b.s);
	free(b.filler);
	return 0;
}
