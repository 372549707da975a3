/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What both servers on libmicrohttpd need: the listening socket, the library's thread, and the
 * lists of connections, of which the longest-idle is cut when there are too many. */
#include "http/mhd_priv.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "http/server.h"
#include "http/tlscert_priv.h"
#include "http/unframed_priv.h"
#include "net/addr.h"
#include "http/service.h"

static const struct {
	const char *text;
	enum http_method method;
} methods[] = {
	{ "GET", HTTP_GET }, { "HEAD", HTTP_HEAD },   { "POST", HTTP_POST },
	{ "PUT", HTTP_PUT }, { "PATCH", HTTP_PATCH }, { "DELETE", HTTP_DELETE },
};

static char tls_priorities[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2";
const char http_plain_text[] = "text/plain; charset=utf-8";

enum http_method http_method_of(const char *text)
{
	for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
		if (strcmp(methods[i].text, text) == 0)
			return methods[i].method;
	}
	return HTTP_OTHER;
}

void http_methods_str(unsigned set, struct strbuf *out)
{
	for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
		if ((set & methods[i].method) != 0)
			strbuf_addf(out, "%s%s", out->n > 0 ? ", " : "", methods[i].text);
	}
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

struct arg_list {
	struct http_arg *args;
	size_t n, max;
};

static enum MHD_Result add_arg(void *ctx, enum MHD_ValueKind kind, const char *name,
			       const char *value)
{
	struct arg_list *l = ctx;
	(void)kind;
	if (l->n < l->max)
		l->args[l->n] = (struct http_arg){ name, value != NULL ? value : "" };
	l->n++;
	return MHD_YES;
}

size_t http_request_args(const struct http_request *req, struct http_arg *args, size_t count)
{
	struct arg_list l = { .args = args, .max = count };
	MHD_get_connection_values(req->reserved_, MHD_GET_ARGUMENT_KIND, add_arg, &l);
	return l.n;
}

static int open_socket(const union net_addr *addr, bool shared)
{
	static const int on = 1, off = 0;
	int fd = socket(addr->family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    (shared && setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) < 0) ||
	    (addr->family == AF_INET6 &&
	     setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) < 0) ||
	    bind(fd, &addr->sa, net_addr_len(addr)) < 0 || listen(fd, SOMAXCONN) < 0) {
		int r = -errno;
		close(fd);
		return r;
	}
	return fd;
}

static bool is_unspecified(const union net_addr *addr)
{
	size_t n;
	const uint8_t *bytes = net_addr_bytes(addr, &n);
	while (n > 0 && bytes[n - 1] == 0)
		n--;
	return n == 0;
}

/* A socket for programs of the same user: its directory or its mode keeps others out. What a killed
 * program left there is removed: the caller knows that no other one listens. */
static int open_unix_socket(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t n = strlen(path);
	if (n >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, n);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	/* The mode of the descriptor becomes that of the file. */
	if (fchmod(fd, 0600) < 0 || (unlink(path) < 0 && errno != ENOENT) ||
	    bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(fd, SOMAXCONN) < 0) {
		int r = -errno;
		close(fd);
		return r;
	}
	return fd;
}

int http_listen(const char *addr, bool shared, uint16_t *ret_port)
{
	union net_addr a;
	if (strncmp(addr, HTTP_UNIX_PREFIX, strlen(HTTP_UNIX_PREFIX)) == 0) {
		*ret_port = 0;
		return open_unix_socket(addr + strlen(HTTP_UNIX_PREFIX));
	}
	int r = http_server_address(slice_of(addr), &a);
	if (r < 0)
		return r;
	if (!is_unspecified(&a)) {
		r = open_socket(&a, shared);
	} else {
		union net_addr any = { .v6.sin6_family = AF_INET6 };
		net_addr_set_port(&any, net_addr_port(&a));
		r = open_socket(&any, shared);
		if (r == -EAFNOSUPPORT || r == -EADDRNOTAVAIL) {
			any = (union net_addr){ .v4.sin_family = AF_INET };
			net_addr_set_port(&any, net_addr_port(&a));
			r = open_socket(&any, shared);
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

void http_conns_init(struct http_conns *cs, struct http_tls *tls, unsigned max,
		     unsigned max_unknown)
{
	*cs = (struct http_conns){ .tls = tls, .max = max, .max_unknown = max_unknown };
	cs->ring_.prev = cs->ring_.next = &cs->ring_;
	cs->unknown_.prev = cs->unknown_.next = &cs->unknown_;
	pthread_mutex_init(&cs->lock, NULL);
	pthread_cond_init(&cs->none, NULL);
}

void http_conns_done(struct http_conns *cs)
{
	assert(cs->n_open == 0 && cs->open == NULL);
	pthread_mutex_destroy(&cs->lock);
	pthread_cond_destroy(&cs->none);
}

static unsigned *count_of(struct http_conns *cs, const struct http_conn *conn)
{
	return conn->known ? &cs->n : &cs->n_unknown;
}

struct http_conn *http_conn_of(struct MHD_Connection *mc)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(mc, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	return info != NULL ? info->socket_context : NULL;
}

void http_conns_busy(struct http_conns *cs, struct http_conn *conn)
{
	(void)cs;
	if (conn == NULL || conn->next == NULL)
		return;
	conn->prev->next = conn->next;
	conn->next->prev = conn->prev;
	conn->prev = conn->next = NULL;
}

void http_conns_rest(struct http_conns *cs, struct http_conn *conn)
{
	if (conn == NULL || conn->cut)
		return;
	struct http_conn *ring = conn->known ? &cs->ring_ : &cs->unknown_;
	http_conns_busy(cs, conn);
	conn->next = ring;
	conn->prev = ring->prev;
	conn->prev->next = conn;
	ring->prev = conn;
}

void http_conns_cut(struct http_conns *cs, struct http_conn *conn)
{
	assert(!conn->cut);
	http_conns_busy(cs, conn);
	conn->cut = true;
	--*count_of(cs, conn);
	shutdown(conn->fd, SHUT_RDWR);
}

bool http_conns_know(struct http_conns *cs, struct http_conn *conn)
{
	if (conn == NULL || conn->known || conn->cut)
		return true;
	if (cs->n >= cs->max && cs->ring_.next == &cs->ring_)
		return false;
	if (cs->n >= cs->max)
		http_conns_cut(cs, cs->ring_.next);
	bool rests = conn->next != NULL;
	http_conns_busy(cs, conn);
	cs->n_unknown--;
	cs->n++;
	conn->known = true;
	if (rests)
		http_conns_rest(cs, conn);
	return true;
}

/* Makes room for the one that has come last; with all others at work it is that one that goes. */
static void keep_limit(struct http_conns *cs)
{
	if (cs->n > cs->max)
		http_conns_cut(cs, cs->ring_.next);
	if (cs->n_unknown > cs->max_unknown)
		http_conns_cut(cs, cs->unknown_.next);
}

static void add_open(struct http_conns *cs, struct http_conn *conn)
{
	pthread_mutex_lock(&cs->lock);
	conn->next_open = cs->open;
	if (cs->open != NULL)
		cs->open->prev_open = conn;
	cs->open = conn;
	cs->n_open++;
	if (cs->ending)
		shutdown(conn->fd, SHUT_RDWR);
	pthread_mutex_unlock(&cs->lock);
}

static void remove_open(struct http_conns *cs, struct http_conn *conn)
{
	pthread_mutex_lock(&cs->lock);
	if (conn->prev_open != NULL)
		conn->prev_open->next_open = conn->next_open;
	else
		cs->open = conn->next_open;
	if (conn->next_open != NULL)
		conn->next_open->prev_open = conn->prev_open;
	if (--cs->n_open == 0)
		pthread_cond_signal(&cs->none);
	pthread_mutex_unlock(&cs->lock);
}

static void begin_tls(struct http_conns *cs, struct http_conn *conn)
{
	gnutls_session_t session =
		MHD_get_connection_info(conn->mc, MHD_CONNECTION_INFO_GNUTLS_SESSION)->tls_session;
	conn->pair = http_tls_attach(cs->tls, session);
	http_tls_send_init(&conn->send, session, conn->fd);
}

static void on_connection(void *ctx, struct MHD_Connection *mc, void **slot,
			  enum MHD_ConnectionNotificationCode what)
{
	struct http_conns *cs = ctx;
	struct http_conn *c = *slot;
	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		if (c == NULL)
			return;
		http_conns_busy(cs, c);
		http_head_ended(cs, c);
		if (!c->cut)
			--*count_of(cs, c);
		remove_open(cs, c);
		http_tls_pair_unref(c->pair);
		http_tls_send_done(&c->send);
		free(c);
		*slot = NULL;
		return;
	}
	c = xcalloc(1, sizeof(*c));
	c->mc = mc;
	c->fd = MHD_get_connection_info(mc, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
	if (cs->tls != NULL)
		begin_tls(cs, c);
	c->known = cs->max_unknown == 0;
	*slot = c;
	http_conns_rest(cs, c);
	++*count_of(cs, c);
	add_open(cs, c);
	keep_limit(cs);
}

static struct MHD_OptionItem https_text(enum MHD_OPTION OPTION, const char *text)
{
	return (struct MHD_OptionItem){ OPTION, 0, (void *)(uintptr_t)text };
}

struct MHD_Daemon *http_daemon_start(const struct http_daemon_conf *conf)
{
	unsigned flags = conf->flags | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_EPOLL |
			 MHD_USE_ITC | MHD_USE_ERROR_LOG;
	size_t stack = HTTP_THREAD_STACK_BYTES;
	struct MHD_OptionItem more[5] = { { MHD_OPTION_END, 0, NULL } };
	struct MHD_OptionItem *o = more;
	const struct http_tls *tls = conf->conns->tls;
	sigset_t all, old;
	if (tls != NULL) {
		flags |= MHD_USE_TLS;
		stack = HTTP_TLS_STACK_BYTES;
		/* The library wants a pair of its own; sessions get the current one. */
		*o++ = https_text(MHD_OPTION_HTTPS_MEM_CERT, http_tls_first_cert(tls));
		*o++ = https_text(MHD_OPTION_HTTPS_MEM_KEY, http_tls_first_key(tls));
		*o++ = https_text(MHD_OPTION_HTTPS_PRIORITIES, tls_priorities);
	}
	if (conf->unescape != NULL)
		*o++ = (struct MHD_OptionItem){ MHD_OPTION_UNESCAPE_CALLBACK,
						(intptr_t)conf->unescape, conf->ctx };
	*o = (struct MHD_OptionItem){ MHD_OPTION_END, 0, NULL };
	sigfillset(&all);
	/* Signals belong to the main thread; the new thread inherits the mask. */
	pthread_sigmask(SIG_SETMASK, &all, &old);
	struct MHD_Daemon *d = MHD_start_daemon(
		flags, 0, NULL, NULL, conf->on_request, conf->ctx, MHD_OPTION_EXTERNAL_LOGGER,
		http_head_refused, conf->conns, MHD_OPTION_URI_LOG_CALLBACK, http_head_begun,
		conf->conns, MHD_OPTION_LISTEN_SOCKET, conf->fd, MHD_OPTION_CONNECTION_LIMIT,
		conf->conns->max + conf->conns->max_unknown + HTTP_SPARE_CONNECTIONS,
		MHD_OPTION_CONNECTION_TIMEOUT, conf->timeout_s, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		conf->head_max_bytes, MHD_OPTION_THREAD_STACK_SIZE, stack, MHD_OPTION_ARRAY, more,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, conf->conns,
		MHD_OPTION_NOTIFY_COMPLETED, conf->on_completed, conf->ctx, MHD_OPTION_END);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return d;
}

/* Where a request that libmicrohttpd 0.9.75 refuses by itself meets MHD_stop_daemon, its
 * transmit_error_response_len uses a response that MHD_queue_response did not accept any more, a
 * null pointer. So the library is stopped when no connection is left. */
void http_daemon_stop(struct MHD_Daemon *daemon, struct http_conns *conns)
{
	pthread_mutex_lock(&conns->lock);
	conns->ending = true;
	for (struct http_conn *conn = conns->open; conn != NULL; conn = conn->next_open)
		shutdown(conn->fd, SHUT_RDWR);
	pthread_mutex_unlock(&conns->lock);
	http_wait_idle(&conns->lock, &conns->none, &conns->n_open);
	MHD_stop_daemon(daemon);
}

void http_wait_idle(pthread_mutex_t *lock, pthread_cond_t *idle, const unsigned *n_busy)
{
	uint64_t until_ns = clock_mono_ns() + HTTP_DRAIN_MS * NS_PER_MS;
	struct timespec until = { .tv_sec = (time_t)(until_ns / NS_PER_S),
				  .tv_nsec = (long)(until_ns % NS_PER_S) };
	pthread_mutex_lock(lock);
	while (*n_busy > 0) {
		if (pthread_cond_clockwait(idle, lock, CLOCK_MONOTONIC, &until) != 0)
			break;
	}
	pthread_mutex_unlock(lock);
}
