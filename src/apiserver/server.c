/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Starts and stops the embedded API: store, file modes, tokens and certificates, API, HTTPS, and
 * the thread that renews certificates. Stopping goes the other way. */
#include "apiserver/server.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "apiserver/access/ca.h"
#include "apiserver/access/file_modes.h"
#include "apiserver/access/http_front.h"
#include "apiserver/access/kubeconfig.h"
#include "apiserver/api.h"
#include "apiserver/request/stream.h"
#include "apiserver/store/damage.h"
#include "apiserver/store/store.h"
#include "apiserver/verb/dispatch.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "http/tlscert.h"
#include "net/addr.h"
#include "net/sock.h"

#define SOCKET_NAME "api.sock"

enum {
	NAMES_MAX = 16,
	RENEW_EVERY_S = 3600,
	/* How often the wall clock is checked, and which jump makes certificates be checked. */
	CLOCK_EVERY_S = 5,
	CLOCK_MOVED_S = 60,
	CONNECTIONS_MAX = 6000,
	UNKNOWN_MAX = 500,
	RENEWAL_STACK_BYTES = 256 * 1024,
};

struct apiserver_server {
	struct apiserver_server_conf conf; /* its texts are valid only while the server starts */
	char *dir, *url, *kubeconfig, *system_kubeconfig;
	char *socket;		   /* its absolute path; NULL: none */
	char *name[NAMES_MAX + 1]; /* NULL-terminated */
	struct apiserver_store *store;
	struct apiserver_api *api;
	struct apiserver_authenticator *authenticator;
	struct apiserver_ca ca;
	struct http_tls *tls;
	struct apiserver_discovery *discovery;
	struct apiserver_backend backend;
	struct apiserver_health health[3];
	struct apiserver_http_front http_front;
	struct http_service *http;
	struct http_service *local; /* the same on the socket; NULL: none */
	int64_t clock_offset_s;	    /* when certificates were checked first */

	pthread_t renewal;
	bool renewal_runs;
	pthread_mutex_t lock; /* guards stopping */
	pthread_cond_t change;
	bool stopping;
};

/* --- what the HTTP front calls --- */

static void serve_call(void *ctx, const struct apiserver_call *call, struct apiserver_answer *ret)
{
	apiserver_dispatch(ctx, call, ret);
}

static bool is_sound(void *ctx, struct strbuf *why)
{
	struct apiserver_server *server = ctx;
	return apiserver_store_is_sound(server->store, why);
}

static bool has_space(void *ctx, struct strbuf *why)
{
	struct apiserver_server *server = ctx;
	return apiserver_store_has_space(server->store, why);
}

static bool is_open(void *ctx, struct strbuf *why)
{
	struct apiserver_server *server = ctx;
	(void)why;
	pthread_mutex_lock(&server->lock);
	bool ok = !server->stopping;
	pthread_mutex_unlock(&server->lock);
	return ok;
}

static void set_up_front(struct apiserver_server *server)
{
	server->backend = (struct apiserver_backend){ .ctx = server->api,
						      .serve = serve_call,
						      .done = apiserver_answer_done,
						      .on_wake = apiserver_stream_on_wake,
						      .pull = apiserver_stream_pull,
						      .free = apiserver_stream_free };
	server->health[0] =
		(struct apiserver_health){ .name = "shutdown", .ok = is_open, .ctx = server };
	server->health[1] = (struct apiserver_health){
		.name = "store", .ok = is_sound, .ctx = server, .ready_only = true
	};
	/* Reads and deletions work on a full disk, and deletions are what helps. */
	server->health[2] = (struct apiserver_health){
		.name = "disk", .ok = has_space, .ctx = server, .by_name_only = true
	};
	server->http_front = (struct apiserver_http_front){ .authenticator = server->authenticator,
							    .discovery = server->discovery,
							    .backend = &server->backend,
							    .health = server->health,
							    .n_health = ARRAY_LEN(server->health) };
}

/* --- names and addresses --- */

/* The address by which clients on this machine connect: loopback if all addresses are listened
 * on. */
static void format_reachable(const union net_addr *listen, char ip[NET_ADDR_TEXT_MAX])
{
	size_t n;
	const uint8_t *bytes = net_addr_bytes(listen, &n);
	while (n > 0 && bytes[n - 1] == 0)
		n--;
	if (n > 0)
		net_addr_ip_str(listen, ip);
	else
		snprintf(ip, NET_ADDR_TEXT_MAX, "127.0.0.1");
}

static int set_names(struct apiserver_server *server, struct err_text err)
{
	const struct apiserver_server_conf *c = &server->conf;
	union net_addr a;
	char ip[NET_ADDR_TEXT_MAX];
	size_t n = 0;
	if (net_addr_parse(slice_of(c->listen), &a) < 0) {
		err_text_set(err, "'%s' is not an address to listen on, such as 127.0.0.1:8054",
			     c->listen);
		return ERR_PARSE;
	}
	format_reachable(&a, ip);
	server->name[n++] = xstrdup(ip);
	for (size_t i = 0; c->names != NULL && c->names[i] != NULL && n < NAMES_MAX; i++)
		server->name[n++] = xstrdup(c->names[i]);
	return 0;
}

static void set_url(struct apiserver_server *server)
{
	bool v6 = strchr(server->name[0], ':') != NULL;
	server->url = xasprintf("https://%s%s%s:%u", v6 ? "[" : "", server->name[0], v6 ? "]" : "",
				http_service_port(server->http));
}

static int explain_listen(const char *listen, int code, struct err_text err)
{
	if (code == -EADDRINUSE)
		err_text_set(
			err,
			"cannot listen on %s: another program listens there; stop it or choose "
			"another port",
			listen);
	else if (code == -EACCES)
		err_text_set(err,
			     "cannot listen on %s: permission denied; choose a port above 1023",
			     listen);
	else if (code == -EADDRNOTAVAIL)
		err_text_set(err, "cannot listen on %s: this machine has no such address", listen);
	else
		err_text_set(err, "cannot listen on %s: %s", listen, err_str(code));
	return code;
}

/* --- certificates and kubeconfigs, now and later --- */

static int renew_certificates(struct apiserver_server *server, struct err_text err)
{
	const struct apiserver_ca_conf c = { .dir = server->dir,
					     .names = (const char *const *)server->name };
	return apiserver_ca_renew(&server->ca, &c, clock_wall_ns() / NS_PER_S, err);
}

static int write_kubeconfigs(struct apiserver_server *server, struct err_text err)
{
	CLEANUP(freep)
	char *local = server->socket != NULL ? xasprintf("unix://%s", server->socket) : NULL;
	const struct apiserver_kubeconfig k[] = {
		{ "kubeconfig", server->url, "admin",
		  apiserver_authenticator_user_token(server->authenticator) },
		{ "system.kubeconfig", local != NULL ? local : server->url, "system",
		  apiserver_authenticator_system_token(server->authenticator) },
	};
	for (size_t i = 0; i < ARRAY_LEN(k); i++) {
		int r = apiserver_kubeconfig_write(&server->ca, server->dir, &k[i], err);
		if (r < 0)
			return r;
	}
	return 0;
}

static void renew_and_report(struct apiserver_server *server)
{
	char err[512];
	int r = renew_certificates(server, ERR_TEXT(err));
	if (r > 0)
		r = http_tls_set(server->tls, strbuf_slice(&server->ca.server_cert),
				 strbuf_slice(&server->ca.server_key), ERR_TEXT(err));
	if (r == 0)
		r = write_kubeconfigs(server, ERR_TEXT(err));
	if (r < 0 && server->conf.on_error != NULL)
		server->conf.on_error(server->conf.ctx, err);
}

struct clock_watch {
	uint64_t due_ns;  /* of the next renewal */
	int64_t offset_s; /* of the wall clock from the monotonic clock */
};

static int64_t clock_offset_s(void)
{
	return (int64_t)(clock_wall_ns() / NS_PER_S) - (int64_t)(clock_mono_ns() / NS_PER_S);
}

/* Certificates expire by the wall clock: after it was corrected, they may have expired. */
static bool is_due(struct clock_watch *watch)
{
	int64_t offset_s = clock_offset_s(), moved_s = offset_s - watch->offset_s;
	bool moved = moved_s > CLOCK_MOVED_S || moved_s < -CLOCK_MOVED_S;
	if (!moved && clock_mono_ns() < watch->due_ns)
		return false;
	*watch = (struct clock_watch){ clock_mono_ns() + RENEW_EVERY_S * NS_PER_S, offset_s };
	return true;
}

static void *run_renewal(void *ctx)
{
	struct apiserver_server *server = ctx;
	struct clock_watch w = { clock_mono_ns() + RENEW_EVERY_S * NS_PER_S,
				 server->clock_offset_s };
	pthread_mutex_lock(&server->lock);
	while (!server->stopping) {
		uint64_t until_ns = clock_mono_ns() + CLOCK_EVERY_S * NS_PER_S;
		struct timespec until = { .tv_sec = (time_t)(until_ns / NS_PER_S) };
		if (pthread_cond_clockwait(&server->change, &server->lock, CLOCK_MONOTONIC,
					   &until) == 0 ||
		    !is_due(&w))
			continue;
		pthread_mutex_unlock(&server->lock);
		renew_and_report(server);
		pthread_mutex_lock(&server->lock);
	}
	pthread_mutex_unlock(&server->lock);
	return NULL;
}

static int start_renewal(struct apiserver_server *server, struct err_text err)
{
	pthread_attr_t attr;
	sigset_t all, old;
	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, RENEWAL_STACK_BYTES);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	int r = pthread_create(&server->renewal, &attr, run_renewal, server);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	server->renewal_runs = r == 0;
	if (r != 0)
		err_text_set(err, "cannot start a thread: %s", err_str(-r));
	return -r;
}

/* --- start and stop --- */

/* After the store was opened: in any other directory no file is touched. */
static int restrict_files(struct apiserver_server *server, struct err_text err)
{
	(void)err;
	apiserver_file_modes_restrict(server->dir, server->conf.on_error, server->conf.ctx);
	return 0;
}

static int open_store(struct apiserver_server *server, struct err_text err)
{
	const struct apiserver_server_conf *c = &server->conf;
	const struct apiserver_store_conf store = { .dir = c->dir,
						    .on_failure = c->on_error,
						    .ctx = c->ctx };
	return apiserver_store_open(&store, &server->store, err);
}

static int open_access(struct apiserver_server *server, struct err_text err)
{
	int r = apiserver_authenticator_open(server->dir, &server->authenticator, err);
	server->clock_offset_s = clock_offset_s();
	if (r == 0)
		r = renew_certificates(server, err);
	return r < 0 ? r
		     : http_tls_new(strbuf_slice(&server->ca.server_cert),
				    strbuf_slice(&server->ca.server_key), &server->tls, err);
}

static int open_api(struct apiserver_server *server, struct err_text err)
{
	const struct apiserver_server_conf *c = &server->conf;
	struct apiserver_api_conf api = { .store = server->store,
					  .service_cidrs = c->service_cidrs,
					  .version = c->version,
					  .checks = c->checks,
					  .n_checks = c->n_checks,
					  .admission = c->admission };
	union net_addr at;
	char ip[NET_ADDR_TEXT_MAX];
	size_t n;
	/* Without a fixed port, or with all addresses, there is no endpoint to publish. */
	if (net_addr_parse(slice_of(c->listen), &at) == 0 && c->listen[0] != ':' &&
	    net_addr_port(&at) != 0) {
		net_addr_ip_str(&at, ip);
		api.address = ip;
		api.port = net_addr_port(&at);
	}
	const struct apiserver_resource *const *rows = apiserver_resources(&n);
	server->discovery = apiserver_discovery_new(rows, n, c->version, c->listen, c->controllers);
	return apiserver_api_new(&api, &server->api, err);
}

/* Limits of connections with a token, of those without, and of watches among the first, so that
 * other requests have room. All are lower where few files may be open. */
static void set_limits(struct apiserver_server *server, struct http_service_conf *http)
{
	unsigned long files = net_raise_file_limit() / 2; /* the rest of the process needs some */
	unsigned max = (unsigned)MIN(files, (unsigned long)CONNECTIONS_MAX + UNKNOWN_MAX);
	http->max_unknown = MAX(MIN(max / 8, (unsigned)UNKNOWN_MAX), 1);
	http->max_connections = MAX(MIN(max - http->max_unknown, (unsigned)CONNECTIONS_MAX), 1);
	server->http_front.max_watches = MIN(http->max_connections - http->max_connections / 6,
					     (unsigned)APISERVER_WATCHES_MAX);
}

/* A kubeconfig has it without quotes. */
static bool is_plain(const char *path)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
				    "/._-+=";
	return path[strspn(path, plain)] == '\0';
}

/* For the machine's own controllers and DNS server: without TLS, which takes more memory for a watch
 * than all else. Where there can be no socket, they use the same address as others. */
static void open_socket(struct apiserver_server *server, struct http_service_conf http)
{
	CLEANUP(freep) char *dir = realpath(server->dir, NULL);
	CLEANUP(freep) char *path = dir != NULL ? xasprintf("%s/" SOCKET_NAME, dir) : NULL;
	CLEANUP(freep) char *addr = path != NULL ? xasprintf(HTTP_UNIX_PREFIX "%s", path) : NULL;
	http.addr = addr;
	http.tls = NULL;
	if (addr != NULL && is_plain(path) && http_service_start(&http, &server->local) == 0)
		server->socket = TAKE_PTR(path);
}

static int open_http(struct apiserver_server *server, struct err_text err)
{
	set_up_front(server);
	struct http_service_conf http = { .addr = server->conf.listen,
					  .tls = server->tls,
					  .max_body_bytes = APISERVER_BODY_MAX_BYTES,
					  .is_known = apiserver_http_front_is_authenticated,
					  .busy = apiserver_http_front_busy,
					  .handle = apiserver_http_front_handle,
					  .too_long = apiserver_http_front_too_long,
					  .ctx = &server->http_front };
	set_limits(server, &http);
	int r = http_service_start(&http, &server->http);
	if (r < 0)
		return explain_listen(server->conf.listen, r, err);
	set_url(server);
	open_socket(server, http);
	return write_kubeconfigs(server, err);
}

int apiserver_server_start(const struct apiserver_server_conf *conf, struct apiserver_server **ret,
			   struct err_text err)
{
	static int (*const steps[])(struct apiserver_server * server, struct err_text err) = {
		set_names, open_store, restrict_files, open_access,
		open_api,  open_http,  start_renewal,
	};
	struct apiserver_server *server = xcalloc(1, sizeof(*server));
	server->conf = *conf;
	server->dir = xstrdup(conf->dir);
	server->kubeconfig = xasprintf("%s/kubeconfig", conf->dir);
	server->system_kubeconfig = xasprintf("%s/system.kubeconfig", conf->dir);
	apiserver_ca_init(&server->ca);
	pthread_mutex_init(&server->lock, NULL);
	pthread_cond_init(&server->change, NULL);
	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		int r = steps[i](server, err);
		if (r < 0) {
			apiserver_server_stop(server);
			return r;
		}
	}
	*ret = server;
	return 0;
}

void apiserver_server_stop(struct apiserver_server *server)
{
	if (server == NULL)
		return;
	pthread_mutex_lock(&server->lock);
	server->stopping = true;
	pthread_cond_signal(&server->change);
	pthread_mutex_unlock(&server->lock);
	if (server->renewal_runs)
		pthread_join(server->renewal, NULL);
	http_service_stop(server->http);
	http_service_stop(server->local);
	if (server->socket != NULL)
		unlink(server->socket);
	if (server->api != NULL)
		apiserver_api_free(server->api);
	apiserver_store_close(server->store);
	apiserver_discovery_free(server->discovery);
	http_tls_free(server->tls);
	apiserver_ca_done(&server->ca);
	apiserver_authenticator_free(server->authenticator);
	for (size_t i = 0; i < NAMES_MAX; i++)
		free(server->name[i]);
	pthread_mutex_destroy(&server->lock);
	pthread_cond_destroy(&server->change);
	free(server->dir);
	free(server->url);
	free(server->kubeconfig);
	free(server->system_kubeconfig);
	free(server->socket);
	free(server);
}

const char *apiserver_server_url(const struct apiserver_server *server)
{
	return server->url;
}

const char *apiserver_server_kubeconfig(const struct apiserver_server *server)
{
	return server->kubeconfig;
}

const char *apiserver_server_system_kubeconfig(const struct apiserver_server *server)
{
	return server->system_kubeconfig;
}
