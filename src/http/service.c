/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests are read on the library's thread, handled on the pool's, answered on the library's
 * again. While a handler runs, its connection is suspended: no other thread uses it. */
#include "http/service.h"

#include <errno.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "http/mhd_priv.h"
#include "http/pool_priv.h"
#include "http/stream_priv.h"
#include "http/unframed_priv.h"

enum {
	SERVICE_THREADS = 16,
	SERVICE_CONNECTIONS = 1000,
	SERVICE_UNKNOWN = 500,
	SERVICE_IDLE_S = 90,
	SERVICE_STALL_S = 30,
	SERVICE_BODY_BYTES = 3 << 20,
	SERVICE_BODIES_BYTES = 128 << 20,
	/* Of a body that is too long, read and dropped: a client that is busy sending may lose a
	 * reply that comes with the end of its connection. */
	SERVICE_EXCESS_BYTES = 16 << 20,
	/* Request line and header, and what a stream writes at a time. */
	SERVICE_HEAD_MAX_BYTES = 32 * 1024,
};

struct http_service {
	struct http_service_conf conf;
	struct MHD_Daemon *daemon;
	uint16_t port;
	struct http_conns conns; /* those without a request may be cut */
	struct http_pool *pool;
	struct http_streams *streams;
	size_t bodies_bytes; /* of all exchanges; the library's thread's */

	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t idle;
	unsigned n_busy; /* requests whose reply is not sent yet */
	bool stopping;
};

/* What becomes of a request. */
enum fate {
	FATE_SERVED,
	FATE_UNKNOWN, /* served without its body: the client may not send any */
	FATE_TOO_LONG,
	FATE_BUSY,
};

/* A request under way, from its header to the end of its reply. Of the library's thread, but for
 * the time between http_pool_add and MHD_resume_connection. */
struct exchange {
	struct http_job job;
	struct http_service *service;
	struct MHD_Connection *mc;
	const char *path, *method;
	struct strbuf body;
	size_t body_bytes;   /* of it that count in the service's sum */
	size_t excess_bytes; /* dropped of it */
	enum fate fate;
	bool handed;
	bool has_body; /* of the reply: it follows the head at once */
	unsigned status;
	struct MHD_Response *response; /* the handler's, to be queued */
	struct http_stream *stream;
};

/* --- the handler's side --- */

static void add_clean(struct strbuf *out, const char *text)
{
	size_t clean = strcspn(text, "\r\n");
	strbuf_add(out, text, clean);
	for (text += clean; *text != '\0'; text++)
		strbuf_addc(out, *text == '\r' || *text == '\n' ? ' ' : *text);
	strbuf_addc(out, '\0');
}

void http_answer_header(struct http_answer *answer, const char *name, const char *value)
{
	if (answer->n_headers_ == HTTP_ANSWER_HEADERS_MAX)
		return;
	add_clean(&answer->headers_, name);
	add_clean(&answer->headers_, value);
	answer->n_headers_++;
}

static void add_headers(struct MHD_Response *resp, const struct http_answer *answer)
{
	const char *at = answer->headers_.s;
	if (answer->content_type != NULL)
		MHD_add_response_header(resp, MHD_HTTP_HEADER_CONTENT_TYPE, answer->content_type);
	for (unsigned i = 0; i < answer->n_headers_; i++) {
		const char *value = at + strlen(at) + 1;
		/* Refused only when it is no header field, which a handler would not write. */
		MHD_add_response_header(resp, at, value);
		at = value + strlen(value) + 1;
	}
}

static struct MHD_Response *text_response(struct strbuf *body)
{
	size_t n = body->n;
	return MHD_create_response_from_buffer_with_free_callback(n, strbuf_take(body), free);
}

static struct MHD_Response *make_response(struct exchange *exchange, struct http_answer *answer)
{
	struct MHD_Response *resp = NULL;
	if (answer->stream != NULL)
		resp = http_stream_response(exchange->stream, answer->stream, answer->stream_ctx,
					    &answer->body);
	/* The library would end even a reply without a body by a last chunk. */
	if (resp != NULL && http_method_of(exchange->method) == HTTP_HEAD) {
		MHD_destroy_response(resp);
		resp = text_response(&answer->body);
	}
	if (answer->stream == NULL)
		resp = text_response(&answer->body);
	if (resp != NULL)
		add_headers(resp, answer);
	return resp;
}

static bool sends_body(const struct exchange *exchange, const struct http_answer *answer)
{
	return answer->stream == NULL && answer->body.n > 0 &&
	       http_method_of(exchange->method) != HTTP_HEAD &&
	       answer->status != MHD_HTTP_NO_CONTENT && answer->status != MHD_HTTP_NOT_MODIFIED;
}

static void say_too_long(void *ctx, const struct http_request *req, struct http_answer *answer)
{
	(void)ctx;
	(void)req;
	answer->status = MHD_HTTP_CONTENT_TOO_LARGE;
	strbuf_adds(&answer->body, "the request's body is too long\n");
}

static void say_busy(void *ctx, const struct http_request *req, struct http_answer *answer)
{
	(void)ctx;
	(void)req;
	answer->status = MHD_HTTP_TOO_MANY_REQUESTS;
	http_answer_header(answer, MHD_HTTP_HEADER_RETRY_AFTER, "1");
	strbuf_adds(&answer->body, "too many requests\n");
}

static struct http_request request_of(const struct exchange *exchange)
{
	return (struct http_request){
		.method = http_method_of(exchange->method),
		.method_text = exchange->method,
		.path = exchange->path,
		.body = exchange->fate != FATE_SERVED ? (struct slice){ "", 0 }
						      : strbuf_slice(&exchange->body),
		.reserved_ = exchange->mc,
	};
}

/* On a thread of the pool. */
static void run_handler(struct http_job *job)
{
	struct exchange *x = CONTAINER_OF(job, struct exchange, job);
	const struct http_service_conf *c = &x->service->conf;
	const http_service_fn by_fate[] = { [FATE_SERVED] = c->handle,
					    [FATE_UNKNOWN] = c->handle,
					    [FATE_TOO_LONG] = c->too_long,
					    [FATE_BUSY] = c->busy };
	struct http_request req = request_of(x);
	struct http_answer a = { .status = MHD_HTTP_OK,
				 .content_type = http_plain_text,
				 .handle = x->stream };
	strbuf_init(&a.body);
	strbuf_init(&a.headers_);
	by_fate[x->fate](c->ctx, &req, &a);
	x->status = a.status;
	x->has_body = sends_body(x, &a);
	x->response = make_response(x, &a);
	strbuf_done(&a.body);
	strbuf_done(&a.headers_);
	strbuf_done(&x->body);
	/* From here on it is the library's thread's again. */
	MHD_resume_connection(x->mc);
}

/* --- the library's side --- */

static void set_timeout(struct MHD_Connection *mc, unsigned seconds)
{
	MHD_set_connection_option(mc, MHD_CONNECTION_OPTION_TIMEOUT, seconds);
}

static bool count_begin(struct http_service *service)
{
	pthread_mutex_lock(&service->lock);
	bool ok = !service->stopping;
	if (ok)
		service->n_busy++;
	pthread_mutex_unlock(&service->lock);
	return ok;
}

static void count_end(struct http_service *service)
{
	pthread_mutex_lock(&service->lock);
	if (--service->n_busy == 0)
		pthread_cond_signal(&service->idle);
	pthread_mutex_unlock(&service->lock);
}

static void drop_body(struct exchange *exchange)
{
	strbuf_done(&exchange->body);
	exchange->service->bodies_bytes -= exchange->body_bytes;
	exchange->body_bytes = 0;
}

static void on_completed(void *ctx, struct MHD_Connection *mc, void **slot,
			 enum MHD_RequestTerminationCode why)
{
	struct http_service *s = ctx;
	struct exchange *x = *slot;
	if (x == NULL)
		return;
	*slot = NULL;
	if (why == MHD_REQUEST_TERMINATED_COMPLETED_OK)
		set_timeout(mc, s->conf.idle_s);
	http_conns_rest(&s->conns, http_conn_of(mc));
	http_stream_free(x->stream);
	if (x->response != NULL)
		MHD_destroy_response(x->response);
	drop_body(x);
	free(x);
	count_end(s);
}

/* Gives the whole request to the pool. */
static enum MHD_Result hand_over(struct exchange *exchange)
{
	exchange->handed = true;
	http_conns_busy(&exchange->service->conns, http_conn_of(exchange->mc));
	exchange->stream = http_stream_new(exchange->service->streams, exchange->mc);
	MHD_suspend_connection(exchange->mc);
	if (http_pool_add(exchange->service->pool, &exchange->job))
		return MHD_YES;
	MHD_resume_connection(exchange->mc);
	return MHD_YES; /* comes back without a response, which ends it */
}

static enum MHD_Result send_response(struct exchange *exchange)
{
	struct http_conn *conn = http_conn_of(exchange->mc);
	if (exchange->response == NULL)
		return MHD_NO;
	if (exchange->has_body && conn != NULL)
		http_tls_send_hold(&conn->send);
	enum MHD_Result ok = MHD_queue_response(exchange->mc, exchange->status, exchange->response);
	MHD_destroy_response(TAKE_PTR(exchange->response));
	return ok;
}

/* Answered before the body is read: it is not wanted, and its announced length is far beyond what
 * is worth dropping, or the client asks before it sends. The library has checked the number itself.
 */
static bool answer_early(struct exchange *exchange)
{
	uint64_t length = UINT64_MAX, max = exchange->service->conf.max_body_bytes;
	const char *text = MHD_lookup_connection_value(exchange->mc, MHD_HEADER_KIND,
						       MHD_HTTP_HEADER_CONTENT_LENGTH);
	if (text != NULL && slice_u64(slice_of(text), &length) < 0)
		length = UINT64_MAX;
	if (exchange->fate == FATE_SERVED && (text == NULL || length <= max))
		return false;
	if (exchange->fate == FATE_SERVED)
		exchange->fate = FATE_TOO_LONG;
	return (text != NULL && length > max + SERVICE_EXCESS_BYTES) ||
	       MHD_lookup_connection_value(exchange->mc, MHD_HEADER_KIND, MHD_HTTP_HEADER_EXPECT) !=
		       NULL;
}

/* The client is authenticated before a byte of the body is read: unknown ones may be cut any time. */
static void set_fate(struct exchange *exchange)
{
	struct http_service *s = exchange->service;
	struct http_conn *conn = http_conn_of(exchange->mc);
	struct http_request req = request_of(exchange);
	if (s->conf.is_known != NULL && !s->conf.is_known(s->conf.ctx, &req))
		exchange->fate = FATE_UNKNOWN;
	else if (!http_conns_know(&s->conns, conn))
		exchange->fate = FATE_BUSY;
	else
		http_conns_busy(&s->conns, conn);
}

static enum MHD_Result begin_request(struct http_service *service, struct MHD_Connection *mc,
				     const char *path, const char *method, void **slot)
{
	enum MHD_Result answered;
	if (http_refuse_framing(&service->conns, mc, &answered))
		return answered;
	if (!count_begin(service))
		return MHD_NO;
	struct exchange *x = xcalloc(1, sizeof(*x));
	x->service = service;
	x->mc = mc;
	x->path = path;
	x->method = method;
	strbuf_init(&x->body);
	*slot = x;
	set_fate(x);
	set_timeout(mc, service->conf.stall_s);
	return answer_early(x) ? hand_over(x) : MHD_YES;
}

/* Is there room for more of the body? */
static void check_limits(struct exchange *exchange, size_t count)
{
	const struct http_service *s = exchange->service;
	if (count > s->conf.max_body_bytes - exchange->body.n)
		exchange->fate = FATE_TOO_LONG;
	else if (s->bodies_bytes + count > s->conf.max_bodies_bytes)
		exchange->fate = FATE_BUSY;
}

/* A part of the body. A reply can be sent only when the body has ended, so what is not wanted is
 * read and dropped for a while. */
static enum MHD_Result take_body(struct exchange *exchange, const char *data, size_t *count)
{
	if (exchange->fate == FATE_SERVED)
		check_limits(exchange, *count);
	if (exchange->fate == FATE_SERVED) {
		strbuf_add(&exchange->body, data, *count);
		exchange->body_bytes += *count;
		exchange->service->bodies_bytes += *count;
	} else {
		exchange->excess_bytes += *count;
		drop_body(exchange);
	}
	*count = 0;
	return exchange->excess_bytes <= SERVICE_EXCESS_BYTES ? MHD_YES : MHD_NO;
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *mc, const char *path,
				  const char *method, const char *version, const char *data,
				  size_t *count, void **slot)
{
	struct exchange *x = *slot;
	(void)version;
	if (x == NULL)
		return begin_request(ctx, mc, path, method, slot);
	if (x->handed)
		return send_response(x);
	if (*count > 0)
		return take_body(x, data, count);
	return hand_over(x);
}

/* As the library does it, but %00 stays as it is: a name may not end before its end. */
static size_t unescape_text(void *ctx, struct MHD_Connection *mc, char *text)
{
	char *out = text;
	(void)ctx;
	(void)mc;
	for (const char *in = text; *in != '\0'; in++) {
		int hi = in[0] == '%' ? ascii_hex_value(in[1]) : -1;
		int lo = hi >= 0 ? ascii_hex_value(in[2]) : -1;
		if (lo < 0 || (hi | lo) == 0) {
			*out++ = *in;
			continue;
		}
		*out++ = (char)(hi << 4 | lo);
		in += 2;
	}
	*out = '\0';
	return (size_t)(out - text);
}

/* --- start and stop --- */

static struct http_service *service_new(const struct http_service_conf *conf, uint16_t port)
{
	struct http_service *s = xcalloc(1, sizeof(*s));
	s->conf = *conf;
	s->conf.addr = NULL;
	s->port = port;
	if (conf->threads == 0)
		s->conf.threads = SERVICE_THREADS;
	if (conf->max_connections == 0)
		s->conf.max_connections = SERVICE_CONNECTIONS;
	if (conf->idle_s == 0)
		s->conf.idle_s = SERVICE_IDLE_S;
	if (conf->stall_s == 0)
		s->conf.stall_s = SERVICE_STALL_S;
	if (conf->max_body_bytes == 0)
		s->conf.max_body_bytes = SERVICE_BODY_BYTES;
	if (conf->max_bodies_bytes == 0)
		s->conf.max_bodies_bytes = SERVICE_BODIES_BYTES;
	if (conf->too_long == NULL)
		s->conf.too_long = say_too_long;
	if (conf->busy == NULL)
		s->conf.busy = say_busy;
	unsigned max_unknown = conf->max_unknown != 0 ? conf->max_unknown : SERVICE_UNKNOWN;
	http_conns_init(&s->conns, conf->tls, s->conf.max_connections,
			conf->is_known != NULL ? max_unknown : 0);
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->idle, NULL);
	s->pool = http_pool_new(s->conf.threads, run_handler);
	return s;
}

static void service_free(struct http_service *service)
{
	http_pool_free(service->pool);
	http_streams_free(service->streams);
	http_conns_done(&service->conns);
	pthread_mutex_destroy(&service->lock);
	pthread_cond_destroy(&service->idle);
	free(service);
}

int http_service_start(const struct http_service_conf *conf, struct http_service **ret)
{
	uint16_t port = 0;
	int fd = http_listen(conf->addr, false, &port);
	if (fd < 0)
		return fd;
	struct http_service *s = service_new(conf, port);
	s->streams = http_streams_new();
	if (s->streams == NULL) {
		close(fd);
	} else {
		s->daemon = http_daemon_start(&(struct http_daemon_conf){
			.fd = fd,
			.flags = MHD_ALLOW_SUSPEND_RESUME,
			.timeout_s = s->conf.idle_s,
			.head_max_bytes = SERVICE_HEAD_MAX_BYTES,
			.conns = &s->conns,
			.on_request = on_request,
			.on_completed = on_completed,
			.unescape = unescape_text,
			.ctx = s,
		});
	}
	if (s->daemon == NULL) {
		service_free(s);
		return -EAGAIN;
	}
	*ret = s;
	return 0;
}

uint16_t http_service_port(const struct http_service *service)
{
	return service->port;
}

/* No request begins any more; those under way get their time. */
static void drain_requests(struct http_service *service)
{
	pthread_mutex_lock(&service->lock);
	service->stopping = true;
	pthread_mutex_unlock(&service->lock);
	http_streams_end(service->streams);
	http_wait_idle(&service->lock, &service->idle, &service->n_busy);
}

void http_service_stop(struct http_service *service)
{
	if (service == NULL)
		return;
	int fd = MHD_quiesce_daemon(service->daemon);
	drain_requests(service);
	/* A handler cannot be broken off; and the library wants no connection suspended. */
	http_pool_free(TAKE_PTR(service->pool));
	http_daemon_stop(service->daemon, &service->conns);
	if (fd >= 0)
		close(fd);
	service_free(service);
}
