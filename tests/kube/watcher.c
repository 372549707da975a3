/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An informer for tests: prints what its handlers hear as lines of JSON and answers commands on
 * standard input.
 *
 * usage: kube-watcher KUBECONFIG KIND [OPTION...]
 *
 *   fast   times of seconds instead of minutes
 *   patient  as fast, but a silent list is waited for
 *   compact   the trimmed decoders (Service, EndpointSlice, Pod) instead of whole trees
 *   quiet  no line per event
 *   group=, ns=, labels=  what to watch
 *   token-ms=, files-ms=  how often files of credentials are looked at
 *
 * Commands: dump (all objects), stats, quit. Each is answered by one line. */
#include <arpa/inet.h>
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
#include "base/err_text.h"
#include "kube/client/client.h"
#include "kube/client/config.h"
#include "kube/client/config_test.h"
#include "kube/informer/informer.h"
#include "kube/decode/compact.h"
#include "kube/decode/tree.h"
#include "kube/informer/store_test.h"

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

static void on_error(void *ctx, const char *text)
{
	(void)ctx;
	say(json_pack("{ss ss}", "event", "error", "text", text));
}

/* ---- what it holds ---- */

static json_t *ip_text(const struct kube_ip *ip)
{
	char text[INET6_ADDRSTRLEN];
	bool v4 = kube_ip_is4(ip);
	return json_string(
		inet_ntop(v4 ? AF_INET : AF_INET6, ip->b + (v4 ? 12 : 0), text, sizeof(text)));
}

static json_t *port_numbers(const struct kube_port *p, uint32_t n)
{
	json_t *a = json_array();
	for (uint32_t i = 0; i < n; i++)
		json_array_append_new(a, json_integer(p[i].port));
	return a;
}

static json_t *tree_value(const struct kube_obj *o)
{
	return json_incref(api_tree(kube_tree_of(o)));
}

static json_t *service_value(const struct kube_obj *o)
{
	const struct kube_service *s = kube_service_of(o);
	json_t *ips = json_array();
	for (uint32_t i = 0; i < s->n_ips; i++)
		json_array_append_new(ips, ip_text(&s->ips[i]));
	return json_pack("[s o o]", o->rv, ips, port_numbers(s->ports, s->n_ports));
}

static json_t *slice_value(const struct kube_obj *o)
{
	const struct kube_slice *s = kube_slice_of(o);
	json_t *ips = json_array();
	for (uint32_t i = 0; i < s->n_endpoints; i++)
		json_array_append_new(ips, ip_text(&s->endpoints[i].ip));
	return json_pack("[s s o o]", o->rv, s->service, ips, port_numbers(s->ports, s->n_ports));
}

static json_t *pod_value(const struct kube_obj *o)
{
	const struct kube_pod *p = kube_pod_of(o);
	json_t *ips = json_array(), *labels = json_object();
	for (uint32_t i = 0; i < p->n_ips; i++)
		json_array_append_new(ips, ip_text(&p->ips[i]));
	for (uint32_t i = 0; i < p->n_labels; i++)
		json_object_set_new(labels, p->labels[i].key, json_string(p->labels[i].value));
	return json_pack("[s o o]", o->rv, ips, labels);
}

typedef json_t *(*value_fn)(const struct kube_obj *o);

struct dump {
	json_t *objects;
	value_fn value;
};

static bool dump_one(void *ctx, struct kube_obj *o)
{
	struct dump *d = ctx;
	json_t *key = key_of(o);
	json_object_set_new(d->objects, json_string_value(key), d->value(o));
	json_decref(key);
	return true;
}

static void dump(struct kube_informer *i, value_fn value)
{
	struct dump d = { .objects = json_object(), .value = value };
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

/* ---- options ---- */

struct options {
	struct kube_informer_conf informer;
	struct kube_config_times files;
	const char *group;
	value_fn value;
	bool compact, quiet;
};

static void choose_codec(struct options *o, struct kube_string_pool *t)
{
	const struct api_kind *k = o->informer.kind;
	if (!o->compact) {
		o->informer.codec = kube_tree_codec(k, NULL, 0);
		o->value = tree_value;
	} else if (strcmp(k->kind, "Service") == 0) {
		o->informer.codec = kube_service_codec(t);
		o->value = service_value;
	} else if (strcmp(k->kind, "EndpointSlice") == 0) {
		o->informer.codec = kube_slice_codec(t, 0);
		o->value = slice_value;
	} else {
		o->informer.codec = kube_pod_codec(t);
		o->value = pod_value;
	}
}

static const struct kube_times fast_times = {
	.watch_min_ns = 3 * NS_PER_S,
	.watch_max_ns = 4 * NS_PER_S,
	.watch_grace_ns = NS_PER_S,
	.silence_ns = 2 * NS_PER_S,
	.list_ns = 4 * NS_PER_S,
	.short_ns = 200 * NS_PER_MS,
	.backoff_min_ns = 50 * NS_PER_MS,
	.backoff_max_ns = 400 * NS_PER_MS,
	.page = 20,
};

static uint64_t ms(const char *text)
{
	return strtoull(text, NULL, 10) * NS_PER_MS;
}

static bool word(struct options *o, const char *arg)
{
	struct kube_times *t = &o->informer.times;
	if (strcmp(arg, "fast") == 0)
		*t = fast_times;
	else if (strcmp(arg, "patient") == 0)
		t->list_ns = t->silence_ns = 60 * NS_PER_S;
	else if (strcmp(arg, "compact") == 0)
		o->compact = true;
	else if (strcmp(arg, "quiet") == 0)
		o->quiet = true;
	else
		return false;
	return true;
}

static bool setting(struct options *o, const char *arg)
{
	const char *value = strchr(arg, '=');
	if (value == NULL)
		return false;
	value++;
	if (strncmp(arg, "group=", 6) == 0)
		o->group = value;
	else if (strncmp(arg, "ns=", 3) == 0)
		o->informer.ns = value;
	else if (strncmp(arg, "labels=", 7) == 0)
		o->informer.labels = value;
	else if (strncmp(arg, "token-ms=", 9) == 0)
		o->files.token_ns = ms(value);
	else if (strncmp(arg, "files-ms=", 9) == 0)
		o->files.files_ns = ms(value);
	else
		return false;
	return true;
}

/* ---- */

static void serve(struct kube_informer *i, value_fn value)
{
	char line[64];
	while (fgets(line, sizeof(line), stdin) != NULL && strcmp(line, "quit\n") != 0) {
		if (strcmp(line, "dump\n") == 0)
			dump(i, value);
		else if (strcmp(line, "stats\n") == 0)
			stats(i);
	}
}

static int run(struct kube_config *config, struct options *o)
{
	struct kube_handler h = { .added = o->quiet ? NULL : on_added,
				  .updated = o->quiet ? NULL : on_updated,
				  .deleted = o->quiet ? NULL : on_deleted,
				  .synced = on_synced,
				  .on_error = on_error };
	struct kube_string_pool *t = kube_string_pool_new();
	uint64_t start = clock_mono_ns();
	char err[256];
	kube_config_set_times(config, &o->files);
	o->informer.client = kube_client_new(config);
	choose_codec(o, t);
	h.ctx = &start;
	struct kube_informer *i = kube_informer_new(&o->informer);
	kube_informer_handle(i, &h);
	int r = kube_informer_start(i, ERR_TEXT(err));
	if (r < 0)
		fprintf(stderr, "kube-watcher: %s\n", err);
	else
		serve(i, o->value);
	kube_informer_free(i);
	kube_client_free(o->informer.client);
	kube_string_pool_free(t);
	return r < 0 ? 1 : 0;
}

int main(int argc, char **argv)
{
	struct options o = { .group = "" };
	struct kube_config *config = NULL;
	char err[256];
	if (argc < 3)
		return 64;
	for (int a = 3; a < argc; a++)
		if (!word(&o, argv[a]) && !setting(&o, argv[a]))
			return 64;
	o.informer.kind = api_kind_find(o.group, argv[2]);
	if (o.informer.kind == NULL ||
	    kube_config_load(argv[1], NULL, &config, ERR_TEXT(err)) < 0) {
		fprintf(stderr, "kube-watcher: %s\n",
			o.informer.kind == NULL ? "unknown kind" : err);
		return 1;
	}
	return run(config, &o);
}
