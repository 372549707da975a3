/* Credentials in force: the token, and what TLS needs. Both are renewed while the program runs;
 * what was good stays in force when the new cannot be read. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "kube/config_priv.h"

/* Has what was read at `read_ns` to be read again? */
static bool is_due(uint64_t read_ns, uint64_t every_ns, bool fresh, uint64_t asked_ns)
{
	return clock_mono_ns() - read_ns >= every_ns || (fresh && read_ns <= asked_ns);
}

/* ---- tokens ---- */

static int read_token_file(struct kube_config *c, char *err, size_t err_n)
{
	struct kube_secret raw = { 0 };
	int r = kube_secret_read(c->token_file, &raw);
	if (r < 0) {
		snprintf(err, err_n, "%s: token: cannot read '%s': %s", c->origin, c->token_file,
			 err_str(r));
		return r;
	}
	struct slice t = slice_trim(kube_secret_slice(&raw));
	if (t.n == 0 || memchr(t.p, '\n', t.n) != NULL || memchr(t.p, '\0', t.n) != NULL) {
		snprintf(err, err_n, "%s: token: '%s' %s", c->origin, c->token_file,
			 t.n == 0 ? "is empty" : "holds more than one line");
		r = ERR_PARSE;
	} else {
		kube_secret_set(&c->token, t);
		c->token_read_ns = clock_mono_ns();
	}
	kube_secret_done(&raw);
	return r;
}

/* ---- exec plugins ---- */

void kube_config_wake(struct kube_config *c)
{
	pthread_mutex_lock(&c->lock);
	if (c->exec_wake >= 0)
		IGNORE(eventfd_write(c->exec_wake, 1));
	pthread_cond_broadcast(&c->exec_ended);
	pthread_mutex_unlock(&c->lock);
}

/* Without the lock, so that others need not wait for what they do not need. */
static int run_unlocked(struct kube_config *c, const _Atomic bool *stop, struct kube_exec_cred *got,
			char *err, size_t err_n)
{
	int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (wake < 0) {
		int r = -errno;
		snprintf(err, err_n, "%s: cannot run exec plugin '%s': %s", c->origin,
			 c->exec.command, err_str(r));
		return r;
	}
	c->exec_wake = wake;
	pthread_mutex_unlock(&c->lock);
	int r = kube_exec_run(c, stop, wake, got, err, err_n);
	pthread_mutex_lock(&c->lock);
	c->exec_wake = -1;
	close(wake);
	pthread_cond_broadcast(&c->exec_ended);
	return r;
}

static int run_plugin(struct kube_config *c, const _Atomic bool *stop, char *err, size_t err_n)
{
	struct kube_exec_cred got = { 0 };
	int r = run_unlocked(c, stop, &got, err, err_n);
	if (r < 0)
		return c->cred_known && r != -ECANCELED ? 0 : r;
	kube_exec_cred_done(&c->cred);
	c->cred = got;
	c->cred_known = true;
	c->cred_read_ns = clock_mono_ns();
	return 0;
}

static bool cred_is_good(const struct kube_config *c, const struct kube_token_ask *ask)
{
	uint64_t expires = c->cred.expires_wall_ns;
	bool expired = expires != 0 && clock_wall_ns() >= expires;
	return c->cred_known && !expired && !(ask->fresh && c->cred_read_ns <= ask->asked_ns);
}

/* Runs the plugin when there is need to; one at a time. */
static int need_cred(struct kube_config *c, const struct kube_token_ask *ask, char *err,
		     size_t err_n)
{
	while (!cred_is_good(c, ask)) {
		if (ask->stop != NULL && atomic_load(ask->stop))
			return -ECANCELED;
		if (c->exec_wake < 0)
			return run_plugin(c, ask->stop, err, err_n);
		pthread_cond_wait(&c->exec_ended, &c->lock);
	}
	return 0;
}

/* ---- the token in force ---- */

static int token_locked(struct kube_config *c, const struct kube_token_ask *ask, struct strbuf *out,
			char *err, size_t err_n)
{
	int r = 0;
	if (c->token_file != NULL &&
	    (c->token.p == NULL ||
	     is_due(c->token_read_ns, c->times.token_ns, ask->fresh, ask->asked_ns)))
		r = read_token_file(c, err, err_n);
	if (c->token.p != NULL) {
		strbuf_add(out, c->token.p, c->token.n);
		return 0;
	}
	if (r < 0 || c->exec.command == NULL)
		return r;
	if ((r = need_cred(c, ask, err, err_n)) < 0)
		return r;
	strbuf_add(out, c->cred.token.p, c->cred.token.n);
	return 0;
}

int kube_config_token(struct kube_config *c, const struct kube_token_ask *ask, struct strbuf *out,
		      char *err, size_t err_n)
{
	/* As client-go: no credentials over a line that anybody can read. */
	if (strncmp(c->server, "https://", 8) != 0)
		return 0;
	pthread_mutex_lock(&c->lock);
	int r = token_locked(c, ask, out, err, err_n);
	pthread_mutex_unlock(&c->lock);
	return r;
}

/* ---- TLS ---- */

void kube_tls_unref(struct kube_tls *t)
{
	if (t == NULL || atomic_fetch_sub(&t->refs, 1) != 1)
		return;
	for (size_t i = 0; i < ARRAY_LEN(t->fd); i++)
		if (t->fd[i] >= 0)
			close(t->fd[i]);
	kube_secret_done(&t->ca);
	kube_secret_done(&t->cert);
	kube_secret_done(&t->key);
	free(t->ca_path);
	free(t->cert_path);
	free(t->key_path);
	free(t);
}

static struct kube_tls *tls_new(void)
{
	struct kube_tls *t = xcalloc(1, sizeof(*t));
	atomic_store(&t->refs, 1);
	for (size_t i = 0; i < ARRAY_LEN(t->fd); i++)
		t->fd[i] = -1;
	return t;
}

/* The GnuTLS build of libcurl takes no certificates as bytes (7.88 refuses CAINFO_BLOB), only as
 * files: so as files in memory, and nothing touches a disk. */
static int make_file(const struct kube_secret *s, int *fd, char **path)
{
	if (s->p == NULL)
		return 0;
	*fd = memfd_create("kube-credential", MFD_CLOEXEC);
	if (*fd < 0)
		return -errno;
	for (size_t at = 0; at < s->n;) {
		ssize_t n = write(*fd, s->p + at, s->n - at);
		if (n < 0 && errno != EINTR)
			return -errno;
		at += n > 0 ? (size_t)n : 0;
	}
	*path = xasprintf("/proc/self/fd/%d", *fd);
	return 0;
}

static int make_files(struct kube_tls *t)
{
	int r = make_file(&t->ca, &t->fd[0], &t->ca_path);
	if (r == 0)
		r = make_file(&t->cert, &t->fd[1], &t->cert_path);
	return r < 0 ? r : make_file(&t->key, &t->fd[2], &t->key_path);
}

static int read_source(const struct kube_config *c, const struct kube_source *s, const char *key,
		       const char *mark, struct kube_secret *out, char *err, size_t err_n)
{
	if (s->path == NULL && s->data.p == NULL)
		return 0;
	if (s->path != NULL) {
		int r = kube_secret_read(s->path, out);
		if (r < 0) {
			snprintf(err, err_n, "%s: %s: cannot read '%s': %s", c->origin, key,
				 s->path, err_str(r));
			return r;
		}
	} else {
		kube_secret_set(out, kube_secret_slice(&s->data));
	}
	if (memmem(out->p, out->n, mark, strlen(mark)) != NULL)
		return 0;
	snprintf(err, err_n, "%s: %s: %s%s%s holds no PEM '%s'", c->origin, key,
		 s->path != NULL ? "'" : "", s->path != NULL ? s->path : "the data",
		 s->path != NULL ? "'" : "", mark);
	return ERR_PARSE;
}

static int read_sources(const struct kube_config *c, struct kube_tls *t, char *err, size_t err_n)
{
	const struct {
		const struct kube_source *from;
		const char *key, *mark;
		struct kube_secret *to;
	} rows[] = {
		{ &c->ca, "certificate-authority", "CERTIFICATE-----", &t->ca },
		{ &c->cert, "client-certificate", "CERTIFICATE-----", &t->cert },
		{ &c->key, "client-key", "PRIVATE KEY-----", &t->key },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int r = read_source(c, rows[i].from, rows[i].key, rows[i].mark, rows[i].to, err,
				    err_n);
		if (r < 0)
			return r;
	}
	if (t->cert.p == NULL && c->cred.cert.p != NULL) {
		kube_secret_set(&t->cert, kube_secret_slice(&c->cred.cert));
		kube_secret_set(&t->key, kube_secret_slice(&c->cred.key));
	}
	t->system_ca = t->ca.p == NULL && !c->insecure;
	return 0;
}

static bool tls_eq(const struct kube_tls *a, const struct kube_tls *b)
{
	return kube_secret_eq(&a->ca, &b->ca) && kube_secret_eq(&a->cert, &b->cert) &&
	       kube_secret_eq(&a->key, &b->key);
}

/* Makes a new version when something has changed. */
static int renew_tls(struct kube_config *c, char *err, size_t err_n)
{
	struct kube_tls *t = tls_new();
	int r = read_sources(c, t, err, err_n);
	if (r == 0 && c->tls != NULL && tls_eq(t, c->tls)) {
		kube_tls_unref(t);
		c->tls_read_ns = clock_mono_ns();
		return 0;
	}
	if (r == 0 && (r = make_files(t)) < 0)
		snprintf(err, err_n, "%s: cannot hold certificates in memory: %s", c->origin,
			 err_str(r));
	if (r < 0) {
		kube_tls_unref(t);
		return c->tls != NULL ? 0 : r;
	}
	kube_tls_unref(c->tls);
	c->tls = t;
	c->tls_read_ns = clock_mono_ns();
	return 0;
}

static int tls_locked(struct kube_config *c, bool fresh, const _Atomic bool *stop, char *err,
		      size_t err_n)
{
	uint64_t before = c->cred_read_ns;
	if (c->exec.command != NULL && c->token.p == NULL) {
		int r = need_cred(c, &(struct kube_token_ask){ .stop = stop }, err, err_n);
		if (r < 0)
			return r;
	}
	if (c->tls != NULL && before == c->cred_read_ns && c->cred_read_ns <= c->tls_read_ns &&
	    !fresh && !is_due(c->tls_read_ns, c->times.files_ns, false, 0))
		return 0;
	return renew_tls(c, err, err_n);
}

int kube_config_tls(struct kube_config *c, bool fresh, const _Atomic bool *stop,
		    struct kube_tls **ret, char *err, size_t err_n)
{
	pthread_mutex_lock(&c->lock);
	int r = tls_locked(c, fresh, stop, err, err_n);
	if (r == 0) {
		atomic_fetch_add(&c->tls->refs, 1);
		*ret = c->tls;
	}
	pthread_mutex_unlock(&c->lock);
	return r;
}

int kube_config_check(struct kube_config *c, char *err, size_t err_n)
{
	struct kube_tls *t = tls_new();
	int r = read_sources(c, t, err, err_n);
	kube_tls_unref(t);
	if (r == 0 && c->token_file != NULL)
		r = read_token_file(c, err, err_n);
	return r;
}
