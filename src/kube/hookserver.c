/* Web hooks over HTTPS, and the thread that looks after their certificate. */
#include "kube/hookserver.h"

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
#include "base/base64.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/readfile.h"
#include "http/server.h"
#include "http/tlscert.h"
#include "kube/client.h"
#include "net/certgen.h"

enum {
	LOOK_S = 10,
	FIRST_LOOK_S = 1, /* while there is no certificate yet */
	PLACEHOLDER_S = 3600,
	BAD_REQUEST = 400,
	NOT_READY = 503,
	CONFLICT_TRIES = 5,
};

struct hookserver {
	struct hookserver_conf conf;
	struct admission_hook *hooks;
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

/* ---- reviews ---- */

static void answer(struct hookserver *s, enum admission_phase phase, const struct http_request *q,
		   struct http_reply *reply)
{
	int r = admission_review(s->hooks, s->conf.n_hooks, phase, q->body, &reply->body);
	if (r < 0)
		reply->status = BAD_REQUEST;
	else
		reply->content_type = "application/json";
}

static void on_validate(void *ctx, const struct http_request *q, struct http_reply *reply)
{
	answer(ctx, ADMISSION_VALIDATE, q, reply);
}

static void on_mutate(void *ctx, const struct http_request *q, struct http_reply *reply)
{
	answer(ctx, ADMISSION_MUTATE, q, reply);
}

static void on_healthz(void *ctx, const struct http_request *q, struct http_reply *reply)
{
	const struct hookserver *s = ctx;
	(void)q;
	if (!s->ready)
		reply->status = NOT_READY;
	strbuf_adds(&reply->body, s->ready ? "ok\n" : "no certificate yet\n");
}

/* ---- the certificate in force ---- */

static void replace(struct strbuf *b, struct slice v)
{
	explicit_bzero(b->s, b->n);
	strbuf_reset(b);
	strbuf_add_slice(b, v);
}

static int use(struct hookserver *s, struct slice cert, struct slice key, char *err, size_t err_n)
{
	int r;
	if (slice_eq(cert, strbuf_slice(&s->cert)) && slice_eq(key, strbuf_slice(&s->key)))
		return 0;
	if (s->tls == NULL)
		r = http_tls_new(cert, key, &s->tls, err, err_n);
	else
		r = http_tls_set(s->tls, cert, key, err, err_n);
	if (r < 0)
		return r;
	replace(&s->cert, cert);
	replace(&s->key, key);
	return 0;
}

/* ---- from files ---- */

static int read_pem(const char *path, struct strbuf *out, char *err, size_t err_n)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int r = fd < 0 ? -errno : readfile_fd(fd, HTTP_TLS_PEM_MAX_BYTES, out);
	if (fd >= 0)
		close(fd);
	if (r < 0)
		snprintf(err, err_n, "cannot read '%s': %s", path, err_str(r));
	return r;
}

static void wipe(struct strbuf *b)
{
	explicit_bzero(b->s, b->n);
	strbuf_done(b);
}

/* A pair that does not fit is one that is being replaced: the next look finds both. */
static int look_at_files(struct hookserver *s, char *err, size_t err_n)
{
	CLEANUP(strbuf_done) struct strbuf cert = STRBUF_INIT;
	CLEANUP(wipe) struct strbuf key = STRBUF_INIT;
	char why[256];
	int r = read_pem(s->cert_file, &cert, err, err_n);
	if (r >= 0)
		r = read_pem(s->key_file, &key, err, err_n);
	if (r < 0)
		return r;
	r = use(s, strbuf_slice(&cert), strbuf_slice(&key), why, sizeof(why));
	if (r < 0)
		snprintf(err, err_n, "'%s' and '%s': %s", s->cert_file, s->key_file, why);
	else
		s->ready = true;
	return r;
}

/* ---- from a Secret that all replicas share ---- */

static int failed(int r, const char *what, const struct kube_status *st, char *err, size_t err_n)
{
	snprintf(err, err_n, "%s: %s", what, st->message[0] != '\0' ? st->message : err_str(r));
	return r;
}

static struct kube_ref secret_ref(const struct hookserver *s)
{
	return (struct kube_ref){ .kind = api_kind_find("", "Secret"),
				  .ns = s->ns,
				  .name = s->secret };
}

static int write_secret(struct hookserver *s, json_t *secret, bool is_new, char *err, size_t err_n)
{
	struct kube_ref ref = secret_ref(s);
	struct kube_status st = { 0 };
	int r = is_new ? kube_create(s->secret_conn, &ref, secret, NULL, &st)
		       : kube_update(s->secret_conn, &ref, NULL, secret, NULL, &st);
	if (r < 0 && r != ERR_CONFLICT && r != ERR_DUPLICATE)
		failed(r, "the Secret of certificates", &st, err, err_n);
	kube_status_done(&st);
	return r;
}

/* One look: reads, plans, writes. ERR_CONFLICT, ERR_DUPLICATE: another replica was faster. */
static int plan_secret(struct hookserver *s, struct hookcert *h, char *err, size_t err_n)
{
	struct kube_ref ref = secret_ref(s);
	struct kube_status st = { 0 };
	json_t *secret = NULL;
	int r = kube_get(s->secret_conn, &ref, &secret, &st);
	bool is_new = r == ERR_NOTFOUND;
	if (r < 0 && !is_new)
		failed(r, "the Secret of certificates", &st, err, err_n);
	kube_status_done(&st);
	if (r < 0 && !is_new)
		return r;
	if (is_new)
		secret = json_pack("{s:s, s:s, s:{s:s, s:s}}", "apiVersion", "v1", "kind", "Secret",
				   "metadata", "name", s->secret, "namespace", s->ns);
	hookcert_load(h, secret);
	r = hookcert_plan(h, &s->conf.certs, clock_wall_ns() / NS_PER_S, err, err_n);
	if (r > 0) {
		hookcert_store(h, secret);
		r = write_secret(s, secret, is_new, err, err_n);
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
static int set_bundle(void *ctx, json_t *o)
{
	const char *bundle = ctx;
	json_t *hook;
	size_t i;
	int changed = 0;
	json_array_foreach (json_object_get(o, "webhooks"), i, hook) {
		json_t *cc = json_object_get(hook, "clientConfig");
		const json_t *was = json_object_get(cc, "caBundle");
		if (json_is_string(was) && strcmp(api_text(was), bundle) == 0)
			continue;
		json_object_set_new(cc, "caBundle", json_string(bundle));
		changed = 1;
	}
	return changed;
}

static int publish(struct hookserver *s, const struct hookcert *h, char *err, size_t err_n)
{
	CLEANUP(strbuf_done) struct strbuf bundle = STRBUF_INIT;
	int result = 0;
	base64_encode(&bundle, strbuf_slice(&h->part[HOOKCERT_BUNDLE]));
	for (size_t i = 0; s->registration != NULL && i < ARRAY_LEN(registrations); i++) {
		struct kube_ref ref = { .kind = &registrations[i], .name = s->registration };
		struct kube_status st = { 0 };
		int r = kube_edit(s->conn, &ref, NULL, set_bundle, bundle.s, &st);
		if (r < 0 && r != ERR_NOTFOUND)
			result = failed(r, registrations[i].kind, &st, err, err_n);
		kube_status_done(&st);
	}
	return result;
}

/* Trust first: a certificate is not used before its authority was published. */
static int look_at_secret(struct hookserver *s, char *err, size_t err_n)
{
	struct hookcert h;
	int r = ERR_CONFLICT;
	hookcert_init(&h);
	for (int i = 0; i < CONFLICT_TRIES && (r == ERR_CONFLICT || r == ERR_DUPLICATE); i++)
		r = plan_secret(s, &h, err, err_n);
	if (r >= 0)
		r = publish(s, &h, err, err_n);
	/* Even so: what is published may be enough, and the old certificate is running out. */
	if (h.part[HOOKCERT_CERT].n != 0 && r != ERR_CONFLICT && r != ERR_DUPLICATE) {
		int u = use(s, strbuf_slice(&h.part[HOOKCERT_CERT]),
			    strbuf_slice(&h.part[HOOKCERT_KEY]), err, err_n);
		s->ready = s->ready || u >= 0;
		r = u < 0 ? u : r;
	}
	hookcert_done(&h);
	return r;
}

/* Something to listen with before the API has answered. */
static int use_placeholder(struct hookserver *s, char *err, size_t err_n)
{
	CLEANUP(strbuf_done) struct strbuf cert = STRBUF_INIT;
	CLEANUP(wipe) struct strbuf key = STRBUF_INIT;
	uint64_t now_s = clock_wall_ns() / NS_PER_S;
	const struct net_certgen g = { .cn = "fairlead webhooks, not ready",
				       .names = s->conf.certs.names,
				       .not_before_s = now_s,
				       .not_after_s = now_s + PLACEHOLDER_S };
	int r = net_certgen(&g, &cert, &key, err, err_n);
	return r < 0 ? r : use(s, strbuf_slice(&cert), strbuf_slice(&key), err, err_n);
}

/* ---- the thread ---- */

static int look(struct hookserver *s, char *err, size_t err_n)
{
	return s->cert_file != NULL ? look_at_files(s, err, err_n) : look_at_secret(s, err, err_n);
}

/* False when it is time to end. */
static bool wait_look(struct hookserver *s)
{
	uint64_t wait = s->ready ? s->conf.look_ns : MIN(s->conf.look_ns, FIRST_LOOK_S * NS_PER_S);
	uint64_t until = clock_mono_ns() + wait;
	struct timespec ts = { .tv_sec = (time_t)(until / NS_PER_S),
			       .tv_nsec = (long)(until % NS_PER_S) };
	pthread_mutex_lock(&s->lock);
	int r = 0;
	while (!s->stop && r == 0)
		r = pthread_cond_timedwait(&s->cond, &s->lock, &ts);
	bool go_on = !s->stop;
	pthread_mutex_unlock(&s->lock);
	return go_on;
}

static void *run(void *arg)
{
	struct hookserver *s = arg;
	bool first = !s->ready;
	while (first || wait_look(s)) {
		char err[700] = "";
		first = false;
		int r = look(s, err, sizeof(err));
		if (r < 0 && r != -ECANCELED && s->conf.trouble != NULL)
			s->conf.trouble(s->conf.ctx, err[0] != '\0' ? err : err_str(r));
	}
	return NULL;
}

/* ---- start and end ---- */

static char *dup_or_null(const char *s)
{
	return s != NULL ? xstrdup(s) : NULL;
}

static void hookserver_free(struct hookserver *s)
{
	http_server_stop(s->http);
	http_tls_free(s->tls);
	if (s->secret_conn != s->conn)
		kube_conn_free(s->secret_conn);
	kube_conn_free(s->conn);
	wipe(&s->cert);
	wipe(&s->key);
	pthread_cond_destroy(&s->cond);
	pthread_mutex_destroy(&s->lock);
	free(s->hooks);
	free(s->cert_file);
	free(s->key_file);
	free(s->ns);
	free(s->secret);
	free(s->registration);
	free(s);
}

static struct hookserver *hookserver_new(const struct hookserver_conf *c)
{
	struct hookserver *s = xcalloc(1, sizeof(*s));
	pthread_condattr_t ca;
	s->conf = *c;
	if (s->conf.look_ns == 0)
		s->conf.look_ns = LOOK_S * NS_PER_S;
	s->hooks = xmemdup(c->hooks, c->n_hooks * sizeof(*c->hooks));
	s->cert_file = dup_or_null(c->cert_file);
	s->key_file = dup_or_null(c->key_file);
	s->ns = dup_or_null(c->ns);
	s->secret = dup_or_null(c->secret);
	s->registration = dup_or_null(c->registration);
	strbuf_init(&s->cert);
	strbuf_init(&s->key);
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&ca);
	pthread_condattr_setclock(&ca, CLOCK_MONOTONIC);
	pthread_cond_init(&s->cond, &ca);
	pthread_condattr_destroy(&ca);
	return s;
}

static int listen_now(struct hookserver *s, char *err, size_t err_n)
{
	const struct http_route routes[] = {
		{ "/validate", HTTP_POST, ADMISSION_BODY_MAX_BYTES, on_validate, s },
		{ "/mutate", HTTP_POST, ADMISSION_BODY_MAX_BYTES, on_mutate, s },
		{ .path = "/healthz", .handle = on_healthz, .ctx = s },
	};
	int r = http_server_start_tls(s->conf.listen, s->tls, routes, ARRAY_LEN(routes), &s->http);
	if (r < 0)
		snprintf(err, err_n, "cannot listen on '%s': %s", s->conf.listen, err_str(r));
	return r;
}

static int connect_now(struct hookserver *s, char *err, size_t err_n)
{
	const struct hookserver_conf *c = &s->conf;
	bool apart = c->secret_client != NULL && c->secret_client != c->client;
	if (c->client == NULL)
		return 0;
	s->conn = kube_conn_new(c->client, err, err_n);
	s->secret_conn = apart ? kube_conn_new(c->secret_client, err, err_n) : s->conn;
	return s->conn != NULL && s->secret_conn != NULL ? 0 : ERR_CONFIG;
}

int hookserver_start(const struct hookserver_conf *c, struct hookserver **ret, char *err,
		     size_t err_n)
{
	struct hookserver *s = hookserver_new(c);
	int r = connect_now(s, err, err_n);
	if (r >= 0)
		r = c->cert_file != NULL ? look_at_files(s, err, err_n)
					 : use_placeholder(s, err, err_n);
	if (r >= 0)
		r = listen_now(s, err, err_n);
	if (r >= 0) {
		r = -pthread_create(&s->thread, NULL, run, s);
		if (r < 0)
			snprintf(err, err_n, "cannot start a thread: %s", err_str(r));
	}
	if (r < 0) {
		hookserver_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

void hookserver_stop(struct hookserver *s)
{
	if (s == NULL)
		return;
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	pthread_cond_signal(&s->cond);
	pthread_mutex_unlock(&s->lock);
	if (s->conn != NULL)
		kube_conn_cancel(s->conn);
	if (s->secret_conn != s->conn)
		kube_conn_cancel(s->secret_conn);
	pthread_join(s->thread, NULL);
	hookserver_free(s);
}

bool hookserver_is_ready(const struct hookserver *s)
{
	return s->ready;
}

uint16_t hookserver_port(const struct hookserver *s)
{
	return http_server_port(s->http);
}
