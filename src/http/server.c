/* Routes and limits on top of libmicrohttpd, which reads requests and writes replies on a thread of
 * its own. Everything here but start, stop and port runs on that thread. */
#include "http/server.h"

#include <errno.h>
#include <microhttpd.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "http/tlscert_priv.h"
#include "net/addr.h"

enum {
	/* Connections that were cut need a turn of the thread to go. */
	SPARE_CONNECTIONS = 32,
	/* Of a body that is too long, read before the connection is broken instead of answered. */
	EXCESS_MAX_BYTES = 256 * 1024,
};

/* A connection, in a list by the time since which it has asked nothing. */
struct conn {
	struct conn *prev, *next;
	int fd;
	struct http_tls_pair *pair; /* HTTPS */
};

struct http_server {
	struct MHD_Daemon *daemon;
	struct http_route *routes;
	size_t n_routes;
	uint16_t port;
	struct http_tls *tls; /* NULL: plain HTTP */
	struct conn waiting;  /* head of the ring: next is the one that has waited longest */
	unsigned n_waiting;

	pthread_mutex_t lock; /* guards n_busy */
	pthread_cond_t idle;
	unsigned n_busy; /* requests whose reply is not sent yet */
};

/* A request under way, from its header to the end of its reply. */
struct exchange {
	struct http_server *server;
	const struct http_route *route; /* NULL: refused with `refused` */
	unsigned refused;
	struct strbuf body;
	size_t excess_bytes;
};

static const struct {
	const char *text;
	enum http_method method;
} methods[] = {
	{ "GET", HTTP_GET }, { "HEAD", HTTP_HEAD },   { "POST", HTTP_POST },
	{ "PUT", HTTP_PUT }, { "PATCH", HTTP_PATCH }, { "DELETE", HTTP_DELETE },
};

static char tls_priorities[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2";
static const char plain_text[] = "text/plain; charset=utf-8";

static enum http_method method_of(const char *text)
{
	for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
		if (strcmp(methods[i].text, text) == 0)
			return methods[i].method;
	}
	return HTTP_OTHER;
}

static unsigned methods_of(const struct http_route *r)
{
	return r->methods != 0 ? r->methods : HTTP_GET | HTTP_HEAD;
}

const char *http_request_header(const struct http_request *req, const char *name)
{
	return MHD_lookup_connection_value(req->reserved_, MHD_HEADER_KIND, name);
}

const char *http_request_arg(const struct http_request *req, const char *name)
{
	const char *value = NULL;
	enum MHD_Result found = MHD_lookup_connection_value_n(req->reserved_, MHD_GET_ARGUMENT_KIND,
							      name, strlen(name), &value, NULL);
	return found == MHD_YES && value == NULL ? "" : value;
}

/* A connection that was cut is in no list: its pointers are NULL. */
static void unlink_conn(struct http_server *s, struct conn *c)
{
	c->prev->next = c->next;
	c->next->prev = c->prev;
	c->prev = c->next = NULL;
	s->n_waiting--;
}

static void append_conn(struct http_server *s, struct conn *c)
{
	c->next = &s->waiting;
	c->prev = s->waiting.prev;
	c->prev->next = c;
	s->waiting.prev = c;
	s->n_waiting++;
}

static void on_connection(void *ctx, struct MHD_Connection *mc, void **slot,
			  enum MHD_ConnectionNotificationCode what)
{
	struct http_server *s = ctx;
	struct conn *c = *slot;
	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		if (c != NULL && c->next != NULL)
			unlink_conn(s, c);
		if (c != NULL)
			http_tls_pair_unref(c->pair);
		free(c);
		*slot = NULL;
		return;
	}
	if (s->n_waiting >= HTTP_MAX_CONNECTIONS) {
		struct conn *oldest = s->waiting.next;
		unlink_conn(s, oldest);
		shutdown(oldest->fd, SHUT_RDWR);
	}
	c = xcalloc(1, sizeof(*c));
	c->fd = MHD_get_connection_info(mc, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
	if (s->tls != NULL)
		c->pair = http_tls_attach(
			s->tls, MHD_get_connection_info(mc, MHD_CONNECTION_INFO_GNUTLS_SESSION)
					->tls_session);
	append_conn(s, c);
	*slot = c;
}

static void on_completed(void *ctx, struct MHD_Connection *mc, void **slot,
			 enum MHD_RequestTerminationCode why)
{
	struct http_server *s = ctx;
	struct exchange *x = *slot;
	(void)why;
	if (x == NULL)
		return;
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(mc, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct conn *c = info != NULL ? info->socket_context : NULL;
	if (c != NULL && c->next != NULL) {
		unlink_conn(s, c);
		append_conn(s, c);
	}
	strbuf_done(&x->body);
	free(x);
	*slot = NULL;
	pthread_mutex_lock(&s->lock);
	if (--s->n_busy == 0)
		pthread_cond_signal(&s->idle);
	pthread_mutex_unlock(&s->lock);
}

static enum MHD_Result send_reply(struct MHD_Connection *mc, struct http_reply *reply,
				  const char *allow)
{
	size_t n = reply->body.n;
	struct MHD_Response *resp = MHD_create_response_from_buffer_with_free_callback(
		n, strbuf_take(&reply->body), free);
	if (resp == NULL)
		return MHD_NO;
	enum MHD_Result ok =
		MHD_add_response_header(resp, MHD_HTTP_HEADER_CONTENT_TYPE, reply->content_type);
	if (ok == MHD_YES && allow != NULL)
		ok = MHD_add_response_header(resp, MHD_HTTP_HEADER_ALLOW, allow);
	if (ok == MHD_YES)
		ok = MHD_queue_response(mc, reply->status, resp);
	MHD_destroy_response(resp);
	return ok;
}

static void list_methods(const struct http_server *s, const char *path, struct strbuf *out)
{
	for (size_t i = 0; i < s->n_routes; i++) {
		const struct http_route *r = &s->routes[i];
		if (r->path != NULL && strcmp(r->path, path) != 0)
			continue;
		for (size_t m = 0; m < ARRAY_LEN(methods); m++) {
			if ((methods_of(r) & methods[m].method) != 0)
				strbuf_addf(out, "%s%s", out->n > 0 ? ", " : "", methods[m].text);
		}
	}
}

static enum MHD_Result refuse(struct MHD_Connection *mc, const struct exchange *x, const char *path)
{
	CLEANUP(strbuf_done) struct strbuf allow = STRBUF_INIT;
	struct http_reply reply = { .status = x->refused, .content_type = plain_text };
	strbuf_init(&reply.body);
	/* Go's words for 404, which scripts may look for. */
	if (x->refused == MHD_HTTP_NOT_FOUND)
		strbuf_adds(&reply.body, "404 page not found\n");
	else
		strbuf_addf(&reply.body, "%s\n", MHD_get_reason_phrase_for(x->refused));
	if (x->refused == MHD_HTTP_METHOD_NOT_ALLOWED)
		list_methods(x->server, path, &allow);
	return send_reply(mc, &reply, allow.n > 0 ? allow.s : NULL);
}

static enum MHD_Result handle(struct MHD_Connection *mc, struct exchange *x, const char *path,
			      const char *method)
{
	struct http_request req = {
		.method = method_of(method),
		.method_text = method,
		.path = path,
		.body = strbuf_slice(&x->body),
		.reserved_ = mc,
	};
	struct http_reply reply = { .status = MHD_HTTP_OK, .content_type = plain_text };
	strbuf_init(&reply.body);
	x->route->handle(x->route->ctx, &req, &reply);
	return send_reply(mc, &reply, NULL);
}

/* Finds the route; without one `refused` says why. */
static void route_request(struct exchange *x, const char *path, const char *method)
{
	const struct http_server *s = x->server;
	x->refused = MHD_HTTP_NOT_FOUND;
	for (size_t i = 0; i < s->n_routes; i++) {
		const struct http_route *r = &s->routes[i];
		if (r->path != NULL && strcmp(r->path, path) != 0)
			continue;
		if ((methods_of(r) & method_of(method)) != 0) {
			x->route = r;
			return;
		}
		x->refused = MHD_HTTP_METHOD_NOT_ALLOWED;
	}
}

static enum MHD_Result begin(struct http_server *s, struct MHD_Connection *mc, const char *path,
			     const char *method, void **slot)
{
	struct exchange *x = xcalloc(1, sizeof(*x));
	uint64_t length;
	x->server = s;
	strbuf_init(&x->body);
	*slot = x;
	pthread_mutex_lock(&s->lock);
	s->n_busy++;
	pthread_mutex_unlock(&s->lock);
	route_request(x, path, method);
	/* A length announced beyond the limit is refused before the body is read; the library
	 * checked the number itself. */
	const char *text =
		MHD_lookup_connection_value(mc, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
	if (x->route != NULL && text != NULL &&
	    (slice_u64(slice_of(text), &length) < 0 || length > x->route->max_body_bytes)) {
		x->route = NULL;
		x->refused = MHD_HTTP_CONTENT_TOO_LARGE;
	}
	return x->route != NULL ? MHD_YES : refuse(mc, x, path);
}

/* A part of the body. A reply can be sent only when the body has ended, so what is too much is read
 * and dropped for a while. */
static enum MHD_Result take_body(struct exchange *x, const char *data, size_t *n)
{
	if (x->route != NULL && *n <= x->route->max_body_bytes - x->body.n) {
		strbuf_add(&x->body, data, *n);
	} else {
		x->route = NULL;
		x->refused = MHD_HTTP_CONTENT_TOO_LARGE;
		x->excess_bytes += *n;
	}
	*n = 0;
	return x->excess_bytes <= EXCESS_MAX_BYTES ? MHD_YES : MHD_NO;
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *mc, const char *path,
				  const char *method, const char *version, const char *data,
				  size_t *n, void **slot)
{
	struct exchange *x = *slot;
	(void)version;
	if (x == NULL)
		return begin(ctx, mc, path, method, slot);
	if (*n > 0)
		return take_body(x, data, n);
	return x->route != NULL ? handle(mc, x, path, method) : refuse(mc, x, path);
}

static int open_socket(const union net_addr *a)
{
	static const int on = 1, off = 0;
	int fd = socket(a->family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) < 0 ||
	    (a->family == AF_INET6 &&
	     setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) < 0) ||
	    bind(fd, &a->sa, net_addr_len(a)) < 0 || listen(fd, SOMAXCONN) < 0) {
		int r = -errno;
		close(fd);
		return r;
	}
	return fd;
}

static bool is_unspecified(const union net_addr *a)
{
	size_t n;
	const uint8_t *bytes = net_addr_bytes(a, &n);
	while (n > 0 && bytes[n - 1] == 0)
		n--;
	return n == 0;
}

/* The listening socket; all addresses are one IPv6 socket that takes IPv4 too. */
static int listen_on(const char *addr, uint16_t *ret_port)
{
	union net_addr a;
	int r = net_addr_parse(slice_of(addr), &a);
	if (r < 0)
		return r;
	if (!is_unspecified(&a)) {
		r = open_socket(&a);
	} else {
		union net_addr any = { .v6.sin6_family = AF_INET6 };
		net_addr_set_port(&any, net_addr_port(&a));
		r = open_socket(&any);
		if (r == -EAFNOSUPPORT || r == -EADDRNOTAVAIL) {
			any = (union net_addr){ .v4.sin_family = AF_INET };
			net_addr_set_port(&any, net_addr_port(&a));
			r = open_socket(&any);
		}
	}
	if (r < 0)
		return r;
	socklen_t n = sizeof(a);
	if (getsockname(r, &a.sa, &n) < 0) {
		int err = -errno;
		close(r);
		return err;
	}
	*ret_port = net_addr_port(&a);
	return r;
}

static struct MHD_OptionItem https_text(enum MHD_OPTION o, const char *text)
{
	return (struct MHD_OptionItem){ o, 0, (void *)(uintptr_t)text };
}

static struct MHD_Daemon *start_daemon(struct http_server *s, int fd)
{
	unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_EPOLL | MHD_USE_ITC;
	size_t stack = HTTP_THREAD_STACK_BYTES;
	struct MHD_OptionItem tls[] = { { MHD_OPTION_END, 0, NULL },
					{ MHD_OPTION_END, 0, NULL },
					{ MHD_OPTION_HTTPS_PRIORITIES, 0, tls_priorities },
					{ MHD_OPTION_END, 0, NULL } };
	sigset_t all, old;
	if (s->tls != NULL) {
		flags |= MHD_USE_TLS;
		stack = HTTP_TLS_STACK_BYTES;
		/* The library wants a pair of its own; sessions get the current one. */
		tls[0] = https_text(MHD_OPTION_HTTPS_MEM_CERT, http_tls_first_cert(s->tls));
		tls[1] = https_text(MHD_OPTION_HTTPS_MEM_KEY, http_tls_first_key(s->tls));
	}
	sigfillset(&all);
	/* Signals belong to the main thread; the new thread inherits the mask. */
	pthread_sigmask(SIG_SETMASK, &all, &old);
	struct MHD_Daemon *d = MHD_start_daemon(
		flags, 0, NULL, NULL, on_request, s, MHD_OPTION_LISTEN_SOCKET, fd,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned)(HTTP_MAX_CONNECTIONS + SPARE_CONNECTIONS),
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)HTTP_TIMEOUT_S,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HTTP_HEAD_MAX_BYTES,
		MHD_OPTION_THREAD_STACK_SIZE, stack, MHD_OPTION_ARRAY, tls,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, s, MHD_OPTION_NOTIFY_COMPLETED,
		on_completed, s, MHD_OPTION_END);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return d;
}

static void server_free(struct http_server *s)
{
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->idle);
	free(s->routes);
	free(s);
}

int http_server_start_tls(const char *addr, struct http_tls *tls, const struct http_route *routes,
			  size_t n, struct http_server **ret)
{
	uint16_t port = 0;
	int fd = listen_on(addr, &port);
	if (fd < 0)
		return fd;
	struct http_server *s = xcalloc(1, sizeof(*s));
	s->routes = xmemdup(routes, n * sizeof(*routes));
	s->n_routes = n;
	s->port = port;
	s->tls = tls;
	s->waiting.prev = s->waiting.next = &s->waiting;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->idle, NULL);
	s->daemon = start_daemon(s, fd);
	if (s->daemon == NULL) {
		/* The library has closed the socket. */
		server_free(s);
		return -EAGAIN;
	}
	*ret = s;
	return 0;
}

int http_server_start(const char *addr, const struct http_route *routes, size_t n,
		      struct http_server **ret)
{
	return http_server_start_tls(addr, NULL, routes, n, ret);
}

static void drain(struct http_server *s)
{
	uint64_t until_ns = clock_mono_ns() + HTTP_DRAIN_MS * NS_PER_MS;
	struct timespec until = { .tv_sec = (time_t)(until_ns / NS_PER_S),
				  .tv_nsec = (long)(until_ns % NS_PER_S) };
	pthread_mutex_lock(&s->lock);
	while (s->n_busy > 0) {
		if (pthread_cond_clockwait(&s->idle, &s->lock, CLOCK_MONOTONIC, &until) != 0)
			break;
	}
	pthread_mutex_unlock(&s->lock);
}

void http_server_stop(struct http_server *s)
{
	if (s == NULL)
		return;
	int fd = MHD_quiesce_daemon(s->daemon);
	drain(s);
	MHD_stop_daemon(s->daemon);
	if (fd >= 0)
		close(fd);
	server_free(s);
}

uint16_t http_server_port(const struct http_server *s)
{
	return s->port;
}
