/* An informer for tests: prints what its handlers hear as lines of JSON and answers commands on
 * standard input.
 *
 * usage: kube-watcher KUBECONFIG KIND [GROUP] [fast] [patient] [slim] [quiet]
 *
 *   fast   times of seconds instead of minutes
 *   patient  as fast, but a silent list is waited for
 *   slim   the trimmed decoders (Service, EndpointSlice, Pod) instead of whole trees
 *   quiet  no line per event
 *
 * Commands: dump (all objects), stats, quit. Each is answered by one line. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "api/kind.h"
#include "api/tree.h"
#include "base/clock.h"
#include "base/strbuf.h"
#include "kube/client.h"
#include "kube/config.h"
#include "kube/informer.h"
#include "kube/slim.h"
#include "kube/tree.h"

static pthread_mutex_t out_lock = PTHREAD_MUTEX_INITIALIZER;

static void say(json_t *line)
{
	pthread_mutex_lock(&out_lock);
	json_dumpf(line, stdout, JSON_COMPACT);
	fputc('\n', stdout);
	fflush(stdout);
	pthread_mutex_unlock(&out_lock);
	json_decref(line);
}

static json_t *key_of(const struct kube_obj *o)
{
	return o->ns[0] != '\0' ? json_sprintf("%s/%s", o->ns, o->name) : json_string(o->name);
}

static void on_added(void *ctx, struct kube_obj *o)
{
	(void)ctx;
	say(json_pack("{ss so ss}", "event", "added", "key", key_of(o), "rv", o->rv));
}

static void on_updated(void *ctx, struct kube_obj *old, struct kube_obj *o)
{
	(void)ctx;
	say(json_pack("{ss so ss ss}", "event", "updated", "key", key_of(o), "rv", o->rv, "old",
		      old->rv));
}

static void on_deleted(void *ctx, struct kube_obj *o)
{
	(void)ctx;
	say(json_pack("{ss so ss}", "event", "deleted", "key", key_of(o), "rv", o->rv));
}

static void on_synced(void *ctx)
{
	const uint64_t *start = ctx;
	struct timespec cpu;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	say(json_pack("{ss sf sf}", "event", "synced", "seconds",
		      (double)(clock_mono_ns() - *start) / 1e9, "cpu_seconds",
		      (double)cpu.tv_sec + (double)cpu.tv_nsec / 1e9));
}

static void on_trouble(void *ctx, const char *text)
{
	(void)ctx;
	say(json_pack("{ss ss}", "event", "trouble", "text", text));
}

struct dump {
	json_t *objects;
	bool slim;
};

static bool dump_one(void *ctx, struct kube_obj *o)
{
	struct dump *d = ctx;
	json_t *key = key_of(o);
	json_object_set_new(d->objects, json_string_value(key),
			    d->slim ? json_string(o->rv) : json_incref(api_tree(kube_tree_of(o))));
	json_decref(key);
	return true;
}

static void dump(struct kube_informer *i, bool slim)
{
	struct dump d = { .objects = json_object(), .slim = slim };
	kube_store_each(kube_informer_store(i), dump_one, &d);
	say(json_pack("{ss so}", "reply", "dump", "objects", d.objects));
}

static void stats(struct kube_informer *i)
{
	struct kube_informer_stats s;
	struct timespec cpu;
	kube_informer_stats(i, &s);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	say(json_pack(
		"{ss sI sI sI sI sI sI sI sI sI sI sf sb}", "reply", "stats", "added",
		(json_int_t)s.added, "updated", (json_int_t)s.updated, "deleted",
		(json_int_t)s.deleted, "events", (json_int_t)s.events, "repeated",
		(json_int_t)s.repeated, "bad", (json_int_t)s.bad, "lists", (json_int_t)s.lists,
		"watches", (json_int_t)s.watches, "errors", (json_int_t)s.errors, "objects",
		(json_int_t)kube_store_count(kube_informer_store(i)), "cpu_seconds",
		(double)cpu.tv_sec + (double)cpu.tv_nsec / 1e9, "synced", kube_informer_synced(i)));
}

static struct kube_codec *codec_of(const struct api_kind *k, bool slim, struct kube_intern *t)
{
	if (slim && strcmp(k->kind, "Service") == 0)
		return kube_service_codec(t);
	if (slim && strcmp(k->kind, "EndpointSlice") == 0)
		return kube_slice_codec(t, false);
	return slim ? kube_pod_codec(t) : kube_tree_codec(k, NULL, 0);
}

static const struct kube_times fast_times = {
	.watch_min_ns = 6 * NS_PER_S,
	.watch_max_ns = 9 * NS_PER_S,
	.watch_grace_ns = NS_PER_S,
	.silence_ns = 2 * NS_PER_S,
	.list_ns = 4 * NS_PER_S,
	.short_ns = 200 * NS_PER_MS,
	.backoff_min_ns = 50 * NS_PER_MS,
	.backoff_max_ns = 400 * NS_PER_MS,
	.page = 20,
};

static void serve(struct kube_informer *i, bool slim)
{
	char line[64];
	while (fgets(line, sizeof(line), stdin) != NULL && strcmp(line, "quit\n") != 0) {
		if (strcmp(line, "dump\n") == 0)
			dump(i, slim);
		else if (strcmp(line, "stats\n") == 0)
			stats(i);
	}
}

static int run(struct kube_config *config, struct kube_informer_conf *c, bool slim, bool quiet)
{
	struct kube_handler h = { .added = quiet ? NULL : on_added,
				  .updated = quiet ? NULL : on_updated,
				  .deleted = quiet ? NULL : on_deleted,
				  .synced = on_synced,
				  .trouble = on_trouble };
	struct kube_intern *t = kube_intern_new();
	uint64_t start = clock_mono_ns();
	char err[256];
	c->client = kube_client_new(config);
	c->codec = codec_of(c->kind, slim, t);
	h.ctx = &start;
	struct kube_informer *i = kube_informer_new(c);
	kube_informer_handle(i, &h);
	int r = kube_informer_start(i, err, sizeof(err));
	if (r < 0)
		fprintf(stderr, "kube-watcher: %s\n", err);
	else
		serve(i, slim);
	kube_informer_free(i);
	kube_client_free(c->client);
	kube_intern_free(t);
	return r < 0 ? 1 : 0;
}

int main(int argc, char **argv)
{
	struct kube_informer_conf c = { 0 };
	struct kube_config *config = NULL;
	const char *group = "";
	bool slim = false, quiet = false;
	char err[256];
	if (argc < 3)
		return 64;
	for (int a = 3; a < argc; a++) {
		if (strcmp(argv[a], "fast") == 0)
			c.times = fast_times;
		else if (strcmp(argv[a], "patient") == 0)
			c.times.list_ns = c.times.silence_ns = 60 * NS_PER_S;
		else if (strcmp(argv[a], "slim") == 0)
			slim = true;
		else if (strcmp(argv[a], "quiet") == 0)
			quiet = true;
		else
			group = argv[a];
	}
	c.kind = api_kind_find(group, argv[2]);
	if (c.kind == NULL || kube_config_load(argv[1], NULL, &config, err, sizeof(err)) < 0) {
		fprintf(stderr, "kube-watcher: %s\n", c.kind == NULL ? "unknown kind" : err);
		return 1;
	}
	return run(config, &c, slim, quiet);
}
