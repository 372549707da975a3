/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Routes and limits on top of libmicrohttpd, which reads requests and writes replies on a thread of
 * its own. Everything here but start, stop and port runs on that thread. */
#include "http/server.h"

#include <errno.h>
#include <microhttpd.h>
#include <pthread.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "http/mhd_priv.h"
#include "http/unframed_priv.h"
#include "net/addr.h"

/* Of a body that is too long, read before the connection is broken instead of answered. */
enum { EXCESS_MAX_BYTES = 256 * 1024 };

struct http_server {
	struct MHD_Daemon *daemon;
	struct http_route *routes;
	size_t n_routes;
	uint16_t port;
	struct http_conns conns; /* all of them may be cut */

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

static unsigned methods_of(const struct http_route *route)
{
	return route->methods != 0 ? route->methods : HTTP_GET | HTTP_HEAD;
}

static void on_completed(void *ctx, struct MHD_Connection *mc, void **slot,
			 enum MHD_RequestTerminationCode why)
{
	struct http_server *s = ctx;
	struct exchange *x = *slot;
	(void)why;
	if (x == NULL)
		return;
	http_conns_rest(&s->conns, http_conn_of(mc));
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

static void list_methods(const struct http_server *server, const char *path, struct strbuf *out)
{
	for (size_t i = 0; i < server->n_routes; i++) {
		const struct http_route *r = &server->routes[i];
		if (r->path != NULL && strcmp(r->path, path) != 0)
			continue;
		http_methods_str(methods_of(r), out);
	}
}

static enum MHD_Result send_refusal(struct MHD_Connection *mc, const struct exchange *exchange,
				    const char *path)
{
	CLEANUP(strbuf_done) struct strbuf allow = STRBUF_INIT;
	struct http_reply reply = { .status = exchange->refused, .content_type = http_plain_text };
	strbuf_init(&reply.body);
	/* Go's words for 404, which scripts may look for. */
	if (exchange->refused == MHD_HTTP_NOT_FOUND)
		strbuf_adds(&reply.body, "404 page not found\n");
	else
		strbuf_addf(&reply.body, "%s\n", MHD_get_reason_phrase_for(exchange->refused));
	if (exchange->refused == MHD_HTTP_METHOD_NOT_ALLOWED)
		list_methods(exchange->server, path, &allow);
	return send_reply(mc, &reply, allow.n > 0 ? allow.s : NULL);
}

static enum MHD_Result handle_request(struct MHD_Connection *mc, struct exchange *exchange,
				      const char *path, const char *method)
{
	struct http_request req = {
		.method = http_method_of(method),
		.method_text = method,
		.path = path,
		.body = strbuf_slice(&exchange->body),
		.reserved_ = mc,
	};
	struct http_reply reply = { .status = MHD_HTTP_OK, .content_type = http_plain_text };
	strbuf_init(&reply.body);
	exchange->route->handle(exchange->route->ctx, &req, &reply);
	return send_reply(mc, &reply, NULL);
}

/* Finds the route; without one `refused` has the reason. */
static void route_request(struct exchange *exchange, const char *path, const char *method)
{
	const struct http_server *s = exchange->server;
	exchange->refused = MHD_HTTP_NOT_FOUND;
	for (size_t i = 0; i < s->n_routes; i++) {
		const struct http_route *r = &s->routes[i];
		if (r->path != NULL && strcmp(r->path, path) != 0)
			continue;
		if ((methods_of(r) & http_method_of(method)) != 0) {
			exchange->route = r;
			return;
		}
		exchange->refused = MHD_HTTP_METHOD_NOT_ALLOWED;
	}
}

static enum MHD_Result begin_request(struct http_server *server, struct MHD_Connection *mc,
				     const char *path, const char *method, void **slot)
{
	enum MHD_Result answered;
	if (http_refuse_framing(&server->conns, mc, &answered))
		return answered;
	struct exchange *x = xcalloc(1, sizeof(*x));
	uint64_t length;
	x->server = server;
	strbuf_init(&x->body);
	*slot = x;
	pthread_mutex_lock(&server->lock);
	server->n_busy++;
	pthread_mutex_unlock(&server->lock);
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
	return x->route != NULL ? MHD_YES : send_refusal(mc, x, path);
}

/* A part of the body. A reply can be sent only when the body has ended, so what is too much is read
 * and dropped for a while. */
static enum MHD_Result take_body(struct exchange *exchange, const char *data, size_t *count)
{
	if (exchange->route != NULL &&
	    *count <= exchange->route->max_body_bytes - exchange->body.n) {
		strbuf_add(&exchange->body, data, *count);
	} else {
		exchange->route = NULL;
		exchange->refused = MHD_HTTP_CONTENT_TOO_LARGE;
		exchange->excess_bytes += *count;
	}
	*count = 0;
	return exchange->excess_bytes <= EXCESS_MAX_BYTES ? MHD_YES : MHD_NO;
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *mc, const char *path,
				  const char *method, const char *version, const char *data,
				  size_t *count, void **slot)
{
	struct exchange *x = *slot;
	(void)version;
	if (x == NULL)
		return begin_request(ctx, mc, path, method, slot);
	if (*count > 0)
		return take_body(x, data, count);
	return x->route != NULL ? handle_request(mc, x, path, method) : send_refusal(mc, x, path);
}

static struct MHD_Daemon *start_daemon(struct http_server *server, int fd)
{
	return http_daemon_start(&(struct http_daemon_conf){
		.fd = fd,
		.timeout_s = HTTP_TIMEOUT_S,
		.head_max_bytes = HTTP_HEAD_MAX_BYTES,
		.conns = &server->conns,
		.on_request = on_request,
		.on_completed = on_completed,
		.ctx = server,
	});
}

static void server_free(struct http_server *server)
{
	http_conns_done(&server->conns);
	pthread_mutex_destroy(&server->lock);
	pthread_cond_destroy(&server->idle);
	free(server->routes);
	free(server);
}

int http_server_address(struct slice text, union net_addr *ret)
{
	CLEANUP(strbuf_done) struct strbuf whole = STRBUF_INIT;
	strbuf_add(&whole, text.p, text.n);
	if (slice_ends(text, SLICE(":")))
		strbuf_addc(&whole, '0');
	return net_addr_parse(strbuf_slice(&whole), ret);
}

int http_server_start_tls(const char *addr, struct http_tls *tls, const struct http_route *routes,
			  size_t count, struct http_server **ret)
{
	uint16_t port = 0;
	int fd = http_listen(addr, true, &port);
	if (fd < 0)
		return fd;
	struct http_server *s = xcalloc(1, sizeof(*s));
	s->routes = xmemdup(routes, count * sizeof(*routes));
	s->n_routes = count;
	s->port = port;
	http_conns_init(&s->conns, tls, HTTP_MAX_CONNECTIONS, 0);
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

int http_server_start(const char *addr, const struct http_route *routes, size_t count,
		      struct http_server **ret)
{
	return http_server_start_tls(addr, NULL, routes, count, ret);
}

void http_server_stop(struct http_server *server)
{
	if (server == NULL)
		return;
	int fd = MHD_quiesce_daemon(server->daemon);
	http_wait_idle(&server->lock, &server->idle, &server->n_busy);
	http_daemon_stop(server->daemon, &server->conns);
	if (fd >= 0)
		close(fd);
	server_free(server);
}

uint16_t http_server_port(const struct http_server *server)
{
	return server->port;
}
