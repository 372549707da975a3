/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The HTTPS server of web hooks, and the thread that renews its certificate. */
#include "kube/webhook/hookserver.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "api/kind.h"
#include "api/meta.h"
#include "api/tree.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "base/readfile.h"
#include "base/text/base64.h"
#include "base/vec.h"
#include "http/server.h"
#include "http/tlscert.h"
#include "kube/client/client.h"
#include "kube/webhook/review_routes_priv.h"
#include "net/certgen.h"

enum {
	INTERVAL_S = 10,
	FIRST_INTERVAL_S = 1, /* while there is no certificate yet */
	PLACEHOLDER_S = 3600,
	NOT_READY = 503,
	CONFLICT_TRIES = 5,
};

struct hookserver {
	struct hookserver_conf conf;
	struct review_routes *reviews;
	char *cert_file, *key_file, *ns, *secret, *registration;
	struct kube_conn *conn;	       /* of the thread */
	struct kube_conn *secret_conn; /* ... for the Secret; may be the same one */
	struct http_tls *tls;
	struct http_server *http;
	struct strbuf cert, key; /* in force; of the thread */
	_Atomic bool ready;
	pthread_t thread;

	pthread_mutex_t lock; /* guards stop */
	pthread_cond_t cond;
	bool stop;
};

static void on_healthz(void *ctx, const struct http_request *req, struct http_reply *reply)
{
	const struct hookserver *s = ctx;
	(void)req;
	if (!s->ready)
		reply->status = NOT_READY;
	strbuf_adds(&reply->body, s->ready ? "ok\n" : "no certificate yet\n");
}

/* ---- the certificate in force ---- */

static void replace_pem(struct strbuf *out, struct slice value)
{
	explicit_bzero(out->s, out->n);
	strbuf_reset(out);
	strbuf_add_slice(out, value);
}

static int use_certificate(struct hookserver *hookserver, struct slice cert, struct slice key,
			   struct err_text err)
{
	int r;
	if (slice_eq(cert, strbuf_slice(&hookserver->cert)) &&
	    slice_eq(key, strbuf_slice(&hookserver->key)))
		return 0;
	if (hookserver->tls == NULL)
		r = http_tls_new(cert, key, &hookserver->tls, err);
	else
		r = http_tls_set(hookserver->tls, cert, key, err);
	if (r < 0)
		return r;
	replace_pem(&hookserver->cert, cert);
	replace_pem(&hookserver->key, key);
	return 0;
}

/* ---- from files ---- */

static int read_pem(const char *path, struct strbuf *out, struct err_text err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int r = fd < 0 ? -errno : readfile_fd(fd, HTTP_TLS_PEM_MAX_BYTES, out);
	if (fd >= 0)
		close(fd);
	if (r < 0)
		err_text_set(err, "cannot read '%s': %s", path, err_str(r));
	return r;
}

static void wipe_buffer(struct strbuf *out)
{
	explicit_bzero(out->s, out->n);
	strbuf_done(out);
}

/* A certificate and a key that do not match are being replaced: the next check finds both. */
static int renew_from_files(struct hookserver *hookserver, struct err_text err)
{
	CLEANUP(strbuf_done) struct strbuf cert = STRBUF_INIT;
	CLEANUP(wipe_buffer) struct strbuf key = STRBUF_INIT;
	char why[256];
	int r = read_pem(hookserver->cert_file, &cert, err);
	if (r >= 0)
		r = read_pem(hookserver->key_file, &key, err);
	if (r < 0)
		return r;
	r = use_certificate(hookserver, strbuf_slice(&cert), strbuf_slice(&key), ERR_TEXT(why));
	if (r < 0)
		err_text_set(err, "'%s' and '%s': %s", hookserver->cert_file, hookserver->key_file,
			     why);
	else
		hookserver->ready = true;
	return r;
}

/* ---- from a Secret that all replicas share ---- */

static int set_failure(int ret, const char *what, const struct kube_status *st, struct err_text err)
{
	err_text_set(err, "%s: %s", what, st->message[0] != '\0' ? st->message : err_str(ret));
	return ret;
}

static struct kube_ref secret_ref(const struct hookserver *hookserver)
{
	return (struct kube_ref){ .kind = api_kind_find("", "Secret"),
				  .ns = hookserver->ns,
				  .name = hookserver->secret };
}

static int write_secret(struct hookserver *hookserver, json_t *secret, bool is_new,
			struct err_text err)
{
	struct kube_ref ref = secret_ref(hookserver);
	struct kube_status st = { 0 };
	int r = is_new ? kube_create(hookserver->secret_conn, &ref, secret, NULL, &st)
		       : kube_update(hookserver->secret_conn, &ref, NULL, secret, NULL, &st);
	if (r < 0 && r != ERR_CONFLICT && r != ERR_DUPLICATE)
		set_failure(r, "the Secret of certificates", &st, err);
	kube_status_done(&st);
	return r;
}

/* Reads the Secret, plans, writes it back. ERR_CONFLICT, ERR_DUPLICATE: another replica was faster. */
static int plan_secret(struct hookserver *hookserver, struct hookcert *hookcert,
		       struct err_text err)
{
	struct kube_ref ref = secret_ref(hookserver);
	struct kube_status st = { 0 };
	json_t *secret = NULL;
	int r = kube_get(hookserver->secret_conn, &ref, &secret, &st);
	bool is_new = r == ERR_NOTFOUND;
	if (r < 0 && !is_new)
		set_failure(r, "the Secret of certificates", &st, err);
	kube_status_done(&st);
	if (r < 0 && !is_new)
		return r;
	if (is_new)
		secret = json_pack("{s:s, s:s, s:{s:s, s:s}}", "apiVersion", "v1", "kind", "Secret",
				   "metadata", "name", hookserver->secret, "namespace",
				   hookserver->ns);
	hookcert_load(hookcert, secret);
	r = hookcert_plan(hookcert, &hookserver->conf.certs, clock_wall_ns() / NS_PER_S, err);
	if (r > 0) {
		hookcert_store(hookcert, secret);
		r = write_secret(hookserver, secret, is_new, err);
	}
	json_decref(secret);
	return r;
}

/* ---- the registrations ---- */

static const struct api_kind registrations[] = {
	{ "admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration",
	  "validatingwebhookconfigurations", "validatingwebhookconfiguration", "", false, false,
	  false },
	{ "admissionregistration.k8s.io", "v1", "MutatingWebhookConfiguration",
	  "mutatingwebhookconfigurations", "mutatingwebhookconfiguration", "", false, false,
	  false },
};

/* kube_edit's: all hooks of the object trust the bundle. */
static int set_bundle(void *ctx, json_t *object)
{
	const char *bundle = ctx;
	json_t *hook;
	size_t i;
	int changed = 0;
	json_array_foreach (json_object_get(object, "webhooks"), i, hook) {
		json_t *cc = json_object_get(hook, "clientConfig");
		const json_t *was = json_object_get(cc, "caBundle");
		if (json_is_string(was) && strcmp(api_text(was), bundle) == 0)
			continue;
		json_object_set_new(cc, "caBundle", json_string(bundle));
		changed = 1;
	}
	return changed;
}

static int publish_bundle(struct hookserver *hookserver, const struct hookcert *hookcert,
			  struct err_text err)
{
	CLEANUP(strbuf_done) struct strbuf bundle = STRBUF_INIT;
	int result = 0;
	base64_encode(&bundle, strbuf_slice(&hookcert->part[HOOKCERT_BUNDLE]));
	for (size_t i = 0; hookserver->registration != NULL && i < ARRAY_LEN(registrations); i++) {
		struct kube_ref ref = { .kind = &registrations[i],
					.name = hookserver->registration };
		struct kube_status st = { 0 };
		int r = kube_edit(hookserver->conn, &ref, NULL, set_bundle, bundle.s, &st);
		if (r < 0 && r != ERR_NOTFOUND)
			result = set_failure(r, registrations[i].kind, &st, err);
		kube_status_done(&st);
	}
	return result;
}

/* Trust first: a certificate is not used before its authority was published. */
static int renew_from_secret(struct hookserver *hookserver, struct err_text err)
{
	struct hookcert h;
	int r = ERR_CONFLICT;
	hookcert_init(&h);
	for (int i = 0; i < CONFLICT_TRIES && (r == ERR_CONFLICT || r == ERR_DUPLICATE); i++)
		r = plan_secret(hookserver, &h, err);
	if (r >= 0)
		r = publish_bundle(hookserver, &h, err);
	/* Even so: what is published may be enough, and the old certificate is running out. */
	if (h.part[HOOKCERT_CERT].n != 0 && r != ERR_CONFLICT && r != ERR_DUPLICATE) {
		int u = use_certificate(hookserver, strbuf_slice(&h.part[HOOKCERT_CERT]),
					strbuf_slice(&h.part[HOOKCERT_KEY]), err);
		hookserver->ready = hookserver->ready || u >= 0;
		r = u < 0 ? u : r;
	}
	hookcert_done(&h);
	return r;
}

/* A certificate to listen with before the API server has answered. */
static int use_placeholder(struct hookserver *hookserver, struct err_text err)
{
	CLEANUP(strbuf_done) struct strbuf cert = STRBUF_INIT;
	CLEANUP(wipe_buffer) struct strbuf key = STRBUF_INIT;
	uint64_t now_s = clock_wall_ns() / NS_PER_S;
	const struct net_certgen g = { .cn = "fairlead webhooks, not ready",
				       .names = hookserver->conf.certs.names,
				       .not_before_s = now_s,
				       .not_after_s = now_s + PLACEHOLDER_S };
	int r = net_certgen(&g, &cert, &key, err);
	return r < 0 ? r
		     : use_certificate(hookserver, strbuf_slice(&cert), strbuf_slice(&key), err);
}

/* ---- the thread ---- */

static int renew_certificate(struct hookserver *hookserver, struct err_text err)
{
	return hookserver->cert_file != NULL ? renew_from_files(hookserver, err)
					     : renew_from_secret(hookserver, err);
}

/* False when it is time to end. */
static bool wait_for_check(struct hookserver *hookserver)
{
	uint64_t wait = hookserver->ready
				? hookserver->conf.interval_ns
				: MIN(hookserver->conf.interval_ns, FIRST_INTERVAL_S * NS_PER_S);
	uint64_t until = clock_mono_ns() + wait;
	struct timespec ts = { .tv_sec = (time_t)(until / NS_PER_S),
			       .tv_nsec = (long)(until % NS_PER_S) };
	pthread_mutex_lock(&hookserver->lock);
	int r = 0;
	while (!hookserver->stop && r == 0)
		r = pthread_cond_timedwait(&hookserver->cond, &hookserver->lock, &ts);
	bool go_on = !hookserver->stop;
	pthread_mutex_unlock(&hookserver->lock);
	return go_on;
}

static void *run_thread(void *arg)
{
	struct hookserver *s = arg;
	bool first = !s->ready;
	while (first || wait_for_check(s)) {
		char err[700] = "";
		first = false;
		int r = renew_certificate(s, ERR_TEXT(err));
		if (r < 0 && r != -ECANCELED && s->conf.on_error != NULL)
			s->conf.on_error(s->conf.ctx, err[0] != '\0' ? err : err_str(r));
	}
	return NULL;
}

/* ---- start and end ---- */

static char *dup_or_null(const char *text)
{
	return text != NULL ? xstrdup(text) : NULL;
}

static void hookserver_free(struct hookserver *hookserver)
{
	http_server_stop(hookserver->http);
	http_tls_free(hookserver->tls);
	if (hookserver->secret_conn != hookserver->conn)
		kube_conn_free(hookserver->secret_conn);
	kube_conn_free(hookserver->conn);
	wipe_buffer(&hookserver->cert);
	wipe_buffer(&hookserver->key);
	pthread_cond_destroy(&hookserver->cond);
	pthread_mutex_destroy(&hookserver->lock);
	review_routes_free(hookserver->reviews);
	free(hookserver->cert_file);
	free(hookserver->key_file);
	free(hookserver->ns);
	free(hookserver->secret);
	free(hookserver->registration);
	free(hookserver);
}

static struct hookserver *hookserver_new(const struct hookserver_conf *conf)
{
	struct hookserver *s = xcalloc(1, sizeof(*s));
	pthread_condattr_t ca;
	s->conf = *conf;
	if (s->conf.interval_ns == 0)
		s->conf.interval_ns = INTERVAL_S * NS_PER_S;
	s->reviews = review_routes_new(conf->hooks, conf->n_hooks);
	s->cert_file = dup_or_null(conf->cert_file);
	s->key_file = dup_or_null(conf->key_file);
	s->ns = dup_or_null(conf->ns);
	s->secret = dup_or_null(conf->secret);
	s->registration = dup_or_null(conf->registration);
	strbuf_init(&s->cert);
	strbuf_init(&s->key);
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&ca);
	pthread_condattr_setclock(&ca, CLOCK_MONOTONIC);
	pthread_cond_init(&s->cond, &ca);
	pthread_condattr_destroy(&ca);
	return s;
}

static int listen_now(struct hookserver *hookserver, struct err_text err)
{
	const struct http_route health = { .path = "/healthz",
					   .handle = on_healthz,
					   .ctx = hookserver };
	VEC(struct http_route) routes = { 0 };
	size_t n_reviews;
	const struct http_route *reviews = review_routes_get(hookserver->reviews, &n_reviews);
	vec_push(&routes, health);
	for (size_t i = 0; i < n_reviews; i++)
		vec_push(&routes, reviews[i]);
	int r = http_server_start_tls(hookserver->conf.listen, hookserver->tls, routes.v, routes.n,
				      &hookserver->http);
	vec_done(&routes);
	if (r < 0)
		err_text_set(err, "cannot listen on '%s': %s", hookserver->conf.listen, err_str(r));
	return r;
}

static int connect_now(struct hookserver *hookserver, struct err_text err)
{
	const struct hookserver_conf *c = &hookserver->conf;
	bool apart = c->secret_client != NULL && c->secret_client != c->client;
	if (c->client == NULL)
		return 0;
	hookserver->conn = kube_conn_new(c->client, err);
	hookserver->secret_conn = apart ? kube_conn_new(c->secret_client, err) : hookserver->conn;
	return hookserver->conn != NULL && hookserver->secret_conn != NULL ? 0 : ERR_CONFIG;
}

int hookserver_start(const struct hookserver_conf *conf, struct hookserver **ret,
		     struct err_text err)
{
	struct hookserver *s = hookserver_new(conf);
	int r = connect_now(s, err);
	if (r >= 0)
		r = conf->cert_file != NULL ? renew_from_files(s, err) : use_placeholder(s, err);
	if (r >= 0)
		r = listen_now(s, err);
	if (r >= 0) {
		r = -pthread_create(&s->thread, NULL, run_thread, s);
		if (r < 0)
			err_text_set(err, "cannot start a thread: %s", err_str(r));
	}
	if (r < 0) {
		hookserver_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

void hookserver_stop(struct hookserver *hookserver)
{
	if (hookserver == NULL)
		return;
	pthread_mutex_lock(&hookserver->lock);
	hookserver->stop = true;
	pthread_cond_signal(&hookserver->cond);
	pthread_mutex_unlock(&hookserver->lock);
	if (hookserver->conn != NULL)
		kube_conn_cancel(hookserver->conn);
	if (hookserver->secret_conn != hookserver->conn)
		kube_conn_cancel(hookserver->secret_conn);
	pthread_join(hookserver->thread, NULL);
	hookserver_free(hookserver);
}

bool hookserver_is_ready(const struct hookserver *hookserver)
{
	return hookserver->ready;
}

uint16_t hookserver_port(const struct hookserver *hookserver)
{
	return http_server_port(hookserver->http);
}
