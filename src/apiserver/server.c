/* Parts are started from the disk upwards, and stopped the other way. */
#include "apiserver/server.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "apiserver/front.h"
#include "apiserver/rights.h"
#include "apiserver/trust.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "http/tlscert.h"
#include "net/addr.h"
#include "net/sock.h"

enum {
	NAMES_MAX = 16,
	RENEW_EVERY_S = 3600,
	/* How often the clock is looked at, and by how much it must have been moved. */
	CLOCK_EVERY_S = 5,
	CLOCK_MOVED_S = 60,
	CONNECTIONS_MAX = 6000,
	UNKNOWN_MAX = 500,
	KEEPER_STACK_BYTES = 256 * 1024,
};

struct apiserver_server {
	struct apiserver_server_conf conf; /* texts are borrowed only while it starts */
	char *dir, *url, *kubeconfig, *system_kubeconfig;
	char *name[NAMES_MAX + 1]; /* NULL-terminated */
	struct apiserver_store *store;
	struct apiserver_api *api;
	struct apiserver_auth *auth;
	struct apiserver_trust trust;
	struct http_tls *tls;
	struct apiserver_discovery *discovery;
	struct apiserver_backend backend;
	struct apiserver_health health[2];
	struct apiserver_front front;
	struct http_service *http;
	int64_t clock_offset_s; /* when certificates were looked at first */

	pthread_t keeper;
	bool keeper_runs;
	pthread_mutex_t lock; /* guards stopping */
	pthread_cond_t change;
	bool stopping;
};

/* --- behind the front --- */

static void serve(void *ctx, const struct apiserver_call *c, struct apiserver_answer *ret)
{
	apiserver_serve(ctx, c, ret);
}

static bool is_sound(void *ctx, struct strbuf *why)
{
	struct apiserver_server *s = ctx;
	return apiserver_store_is_sound(s->store, why);
}

static bool is_open(void *ctx, struct strbuf *why)
{
	struct apiserver_server *s = ctx;
	(void)why;
	pthread_mutex_lock(&s->lock);
	bool ok = !s->stopping;
	pthread_mutex_unlock(&s->lock);
	return ok;
}

static void set_up_front(struct apiserver_server *s)
{
	s->backend = (struct apiserver_backend){ .ctx = s->api,
						 .serve = serve,
						 .done = apiserver_answer_done,
						 .on_wake = apiserver_stream_on_wake,
						 .pull = apiserver_stream_pull,
						 .free = apiserver_stream_free };
	s->health[0] = (struct apiserver_health){ "shutdown", is_open, s, false };
	s->health[1] = (struct apiserver_health){ "store", is_sound, s, true };
	s->front = (struct apiserver_front){ .auth = s->auth,
					     .discovery = s->discovery,
					     .backend = &s->backend,
					     .health = s->health,
					     .n_health = ARRAY_LEN(s->health) };
}

/* --- names and addresses --- */

/* What clients on this machine connect to: an address, which all addresses are not. */
static void reach(const union net_addr *listen, char ip[NET_ADDR_TEXT_MAX])
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

static int set_names(struct apiserver_server *s, char *err, size_t err_n)
{
	const struct apiserver_server_conf *c = &s->conf;
	union net_addr a;
	char ip[NET_ADDR_TEXT_MAX];
	size_t n = 0;
	if (net_addr_parse(slice_of(c->listen), &a) < 0) {
		snprintf(err, err_n, "'%s' is no address to listen on, such as 127.0.0.1:8054",
			 c->listen);
		return ERR_PARSE;
	}
	reach(&a, ip);
	s->name[n++] = xstrdup(ip);
	for (size_t i = 0; c->names != NULL && c->names[i] != NULL && n < NAMES_MAX; i++)
		s->name[n++] = xstrdup(c->names[i]);
	return 0;
}

static void set_url(struct apiserver_server *s)
{
	bool v6 = strchr(s->name[0], ':') != NULL;
	s->url = xasprintf("https://%s%s%s:%u", v6 ? "[" : "", s->name[0], v6 ? "]" : "",
			   http_service_port(s->http));
}

static int explain_listen(const char *listen, int code, char *err, size_t err_n)
{
	if (code == -EADDRINUSE)
		snprintf(err, err_n,
			 "cannot listen on %s: another program listens there; stop it or choose "
			 "another port",
			 listen);
	else if (code == -EACCES)
		snprintf(err, err_n,
			 "cannot listen on %s: no right to use this port; choose one above 1023",
			 listen);
	else if (code == -EADDRNOTAVAIL)
		snprintf(err, err_n, "cannot listen on %s: this machine has no such address",
			 listen);
	else
		snprintf(err, err_n, "cannot listen on %s: %s", listen, err_str(code));
	return code;
}

/* --- trust, now and later --- */

static int renew(struct apiserver_server *s, char *err, size_t err_n)
{
	const struct apiserver_trust_conf c = { .dir = s->dir,
						.names = (const char *const *)s->name };
	return apiserver_trust_renew(&s->trust, &c, clock_wall_ns() / NS_PER_S, err, err_n);
}

static int write_kubeconfigs(struct apiserver_server *s, char *err, size_t err_n)
{
	const struct apiserver_kubeconfig k[] = {
		{ "kubeconfig", s->url, "admin", apiserver_auth_user_token(s->auth) },
		{ "system.kubeconfig", s->url, "system", apiserver_auth_system_token(s->auth) },
	};
	for (size_t i = 0; i < ARRAY_LEN(k); i++) {
		int r = apiserver_kubeconfig_write(&s->trust, s->dir, &k[i], err, err_n);
		if (r < 0)
			return r;
	}
	return 0;
}

static void renew_again(struct apiserver_server *s)
{
	char err[512];
	int r = renew(s, err, sizeof(err));
	if (r > 0)
		r = http_tls_set(s->tls, strbuf_slice(&s->trust.cert), strbuf_slice(&s->trust.key),
				 err, sizeof(err));
	if (r == 0)
		r = write_kubeconfigs(s, err, sizeof(err));
	if (r < 0 && s->conf.trouble != NULL)
		s->conf.trouble(s->conf.ctx, err);
}

struct clock_watch {
	uint64_t due_ns;  /* of the next renewal */
	int64_t offset_s; /* of the wall's clock from the other, which nobody sets */
};

static int64_t clock_offset_s(void)
{
	return (int64_t)(clock_wall_ns() / NS_PER_S) - (int64_t)(clock_mono_ns() / NS_PER_S);
}

/* Certificates are good by the wall's clock: one that is set right may be past their end. */
static bool is_due(struct clock_watch *w)
{
	int64_t offset_s = clock_offset_s(), moved_s = offset_s - w->offset_s;
	bool moved = moved_s > CLOCK_MOVED_S || moved_s < -CLOCK_MOVED_S;
	if (!moved && clock_mono_ns() < w->due_ns)
		return false;
	*w = (struct clock_watch){ clock_mono_ns() + RENEW_EVERY_S * NS_PER_S, offset_s };
	return true;
}

static void *keep_trust(void *ctx)
{
	struct apiserver_server *s = ctx;
	struct clock_watch w = { clock_mono_ns() + RENEW_EVERY_S * NS_PER_S, s->clock_offset_s };
	pthread_mutex_lock(&s->lock);
	while (!s->stopping) {
		uint64_t until_ns = clock_mono_ns() + CLOCK_EVERY_S * NS_PER_S;
		struct timespec until = { .tv_sec = (time_t)(until_ns / NS_PER_S) };
		if (pthread_cond_clockwait(&s->change, &s->lock, CLOCK_MONOTONIC, &until) == 0 ||
		    !is_due(&w))
			continue;
		pthread_mutex_unlock(&s->lock);
		renew_again(s);
		pthread_mutex_lock(&s->lock);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

static int start_keeper(struct apiserver_server *s, char *err, size_t err_n)
{
	pthread_attr_t attr;
	sigset_t all, old;
	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, KEEPER_STACK_BYTES);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	int r = pthread_create(&s->keeper, &attr, keep_trust, s);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	s->keeper_runs = r == 0;
	if (r != 0)
		snprintf(err, err_n, "cannot start a thread: %s", err_str(-r));
	return -r;
}

/* --- start and stop --- */

/* Only where the store is ours: whatever else lies there is left as it is. */
static int close_files(struct apiserver_server *s, char *err, size_t err_n)
{
	(void)err;
	(void)err_n;
	apiserver_rights_mend(s->dir, s->conf.trouble, s->conf.ctx);
	return 0;
}

static int open_store(struct apiserver_server *s, char *err, size_t err_n)
{
	const struct apiserver_server_conf *c = &s->conf;
	const struct apiserver_store_conf store = { .dir = c->dir,
						    .trouble = c->trouble,
						    .ctx = c->ctx };
	return apiserver_store_open(&store, &s->store, err, err_n);
}

static int open_trust(struct apiserver_server *s, char *err, size_t err_n)
{
	int r = apiserver_auth_open(s->dir, &s->auth, err, err_n);
	s->clock_offset_s = clock_offset_s();
	if (r == 0)
		r = renew(s, err, err_n);
	return r < 0 ? r
		     : http_tls_new(strbuf_slice(&s->trust.cert), strbuf_slice(&s->trust.key),
				    &s->tls, err, err_n);
}

static int open_api(struct apiserver_server *s, char *err, size_t err_n)
{
	const struct apiserver_server_conf *c = &s->conf;
	struct apiserver_api_conf api = { .store = s->store,
					  .service_cidrs = c->service_cidrs,
					  .version = c->version,
					  .checks = c->checks,
					  .n_checks = c->n_checks };
	union net_addr at;
	char ip[NET_ADDR_TEXT_MAX];
	size_t n;
	/* A port that is not known yet, or all addresses, make no endpoint. */
	if (net_addr_parse(slice_of(c->listen), &at) == 0 && c->listen[0] != ':' &&
	    net_addr_port(&at) != 0) {
		net_addr_ip_str(&at, ip);
		api.address = ip;
		api.port = net_addr_port(&at);
	}
	const struct apiserver_resource *const *rows = apiserver_resources(&n);
	s->discovery = apiserver_discovery_new(rows, n, c->version, c->listen);
	return apiserver_api_new(&api, &s->api, err, err_n);
}

/* Connections: of those with a token, of those without, and how many of the first may be watches,
 * so that requests have room beside them. Where few files may be open they are fewer. */
static void set_limits(struct apiserver_server *s, struct http_service_conf *http)
{
	unsigned long files = net_raise_file_limit() / 2; /* others in the process need some */
	unsigned max = (unsigned)MIN(files, (unsigned long)CONNECTIONS_MAX + UNKNOWN_MAX);
	http->max_unknown = MAX(MIN(max / 8, (unsigned)UNKNOWN_MAX), 1);
	http->max_connections = MAX(MIN(max - http->max_unknown, (unsigned)CONNECTIONS_MAX), 1);
	s->front.max_watches = MIN(http->max_connections - http->max_connections / 6,
				   (unsigned)APISERVER_WATCHES_MAX);
}

static int open_http(struct apiserver_server *s, char *err, size_t err_n)
{
	set_up_front(s);
	struct http_service_conf http = { .addr = s->conf.listen,
					  .tls = s->tls,
					  .max_body_bytes = APISERVER_BODY_MAX_BYTES,
					  .is_known = apiserver_front_is_known,
					  .busy = apiserver_front_busy,
					  .handle = apiserver_front_handle,
					  .too_long = apiserver_front_too_long,
					  .ctx = &s->front };
	set_limits(s, &http);
	int r = http_service_start(&http, &s->http);
	if (r < 0)
		return explain_listen(s->conf.listen, r, err, err_n);
	set_url(s);
	return write_kubeconfigs(s, err, err_n);
}

int apiserver_server_start(const struct apiserver_server_conf *c, struct apiserver_server **ret,
			   char *err, size_t err_n)
{
	static int (*const steps[])(struct apiserver_server * s, char *err, size_t err_n) = {
		set_names, open_store, close_files, open_trust, open_api, open_http, start_keeper,
	};
	struct apiserver_server *s = xcalloc(1, sizeof(*s));
	s->conf = *c;
	s->dir = xstrdup(c->dir);
	s->kubeconfig = xasprintf("%s/kubeconfig", c->dir);
	s->system_kubeconfig = xasprintf("%s/system.kubeconfig", c->dir);
	apiserver_trust_init(&s->trust);
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->change, NULL);
	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		int r = steps[i](s, err, err_n);
		if (r < 0) {
			apiserver_server_stop(s);
			return r;
		}
	}
	*ret = s;
	return 0;
}

void apiserver_server_stop(struct apiserver_server *s)
{
	if (s == NULL)
		return;
	pthread_mutex_lock(&s->lock);
	s->stopping = true;
	pthread_cond_signal(&s->change);
	pthread_mutex_unlock(&s->lock);
	if (s->keeper_runs)
		pthread_join(s->keeper, NULL);
	http_service_stop(s->http);
	if (s->api != NULL)
		apiserver_api_free(s->api);
	apiserver_store_close(s->store);
	apiserver_discovery_free(s->discovery);
	http_tls_free(s->tls);
	apiserver_trust_done(&s->trust);
	apiserver_auth_free(s->auth);
	for (size_t i = 0; i < NAMES_MAX; i++)
		free(s->name[i]);
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->change);
	free(s->dir);
	free(s->url);
	free(s->kubeconfig);
	free(s->system_kubeconfig);
	free(s);
}

uint16_t apiserver_server_port(const struct apiserver_server *s)
{
	return http_service_port(s->http);
}

const char *apiserver_server_url(const struct apiserver_server *s)
{
	return s->url;
}

const char *apiserver_server_kubeconfig(const struct apiserver_server *s)
{
	return s->kubeconfig;
}

const char *apiserver_server_system_kubeconfig(const struct apiserver_server *s)
{
	return s->system_kubeconfig;
}
