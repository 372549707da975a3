/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What tests/bench/kube-sync measures with.
 *
 *   kube-sync-bench informers KUBECONFIG stream|list   both kinds at once; a line of JSON when they
 *	are synced, and one more for each line on standard input ("relist": after the next list)
 *   kube-sync-bench receive URL CA TOKEN stream|list|whole   bare libcurl receives the same bytes,
 *by the same requests or by a LIST in one piece kube-sync-bench event
 *CPU of one event of a 33 KB EndpointSlice
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <curl/curl.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "base/err_text.h"
#include "kube/client/config.h"
#include "kube/informer/informer_priv.h"
#include "kube/decode/compact.h"
#include "kube/informer/store_test.h"

static double cpu_s(clockid_t which)
{
	struct timespec t;
	clock_gettime(which, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static long status_kb(const char *field)
{
	char line[256];
	long kb = 0;
	FILE *f = fopen("/proc/self/status", "re");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		if (strncmp(line, field, strlen(field)) == 0)
			kb = strtol(line + strlen(field) + 1, NULL, 10);
	}
	if (f != NULL)
		fclose(f);
	return kb;
}

/* ---- informers ---- */

static void by_service(const struct kube_obj *o, kube_index_emit emit, void *ctx)
{
	emit(ctx, slice_of(kube_slice_of(o)->service));
}

static void by_ip(const struct kube_obj *o, kube_index_emit emit, void *ctx)
{
	const struct kube_slice *s = kube_slice_of(o);
	for (uint32_t i = 0; i < s->n_endpoints; i++)
		emit(ctx, (struct slice){ (const char *)s->endpoints[i].ip.b, 16 });
}

static bool count_endpoints(void *ctx, struct kube_obj *o)
{
	*(size_t *)ctx += kube_slice_of(o)->n_endpoints;
	return true;
}

static void print(struct kube_informer *const i[2], uint64_t start)
{
	struct kube_informer_stats s[2];
	size_t endpoints = 0;
	for (int k = 0; k < 2; k++)
		kube_informer_stats(i[k], &s[k]);
	kube_store_each(kube_informer_store(i[1]), count_endpoints, &endpoints);
	printf("{\"seconds\":%.4f,\"cpu\":%.4f,\"services\":%zu,\"slices\":%zu,\"endpoints\":%zu,"
	       "\"lists\":%llu,"
	       "\"bad\":%llu,\"rss_kb\":%ld,\"anon_kb\":%ld,\"peak_kb\":%ld}\n",
	       (double)(clock_mono_ns() - start) / 1e9, cpu_s(CLOCK_PROCESS_CPUTIME_ID),
	       kube_store_count(kube_informer_store(i[0])),
	       kube_store_count(kube_informer_store(i[1])), endpoints,
	       (unsigned long long)s[0].lists + s[1].lists, (unsigned long long)s[0].bad + s[1].bad,
	       status_kb("VmRSS"), status_kb("RssAnon"), status_kb("VmHWM"));
	fflush(stdout);
}

static void wait_lists(struct kube_informer *const i[2], uint64_t n)
{
	for (int k = 0; k < 2; k++) {
		struct kube_informer_stats s = { 0 };
		while (s.lists < n) {
			nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
			kube_informer_stats(i[k], &s);
		}
	}
}

static int informers(const char *kubeconfig, bool stream)
{
	static const kube_index_fn indexes[] = { by_service, by_ip };
	struct kube_config *config = NULL;
	struct kube_string_pool *t = kube_string_pool_new();
	struct kube_server_memory memory = { .no_stream_until_ns = stream ? 0 : UINT64_MAX };
	char err[256], line[32];
	if (kube_config_load(kubeconfig, NULL, &config, ERR_TEXT(err)) < 0) {
		fprintf(stderr, "%s\n", err);
		return 1;
	}
	struct kube_client *client = kube_client_new(config);
	uint64_t start = clock_mono_ns(), lists = 1;
	struct kube_informer *i[2] = {
		kube_informer_new(
			&(struct kube_informer_conf){ .client = client,
						      .kind = api_kind_find("", "Service"),
						      .codec = kube_service_codec(t),
						      .memory = &memory }),
		kube_informer_new(&(struct kube_informer_conf){
			.client = client,
			.kind = api_kind_find("discovery.k8s.io", "EndpointSlice"),
			.codec = kube_slice_codec(t, 0),
			.indexes = indexes,
			.n_indexes = ARRAY_LEN(indexes),
			.memory = &memory }),
	};
	for (int k = 0; k < 2; k++) {
		if (kube_informer_start(i[k], ERR_TEXT(err)) < 0)
			return 1;
	}
	for (int k = 0; k < 2; k++) {
		if (!kube_informer_wait(i[k], 120 * NS_PER_S))
			return 1;
	}
	print(i, start);
	while (fgets(line, sizeof(line), stdin) != NULL) {
		if (strcmp(line, "relist\n") == 0)
			wait_lists(i, ++lists);
		print(i, start);
	}
	for (int k = 0; k < 2; k++)
		kube_informer_free(i[k]);
	kube_client_free(client);
	kube_string_pool_free(t);
	return 0;
}

/* ---- bare libcurl ---- */

enum { PAGE = 10000 }; /* as informers ask: kube/informer/plan.h */

enum method { STREAM, WHOLE, PAGES };

static const char *const methods[] = { "stream", "whole", "list" };

struct receive {
	const char *url, *ca, *token, *path;
	enum method method;
	bool done;
	size_t bytes;
	char tail[64];
	size_t tail_n;
	char head[1024]; /* of a page: the list's metadata comes first */
	size_t head_n;
};

static size_t on_stream(struct receive *r, const char *p, size_t n)
{
	static const char end[] = "k8s.io/initial-events-end";
	char seam[128];
	/* The end may lie across two pieces. */
	size_t head = MIN(n, sizeof(r->tail));
	memcpy(seam, r->tail, r->tail_n);
	memcpy(seam + r->tail_n, p, head);
	r->done = memmem(seam, r->tail_n + head, end, sizeof(end) - 1) != NULL ||
		  memmem(p, n, end, sizeof(end) - 1) != NULL;
	r->tail_n = MIN(n, sizeof(r->tail) / 2);
	memcpy(r->tail, p + n - r->tail_n, r->tail_n);
	return r->done ? 0 : n;
}

static size_t on_bytes(char *p, size_t size, size_t n, void *ctx)
{
	struct receive *r = ctx;
	n *= size;
	r->bytes += n;
	if (r->method == STREAM)
		return on_stream(r, p, n);
	size_t more = MIN(n, sizeof(r->head) - 1 - r->head_n);
	memcpy(r->head + r->head_n, p, more);
	r->head_n += more;
	return n;
}

/* The token of the page that follows; "" behind the last one. */
static struct slice next_page(struct receive *r)
{
	r->head[r->head_n] = '\0';
	const char *at = strstr(r->head, "\"continue\":\"");
	if (at == NULL)
		return (struct slice){ "", 0 };
	at += strlen("\"continue\":\"");
	return (struct slice){ at, strcspn(at, "\"") };
}

static void add_query(struct strbuf *url, struct receive *r)
{
	if (r->method == STREAM)
		strbuf_adds(url, "?watch=true&allowWatchBookmarks=true&timeoutSeconds=300&"
				 "sendInitialEvents=true"
				 "&resourceVersionMatch=NotOlderThan&resourceVersion=");
	if (r->method != PAGES)
		return;
	strbuf_addf(url, "?limit=%d", PAGE);
	struct slice next = next_page(r);
	if (next.n != 0)
		strbuf_addf(url, "&continue=%.*s", (int)next.n, next.p);
}

static bool receive_page(CURL *c, struct receive *r)
{
	struct strbuf url = STRBUF_INIT;
	strbuf_addf(&url, "%s%s", r->url, r->path);
	add_query(&url, r);
	r->head_n = 0;
	curl_easy_setopt(c, CURLOPT_URL, url.s);
	CURLcode code = curl_easy_perform(c);
	strbuf_done(&url);
	if (code != CURLE_OK && !r->done)
		fprintf(stderr, "%s: %s\n", r->path, curl_easy_strerror(code));
	return code == CURLE_OK;
}

static void *receive_one(void *arg)
{
	struct receive *r = arg;
	struct strbuf auth = STRBUF_INIT;
	CURL *c = curl_easy_init();
	strbuf_addf(&auth, "Authorization: Bearer %s", r->token);
	struct curl_slist *headers = curl_slist_append(NULL, auth.s);
	headers = curl_slist_append(headers, "Accept: application/json");
	curl_easy_setopt(c, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(c, CURLOPT_USERAGENT, "fairlead/bench");
	curl_easy_setopt(c, CURLOPT_CAINFO, r->ca);
	curl_easy_setopt(c, CURLOPT_CAPATH, NULL);
	curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_bytes);
	curl_easy_setopt(c, CURLOPT_WRITEDATA, r);
	if (r->method != STREAM)
		curl_easy_setopt(c, CURLOPT_ACCEPT_ENCODING, "gzip");
	while (receive_page(c, r) && r->method == PAGES && next_page(r).n != 0)
		;
	curl_slist_free_all(headers);
	curl_easy_cleanup(c);
	strbuf_done(&auth);
	return NULL;
}

static int receive(char **argv)
{
	struct receive r[2];
	pthread_t t[2];
	unsigned method = 0;
	while (method < ARRAY_LEN(methods) && strcmp(argv[3], methods[method]) != 0)
		method++;
	curl_global_init(CURL_GLOBAL_ALL);
	uint64_t start = clock_mono_ns();
	for (int k = 0; k < 2; k++) {
		r[k] = (struct receive){
			.url = argv[0],
			.ca = argv[1],
			.token = argv[2],
			.method = method,
			.path = k == 0 ? "/api/v1/services"
				       : "/apis/discovery.k8s.io/v1/endpointslices"
		};
		if (pthread_create(&t[k], NULL, receive_one, &r[k]) != 0)
			return 1;
	}
	for (int k = 0; k < 2; k++)
		pthread_join(t[k], NULL);
	printf("{\"seconds\":%.4f,\"cpu\":%.4f,\"bytes\":%zu,\"rss_kb\":%ld}\n",
	       (double)(clock_mono_ns() - start) / 1e9, cpu_s(CLOCK_PROCESS_CPUTIME_ID),
	       r[0].bytes + r[1].bytes, status_kb("VmRSS"));
	return 0;
}

/* ---- one event ---- */

enum { EVENTS = 2000, BATCH = 50 };

static void slice_frame(struct strbuf *b, unsigned rv)
{
	strbuf_addf(b,
		    "{\"type\":\"MODIFIED\",\"object\":{\"kind\":\"EndpointSlice\",\"apiVersion\":"
		    "\"discovery.k8s.io/v1\","
		    "\"metadata\":{\"name\":\"big-abcde\",\"namespace\":\"default\","
		    "\"resourceVersion\":\"%u\","
		    "\"labels\":{\"kubernetes.io/"
		    "service-name\":\"big\"}},\"addressType\":\"IPv4\",\"endpoints\":[",
		    rv);
	for (unsigned e = 0; e < 100; e++)
		strbuf_addf(b,
			    "%s{\"addresses\":[\"10.1.%u.%u\"],\"conditions\":{\"ready\":true,"
			    "\"serving\":true,"
			    "\"terminating\":false},\"targetRef\":{\"kind\":\"Pod\",\"namespace\":"
			    "\"default\","
			    "\"name\":\"backend-7f6d9c5b8d-%05u\",\"uid\":\"0f8fad5b-d9cb-469f-"
			    "a165-70867728950e\"},\"hostname\":\"backend-%05u\","
			    "\"nodeName\":\"ip-10-0-%u-%u.eu-central-1.compute.internal\",\"zone\":"
			    "\"eu-central-1%c\"}",
			    e != 0 ? "," : "", rv % 200, e, e, e, e % 3, e % 20,
			    (int)('a' + e % 3));
	strbuf_adds(b, "],\"ports\":[{\"name\":\"http\",\"port\":8080,\"protocol\":\"TCP\"}]}}\n");
}

struct feed {
	struct strbuf *frames;
	size_t n;
	double us, best_us;
	bool fed, cancelled;
	pthread_mutex_t lock;
	pthread_cond_t cond;
};

static int feed_stream(void *ctx, const struct kube_stream *s, struct kube_status *reterr)
{
	struct feed *f = ctx;
	(void)reterr;
	struct slice end = SLICE("{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{"
				 "\"resourceVersion\":\"1\",\"annotations\":"
				 "{\"k8s.io/initial-events-end\":\"true\"}}}}\n");
	int r = s->data(s->ctx, end);
	/* A neighbour on the same core makes CPU time longer: the best batch is the truest. */
	double start = cpu_s(CLOCK_THREAD_CPUTIME_ID), batch = start;
	for (size_t i = 0; i < f->n && r == 0; i++) {
		if (i % BATCH == 0) {
			double now = cpu_s(CLOCK_THREAD_CPUTIME_ID);
			if (i != 0 && (f->best_us == 0 || now - batch < f->best_us * BATCH / 1e6))
				f->best_us = (now - batch) * 1e6 / BATCH;
			batch = now;
		}
		/* As TLS records bring them. */
		for (size_t at = 0; at < f->frames[i].n && r == 0; at += 16384)
			r = s->data(s->ctx, (struct slice){ f->frames[i].s + at,
							    MIN(16384, f->frames[i].n - at) });
	}
	f->us = (cpu_s(CLOCK_THREAD_CPUTIME_ID) - start) * 1e6 / (double)f->n;
	pthread_mutex_lock(&f->lock);
	f->fed = true;
	pthread_cond_broadcast(&f->cond);
	while (!f->cancelled)
		pthread_cond_wait(&f->cond, &f->lock);
	pthread_mutex_unlock(&f->lock);
	return -ECANCELED;
}

static void feed_cancel(void *ctx)
{
	struct feed *f = ctx;
	pthread_mutex_lock(&f->lock);
	f->cancelled = true;
	pthread_cond_broadcast(&f->cond);
	pthread_mutex_unlock(&f->lock);
}

static void feed_free(void *ctx)
{
	(void)ctx;
}

static int feed_open(void *ctx, struct kube_transport *ret, struct err_text err)
{
	(void)err;
	*ret = (struct kube_transport){
		.stream = feed_stream, .cancel = feed_cancel, .free = feed_free, .ctx = ctx
	};
	return 0;
}

static int event(void)
{
	static const kube_index_fn indexes[] = { by_service, by_ip };
	static struct strbuf frames[EVENTS];
	struct feed f = { .frames = frames, .n = EVENTS };
	struct kube_string_pool *t = kube_string_pool_new();
	char err[64];
	for (unsigned i = 0; i < EVENTS; i++) {
		strbuf_init(&frames[i]);
		slice_frame(&frames[i], i + 2);
	}
	pthread_mutex_init(&f.lock, NULL);
	pthread_cond_init(&f.cond, NULL);
	struct kube_informer *i = kube_informer_new_on(
		&(struct kube_informer_conf){
			.kind = api_kind_find("discovery.k8s.io", "EndpointSlice"),
			.codec = kube_slice_codec(t, KUBE_SLICE_ZONES | KUBE_SLICE_TARGETS),
			.indexes = indexes,
			.n_indexes = ARRAY_LEN(indexes) },
		feed_open, &f);
	if (kube_informer_start(i, ERR_TEXT(err)) < 0)
		return 1;
	pthread_mutex_lock(&f.lock);
	while (!f.fed)
		pthread_cond_wait(&f.cond, &f.lock);
	pthread_mutex_unlock(&f.lock);
	struct kube_informer_stats s;
	kube_informer_stats(i, &s);
	printf("{\"bytes\":%zu,\"us\":%.1f,\"best_us\":%.1f,\"updated\":%llu}\n", frames[0].n, f.us,
	       f.best_us, (unsigned long long)s.updated);
	kube_informer_free(i);
	kube_string_pool_free(t);
	for (unsigned k = 0; k < EVENTS; k++)
		strbuf_done(&frames[k]);
	return s.updated == EVENTS - 1 ? 0 : 1;
}

int main(int argc, char **argv)
{
	if (argc == 4 && strcmp(argv[1], "informers") == 0)
		return informers(argv[2], strcmp(argv[3], "stream") == 0);
	if (argc == 6 && strcmp(argv[1], "receive") == 0)
		return receive(argv + 2);
	if (argc == 2 && strcmp(argv[1], "event") == 0)
		return event();
	fprintf(stderr, "usage: kube-sync-bench informers KUBECONFIG METHOD | receive URL CA TOKEN "
			"METHOD | event\n");
	return 64;
}
