/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The scripted server: a thread that accepts, one per connection; all end when the stop pipe is
 * closed. */
#include "testing/fake_api.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "net/tls.h"

struct answer {
	struct strbuf bytes;
	struct fakeapi_reply how;
};

struct line { /* one connection */
	struct fakeapi *f;
	pthread_t thread;
	int fd;
	struct net_tls *tls;
};

struct fakeapi {
	int listener, stop[2];
	uint16_t port;
	char url[64];
	struct net_tls_cred *cred;
	pthread_t thread;
	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t came;
	void (*choose)(void *ctx, const char *request, struct fakeapi_reply *ret); /* or NULL */
	void *choose_ctx;
	VEC(struct answer) script;
	size_t next;
	VEC(char *) requests;
	VEC(struct line *) lines;
};

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "fakeapi: %s: %s\n", what, strerror(errno));
	abort();
}

/* ---- bytes ---- */

/* Waits until the descriptor is ready; false when the server is being stopped. */
static bool ready(const struct line *l, short events)
{
	struct pollfd p[2] = { { .fd = l->fd, .events = events },
			       { .fd = l->f->stop[0], .events = POLLIN } };
	for (;;) {
		int n = poll(p, 2, -1);
		if (n < 0 && errno == EINTR)
			continue;
		return n > 0 && p[1].revents == 0;
	}
}

static ssize_t get_once(struct line *l, char *buf, size_t n)
{
	if (l->tls != NULL)
		return net_tls_recv(l->tls, buf, n);
	ssize_t k = recv(l->fd, buf, n, 0);
	return k < 0 ? -errno : k;
}

static ssize_t put_once(struct line *l, const char *p, size_t n)
{
	if (l->tls != NULL)
		return net_tls_send(l->tls, p, n);
	ssize_t k = send(l->fd, p, n, MSG_NOSIGNAL);
	return k < 0 ? -errno : k;
}

static ssize_t get(struct line *l, char *buf, size_t n)
{
	ssize_t k;
	while ((k = get_once(l, buf, n)) == -EAGAIN)
		if (!ready(l, l->tls != NULL && net_tls_wants_write(l->tls) ? POLLOUT : POLLIN))
			return 0;
	return k;
}

static bool put(struct line *l, const char *p, size_t n)
{
	while (n > 0) {
		ssize_t k = put_once(l, p, n);
		if (k == -EAGAIN) {
			if (!ready(l, POLLOUT))
				return false;
			continue;
		}
		if (k <= 0)
			return false;
		p += k;
		n -= (size_t)k;
	}
	return true;
}

static bool shake(struct line *l)
{
	static const char *const alpn[] = { "http/1.1", NULL };
	int r;
	if (l->f->cred == NULL)
		return true;
	if (net_tls_accept(l->f->cred, l->fd, alpn, &l->tls) < 0)
		return false;
	while ((r = net_tls_handshake(l->tls)) == -EAGAIN)
		if (!ready(l, net_tls_wants_write(l->tls) ? POLLOUT : POLLIN))
			return false;
	return r == 0;
}

/* ---- one request ---- */

/* Of the request whose head ends at `body`; false while it has not come. */
static bool find_end(const char *head, const char *body, size_t *ret_n)
{
	const char *length = strcasestr(head, "\r\ncontent-length:");
	const char *chunked = strcasestr(head, "\r\ntransfer-encoding: chunked");
	*ret_n = (size_t)(body - head);
	if (chunked != NULL && chunked < body) {
		const char *last = strstr(body - 2, "\r\n0\r\n\r\n");
		*ret_n = last != NULL ? (size_t)(last + 7 - head) : 0;
		return last != NULL;
	}
	if (length != NULL && length < body)
		*ret_n += strtoul(length + 17, NULL, 10);
	return true;
}

/* One whole request into `in`, which may hold the begin of the next one, too. Its length; 0: gone.
 */
static size_t read_request(struct line *l, struct strbuf *in)
{
	char buf[8192];
	for (;;) {
		const char *end = in->n != 0 ? strstr(in->s, "\r\n\r\n") : NULL;
		if (end != NULL) {
			size_t want;
			if (find_end(in->s, end + 4, &want) && in->n >= want)
				return want;
		}
		ssize_t n = get(l, buf, sizeof(buf));
		if (n <= 0)
			return 0;
		strbuf_add(in, buf, (size_t)n);
	}
}

static struct answer make_answer(const struct fakeapi_reply *reply)
{
	struct answer a = { .bytes = STRBUF_INIT, .how = *reply };
	const char *body = reply->body != NULL ? reply->body : "{}";
	size_t n = reply->body_n != 0 ? reply->body_n : strlen(body);
	unsigned times = reply->repeat != 0 ? reply->repeat : 1;
	if (reply->raw != NULL) {
		strbuf_adds(&a.bytes, reply->raw);
	} else {
		strbuf_addf(&a.bytes, "HTTP/1.1 %d Text\r\n%sContent-Length: %zu\r\n\r\n",
			    reply->status != 0 ? reply->status : 200,
			    reply->headers != NULL ? reply->headers : "", n * times);
		for (unsigned i = 0; i < times; i++)
			strbuf_add(&a.bytes, body, n);
	}
	a.how.headers = a.how.body = a.how.raw = NULL; /* the caller's */
	return a;
}

static struct answer take_answer(struct fakeapi *f, const struct strbuf *in, size_t n)
{
	struct answer a = { .bytes = STRBUF_INIT };
	pthread_mutex_lock(&f->lock);
	vec_push(&f->requests, xstrndup(in->s, n));
	pthread_cond_broadcast(&f->came);
	if (f->choose != NULL) {
		struct fakeapi_reply reply = { 0 };
		f->choose(f->choose_ctx, f->requests.v[f->requests.n - 1], &reply);
		strbuf_done(&a.bytes);
		a = make_answer(&reply);
	} else if (f->next < f->script.n) {
		a.how = f->script.v[f->next].how;
		strbuf_add_slice(&a.bytes, strbuf_slice(&f->script.v[f->next].bytes));
		f->next++;
	} else {
		strbuf_adds(&a.bytes, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
				      "Content-Length: 2\r\n\r\n{}");
	}
	pthread_mutex_unlock(&f->lock);
	return a;
}

static void hang(struct line *l)
{
	char buf[256];
	while (get(l, buf, sizeof(buf)) > 0)
		;
}

/* May the connection go on? */
static bool give(struct line *l, const struct answer *a)
{
	size_t n = a->how.cut_at != 0 ? MIN(a->how.cut_at, a->bytes.n) : a->bytes.n;
	if (a->how.hang_first) {
		hang(l);
		return false;
	}
	if (!put(l, a->bytes.s, n))
		return false;
	if (a->how.hang)
		hang(l);
	if (a->how.reset) {
		struct linger now = { .l_onoff = 1, .l_linger = 0 };
		setsockopt(l->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	}
	return !a->how.hang && !a->how.reset && !a->how.close && a->how.cut_at == 0;
}

static void *serve(void *ctx)
{
	struct line *l = ctx;
	struct strbuf in = STRBUF_INIT;
	bool on = shake(l);
	while (on) {
		size_t n = read_request(l, &in);
		if (n == 0)
			break;
		struct answer a = take_answer(l->f, &in, n);
		on = give(l, &a);
		strbuf_done(&a.bytes);
		memmove(in.s, in.s + n, in.n - n);
		in.n -= n;
		in.s[in.n] = '\0';
	}
	strbuf_done(&in);
	net_tls_free(l->tls);
	close(l->fd);
	return NULL;
}

static void *accept_all(void *ctx)
{
	struct fakeapi *f = ctx;
	struct pollfd p[2] = { { .fd = f->listener, .events = POLLIN },
			       { .fd = f->stop[0], .events = POLLIN } };
	for (;;) {
		if (poll(p, 2, -1) < 0 || p[1].revents != 0)
			return NULL;
		int fd = accept4(f->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0)
			continue;
		struct line *l = xcalloc(1, sizeof(*l));
		l->f = f;
		l->fd = fd;
		/* Counted before it can answer. */
		pthread_mutex_lock(&f->lock);
		vec_push(&f->lines, l);
		must(pthread_create(&l->thread, NULL, serve, l) == 0, "thread");
		pthread_mutex_unlock(&f->lock);
	}
}

/* ---- public ---- */

struct fakeapi *fakeapi_new(const struct fakeapi_tls *tls)
{
	struct fakeapi *f = xcalloc(1, sizeof(*f));
	struct sockaddr_in a = { .sin_family = AF_INET };
	socklen_t n = sizeof(a);
	char err[256];
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (tls != NULL &&
	    net_tls_server_cred(
		    &(struct net_tls_files){ .cert = tls->cert,
					     .key = tls->key,
					     .ca = tls->client_ca,
					     .auth = tls->client_ca != NULL
							     ? NET_TLS_REQUIRE_AND_VERIFY
							     : NET_TLS_NOCERT },
		    &f->cred, ERR_TEXT(err)) < 0) {
		fprintf(stderr, "fakeapi: %s\n", err);
		abort();
	}
	must(pipe2(f->stop, O_CLOEXEC) == 0, "pipe");
	f->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	must(bind(f->listener, (struct sockaddr *)&a, sizeof(a)) == 0, "bind");
	must(listen(f->listener, 64) == 0, "listen");
	must(getsockname(f->listener, (struct sockaddr *)&a, &n) == 0, "getsockname");
	f->port = ntohs(a.sin_port);
	snprintf(f->url, sizeof(f->url), "%s://127.0.0.1:%u", tls != NULL ? "https" : "http",
		 f->port);
	pthread_mutex_init(&f->lock, NULL);
	pthread_cond_init(&f->came, NULL);
	must(pthread_create(&f->thread, NULL, accept_all, f) == 0, "thread");
	return f;
}

void fakeapi_free(struct fakeapi *f)
{
	close(f->stop[1]);
	pthread_join(f->thread, NULL);
	for (size_t i = 0; i < f->lines.n; i++) {
		pthread_join(f->lines.v[i]->thread, NULL);
		free(f->lines.v[i]);
	}
	for (size_t i = 0; i < f->script.n; i++)
		strbuf_done(&f->script.v[i].bytes);
	for (size_t i = 0; i < f->requests.n; i++)
		free(f->requests.v[i]);
	vec_done(&f->lines);
	vec_done(&f->script);
	vec_done(&f->requests);
	close(f->listener);
	close(f->stop[0]);
	net_tls_cred_unref(f->cred);
	pthread_cond_destroy(&f->came);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

uint16_t fakeapi_port(const struct fakeapi *f)
{
	return f->port;
}

const char *fakeapi_url(const struct fakeapi *f)
{
	return f->url;
}

void fakeapi_push(struct fakeapi *f, const struct fakeapi_reply *r)
{
	struct answer a = make_answer(r);
	pthread_mutex_lock(&f->lock);
	vec_push(&f->script, a);
	pthread_mutex_unlock(&f->lock);
}

void fakeapi_set_chooser(struct fakeapi *f,
			 void (*choose)(void *ctx, const char *request, struct fakeapi_reply *ret),
			 void *ctx)
{
	f->choose = choose;
	f->choose_ctx = ctx;
}

size_t fakeapi_requests(struct fakeapi *f)
{
	pthread_mutex_lock(&f->lock);
	size_t n = f->requests.n;
	pthread_mutex_unlock(&f->lock);
	return n;
}

size_t fakeapi_connections(struct fakeapi *f)
{
	pthread_mutex_lock(&f->lock);
	size_t n = f->lines.n;
	pthread_mutex_unlock(&f->lock);
	return n;
}

const char *fakeapi_request(struct fakeapi *f, size_t i)
{
	pthread_mutex_lock(&f->lock);
	while (f->requests.n <= i)
		pthread_cond_wait(&f->came, &f->lock);
	const char *s = f->requests.v[i];
	pthread_mutex_unlock(&f->lock);
	return s;
}
