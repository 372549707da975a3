/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A client that measures the embedded API over TLS; driven by tests/bench/api, which starts the
 * server.
 *
 *	api-bench PID PORT TOKEN write CLIENTS SECONDS BYTES
 *	api-bench PID PORT TOKEN watch WATCHERS RATE SECONDS
 *	api-bench PID PORT TOKEN read LISTS WATCHES SECONDS
 *
 * PID is the server's, for its CPU time. Each prints one JSON object. Certificates are not checked:
 * nothing is secret here. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <gnutls/gnutls.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/mem.h"

enum { MAX_THREADS = 1024, BUFFER_BYTES = 1 << 16, LINE_BYTES = 1 << 16, OBJECTS = 100, PACED = 8 };

static uint16_t port;
static const char *token;
static gnutls_certificate_credentials_t credentials;
static clockid_t server_clock;
static _Atomic unsigned ready;
static _Atomic uint64_t until_ns;

static void fail(const char *what)
{
	fprintf(stderr, "api-bench: %s\n", what);
	exit(1);
}

/* ---- a connection ---- */

struct client {
	pthread_t thread;
	unsigned number;
	gnutls_session_t tls;
	int fd;
	char in[BUFFER_BYTES];
	size_t at, end;
	uint64_t *took; /* of each request or event */
	size_t n, cap;
	uint64_t bytes, seen; /* of bodies; version of the last event */
	uint64_t end_ns;      /* when it had its last answer */
};

static void note(struct client *c, uint64_t ns)
{
	if (c->n == c->cap) {
		c->cap = c->cap * 2 + 1024;
		c->took = xreallocarray(c->took, c->cap, sizeof(*c->took));
	}
	c->took[c->n++] = ns;
}

static void open_client(struct client *c)
{
	static const int on = 1;
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons(port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connect(c->fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		fail("cannot connect");
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	gnutls_init(&c->tls, GNUTLS_CLIENT);
	gnutls_set_default_priority(c->tls);
	gnutls_credentials_set(c->tls, GNUTLS_CRD_CERTIFICATE, credentials);
	gnutls_transport_set_int(c->tls, c->fd);
	if (gnutls_handshake(c->tls) < 0)
		fail("no TLS");
	c->at = c->end = 0;
}

static void close_client(struct client *c)
{
	gnutls_deinit(c->tls);
	close(c->fd);
}

static void send_request(struct client *c, const char *method, const char *path, const char *body)
{
	size_t n = strlen(body);
	CLEANUP(freep)
	char *text = xasprintf("%s %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n"
			       "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
			       method, path, token, n, body);
	for (size_t at = 0, all = strlen(text); at < all;) {
		ssize_t r = gnutls_record_send(c->tls, text + at, all - at);
		if (r < 0 && gnutls_error_is_fatal((int)r))
			fail("cannot send");
		at += r > 0 ? (size_t)r : 0;
	}
}

/* False at the end of the connection. */
static bool fill(struct client *c)
{
	ssize_t r;
	c->at = 0;
	do
		r = gnutls_record_recv(c->tls, c->in, sizeof(c->in));
	while (r < 0 && !gnutls_error_is_fatal((int)r));
	c->end = r > 0 ? (size_t)r : 0;
	return r > 0;
}

/* Without its end; false at the end of the connection. */
static bool read_line(struct client *c, char *line, size_t n)
{
	size_t used = 0;
	for (;;) {
		if (c->at == c->end && !fill(c))
			return false;
		char ch = c->in[c->at++];
		if (ch == '\n')
			break;
		if (ch != '\r' && used + 1 < n)
			line[used++] = ch;
	}
	line[used] = '\0';
	return true;
}

/* The status, and where the body's length stands: SIZE_MAX for chunks. */
static unsigned read_head(struct client *c, size_t *ret_length)
{
	char line[1024];
	unsigned status = 0;
	*ret_length = SIZE_MAX;
	if (!read_line(c, line, sizeof(line)) || strncmp(line, "HTTP/1.1 ", 9) != 0)
		fail("no reply");
	status = (unsigned)strtoul(line + 9, NULL, 10);
	while (read_line(c, line, sizeof(line)) && line[0] != '\0')
		if (strncasecmp(line, "content-length:", 15) == 0)
			*ret_length = strtoul(line + 15, NULL, 10);
	return status;
}

static void skip(struct client *c, size_t n)
{
	c->bytes += n;
	while (n > 0) {
		if (c->at == c->end && !fill(c))
			fail("a reply was cut off");
		size_t part = MIN(n, c->end - c->at);
		c->at += part;
		n -= part;
	}
}

static void skip_body(struct client *c, size_t length)
{
	char line[64];
	if (length != SIZE_MAX) {
		skip(c, length);
		return;
	}
	do {
		if (!read_line(c, line, sizeof(line)))
			fail("a reply was cut off");
		length = strtoul(line, NULL, 16);
		skip(c, length);
		read_line(c, line, sizeof(line));
	} while (length > 0);
}

static unsigned call(struct client *c, const char *method, const char *path, const char *body)
{
	size_t length;
	send_request(c, method, path, body);
	unsigned status = read_head(c, &length);
	skip_body(c, length);
	return status;
}

static void call_ok(struct client *c, const char *method, const char *path, const char *body)
{
	unsigned status = call(c, method, path, body);
	if (status != 200 && status != 201) {
		fprintf(stderr, "%s %s: %u\n", method, path, status);
		exit(1);
	}
}

/* ---- threads and figures ---- */

static void nap(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = (long)NS_PER_MS }, NULL);
}

static void await_start(void)
{
	atomic_fetch_add(&ready, 1);
	while (atomic_load(&until_ns) == 0)
		nap();
}

static uint64_t server_cpu_ns(void)
{
	struct timespec t;
	if (clock_gettime(server_clock, &t) < 0)
		fail("the server is gone");
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* When so many threads are ready, all go; the server's CPU time until then. */
static uint64_t go(unsigned n, unsigned seconds)
{
	while (atomic_load(&ready) < n)
		nap();
	uint64_t cpu = server_cpu_ns();
	atomic_store(&until_ns, clock_mono_ns() + seconds * NS_PER_S);
	return cpu;
}

static struct client *start(unsigned n, void *(*fn)(void *))
{
	struct client *c = xcalloc(MAX(n, 1U), sizeof(*c));
	for (unsigned i = 0; i < n; i++) {
		c[i].number = i;
		if (pthread_create(&c[i].thread, NULL, fn, &c[i]) != 0)
			fail("no thread");
	}
	return c;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

/* Joins them and prints the times of all together. */
static size_t finish(struct client *c, unsigned n, const char *name)
{
	struct client *all = xcalloc(1, sizeof(*all));
	for (unsigned i = 0; i < n; i++) {
		pthread_join(c[i].thread, NULL);
		for (size_t k = 0; k < c[i].n; k++)
			note(all, c[i].took[k]);
		free(c[i].took);
	}
	if (all->n > 0) {
		const double ms = (double)NS_PER_MS;
		size_t half = all->n / 2, most = all->n - 1 - all->n / 100;
		qsort(all->took, all->n, sizeof(*all->took), by_value);
		printf("\"%s\": {\"n\": %zu, \"median_ms\": %.3f, \"p99_ms\": %.3f, "
		       "\"max_ms\": %.3f}, ",
		       name, all->n, (double)all->took[half] / ms, (double)all->took[most] / ms,
		       (double)all->took[all->n - 1] / ms);
	}
	size_t count = all->n;
	free(all->took);
	free(all);
	return count;
}

/* ---- writes ---- */

static size_t body_bytes;

static char *config_map(const char *name, const char *more)
{
	char *filler = xmalloc(body_bytes + 1);
	memset(filler, 'x', body_bytes);
	filler[body_bytes] = '\0';
	char *text = xasprintf("{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{"
			       "\"name\":\"%s\"},\"data\":{\"text\":\"%s\"%s}}",
			       name, filler, more);
	free(filler);
	return text;
}

static const char collection[] = "/api/v1/namespaces/default/configmaps";

static void create(struct client *c, const char *where, const char *name)
{
	CLEANUP(freep) char *body = config_map(name, "");
	unsigned status = call(c, "POST", where, body);
	if (status != 201 && status != 409)
		fail("cannot create");
}

/* Each updates its own objects in turn. */
static void *write_load(void *arg)
{
	struct client *c = arg;
	char name[64], path[256], more[64];
	open_client(c);
	for (unsigned i = 0; i < OBJECTS; i++) {
		snprintf(name, sizeof(name), "bench-%u-%u", c->number, i);
		create(c, collection, name);
	}
	await_start();
	for (size_t i = 0; clock_mono_ns() < atomic_load(&until_ns); i++) {
		snprintf(name, sizeof(name), "bench-%u-%zu", c->number, i % OBJECTS);
		snprintf(path, sizeof(path), "%s/%s", collection, name);
		snprintf(more, sizeof(more), ",\"n\":\"%zu\"", i);
		CLEANUP(freep) char *body = config_map(name, more);
		uint64_t start = clock_mono_ns();
		call_ok(c, "PUT", path, body);
		note(c, clock_mono_ns() - start);
	}
	close_client(c);
	return NULL;
}

static void measure_writes(unsigned clients, unsigned seconds, unsigned bytes)
{
	body_bytes = bytes;
	struct client *c = start(clients, write_load);
	uint64_t cpu = go(clients, seconds);
	size_t n = finish(c, clients, "took");
	cpu = server_cpu_ns() - cpu;
	printf("\"per_s\": %.0f, \"cpu_us\": %.1f", (double)n / seconds,
	       n > 0 ? (double)cpu / 1e3 / (double)n : 0.0);
	free(c);
}

/* ---- watchers ---- */

static const char paced[] = "bench-paced";
static const char quiet[] = "/api/v1/namespaces/kube-system/configmaps"; /* has no others */
static unsigned rate;

/* Several, since each waits for its answers: all together at a steady pace. Each version of a
 * writer's object tells whose it is, its number and when it was sent. */
static void *write_paced(void *arg)
{
	struct client *c = arg;
	char path[256], name[64], more[128];
	snprintf(name, sizeof(name), "%s-%u", paced, c->number);
	snprintf(path, sizeof(path), "%s/%s", quiet, name);
	open_client(c);
	create(c, quiet, name);
	await_start();
	uint64_t every = PACED * NS_PER_S / rate;
	uint64_t next = clock_mono_ns() + c->number * every / PACED;
	for (uint64_t i = 1; next < atomic_load(&until_ns); i++, next += every) {
		uint64_t now = clock_mono_ns();
		if (now < next)
			nanosleep(&(struct timespec){ .tv_nsec = (long)(next - now) }, NULL);
		now = clock_mono_ns();
		snprintf(more, sizeof(more), ",\"w\":\"%u\",\"n\":\"%llu\",\"sent\":\"%llu\"",
			 c->number, (unsigned long long)i, (unsigned long long)now);
		CLEANUP(freep) char *body = config_map(name, more);
		call_ok(c, "PUT", path, body);
		note(c, clock_mono_ns() - now);
	}
	/* The last one, by which watchers know that it was all. */
	CLEANUP(freep) char *body = config_map(name, ",\"n\":\"0\"");
	call_ok(c, "PUT", path, body);
	c->end_ns = clock_mono_ns();
	close_client(c);
	return NULL;
}

static bool number_of(const char *line, const char *name, uint64_t *ret)
{
	const char *at = strstr(line, name);
	if (at == NULL)
		return false;
	*ret = strtoull(at + strlen(name), NULL, 10);
	return true;
}

/* One event: in order for its writer, and all in the order of versions. */
static void take_event(struct client *c, const char *line, uint64_t n, uint64_t last[PACED])
{
	uint64_t w = PACED, sent = 0, version = 0;
	if (!number_of(line, "\"resourceVersion\":\"", &version) || version <= c->seen ||
	    !number_of(line, "\"w\":\"", &w) || w >= PACED || n != last[w] + 1 ||
	    !number_of(line, "\"sent\":\"", &sent))
		fail("an event is missing or out of order");
	c->seen = version;
	last[w] = n;
	note(c, clock_mono_ns() - sent);
}

/* Lines of chunks: the lengths between them have no such fields. */
static void *watch_paced(void *arg)
{
	struct client *c = arg;
	char *line = xmalloc(LINE_BYTES), path[256];
	size_t length;
	uint64_t n = 0, last[PACED] = { 0 };
	unsigned over = 0;
	snprintf(path, sizeof(path), "%s?watch=1", quiet);
	open_client(c);
	send_request(c, "GET", path, "");
	if (read_head(c, &length) != 200)
		fail("cannot watch");
	/* The writers' objects are told of first. */
	await_start();
	while (over < PACED && read_line(c, line, LINE_BYTES)) {
		if (!number_of(line, "\"n\":\"", &n))
			continue;
		if (n == 0)
			over++;
		else
			take_event(c, line, n, last);
	}
	if (over < PACED)
		fail("a watch ended early");
	close_client(c);
	free(line);
	return NULL;
}

static void measure_watchers(unsigned watchers, unsigned per_s, unsigned seconds)
{
	body_bytes = 1024;
	rate = per_s;
	struct client *c = start(watchers, watch_paced), *w = start(PACED, write_paced);
	uint64_t cpu = go(watchers + PACED, seconds), begin = clock_mono_ns(), end = 0;
	size_t written = finish(w, PACED, "writes"), n = finish(c, watchers, "events");
	cpu = server_cpu_ns() - cpu;
	if (n != written * watchers)
		fail("events are missing");
	/* Writers that came late took longer than they should. */
	for (unsigned i = 0; i < PACED; i++)
		end = MAX(end, w[i].end_ns);
	double took_s = (double)(end - begin) / (double)NS_PER_S;
	printf("\"per_s\": %.1f, \"cpu_percent\": %.1f", (double)written / took_s,
	       (double)cpu / 1e7 / took_s);
	free(c);
	free(w);
}

/* ---- others' waiting ---- */

/* GETs of one object, one after the other. */
static void *get_load(void *arg)
{
	struct client *c = arg;
	char path[256];
	snprintf(path, sizeof(path), "%s/%s", quiet, paced);
	open_client(c);
	create(c, quiet, paced);
	await_start();
	while (clock_mono_ns() < atomic_load(&until_ns)) {
		uint64_t start = clock_mono_ns();
		call_ok(c, "GET", path, "");
		note(c, clock_mono_ns() - start);
	}
	close_client(c);
	return NULL;
}

/* Whole lists, one after the other. */
static void *list_load(void *arg)
{
	struct client *c = arg;
	open_client(c);
	await_start();
	while (clock_mono_ns() < atomic_load(&until_ns)) {
		uint64_t start = clock_mono_ns();
		call_ok(c, "GET", "/api/v1/configmaps", "");
		note(c, clock_mono_ns() - start);
	}
	close_client(c);
	return NULL;
}

/* Watches that ask for the state first, each until it is told. */
static void *state_load(void *arg)
{
	struct client *c = arg;
	char *line = xmalloc(LINE_BYTES);
	size_t length;
	await_start();
	while (clock_mono_ns() < atomic_load(&until_ns)) {
		uint64_t start = clock_mono_ns();
		open_client(c);
		send_request(c, "GET",
			     "/api/v1/configmaps?watch=1&sendInitialEvents=true&"
			     "allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan",
			     "");
		if (read_head(c, &length) != 200)
			fail("cannot watch");
		bool told = false;
		while (!told && read_line(c, line, LINE_BYTES))
			told = strstr(line, "initial-events-end") != NULL;
		if (!told)
			fail("a watch ended early");
		note(c, clock_mono_ns() - start);
		close_client(c);
	}
	free(line);
	return NULL;
}

static void measure_reads(unsigned lists, unsigned watches, unsigned seconds)
{
	body_bytes = 1024;
	struct client *g = start(1, get_load), *l = start(lists, list_load),
		      *w = start(watches, state_load);
	uint64_t cpu = go(1 + lists + watches, seconds);
	finish(g, 1, "gets");
	finish(l, lists, "lists");
	finish(w, watches, "states");
	printf("\"cpu_percent\": %.1f", (double)(server_cpu_ns() - cpu) / 1e7 / seconds);
	free(g);
	free(l);
	free(w);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(unsigned a, unsigned b, unsigned c);
	} modes[] = { { "write", measure_writes },
		      { "watch", measure_watchers },
		      { "read", measure_reads } };
	if (argc != 8 || clock_getcpuclockid((pid_t)strtol(argv[1], NULL, 10), &server_clock) != 0)
		fail("PID PORT TOKEN write|watch|read and three numbers are needed");
	port = (uint16_t)strtoul(argv[2], NULL, 10);
	token = argv[3];
	gnutls_certificate_allocate_credentials(&credentials);
	for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
		if (strcmp(modes[i].name, argv[4]) != 0)
			continue;
		printf("{");
		modes[i].run((unsigned)strtoul(argv[5], NULL, 10),
			     (unsigned)strtoul(argv[6], NULL, 10),
			     (unsigned)strtoul(argv[7], NULL, 10));
		printf("}\n");
		gnutls_certificate_free_credentials(credentials);
		return 0;
	}
	fail("no such mode");
}
