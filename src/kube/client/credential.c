/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads and renews the credentials in force: the token, from a file or an exec plugin, and the
 * certificates for TLS. */
#include "kube/client/credential_priv.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "kube/client/config_priv.h"

/* Has what was read at `read_ns` to be read again? */
static bool is_due(uint64_t read_ns, uint64_t every_ns, bool fresh, uint64_t asked_ns)
{
	return clock_mono_ns() - read_ns >= every_ns || (fresh && read_ns <= asked_ns);
}

/* ---- tokens ---- */

static int read_token_file(struct kube_config *config, struct err_text err)
{
	struct secret raw = { 0 };
	int r = secret_read(config->token_file, &raw);
	if (r < 0) {
		err_text_set(err, "%s: token: cannot read '%s': %s", config->origin,
			     config->token_file, err_str(r));
		return r;
	}
	struct slice t = slice_trim(secret_slice(&raw));
	if (t.n == 0 || memchr(t.p, '\n', t.n) != NULL || memchr(t.p, '\0', t.n) != NULL) {
		err_text_set(err, "%s: token: '%s' %s", config->origin, config->token_file,
			     t.n == 0 ? "is empty" : "holds more than one line");
		r = ERR_PARSE;
	} else {
		secret_set(&config->token, t);
		config->token_read_ns = clock_mono_ns();
	}
	secret_done(&raw);
	return r;
}

/* ---- exec plugins ---- */

void kube_config_wake(struct kube_config *config)
{
	pthread_mutex_lock(&config->lock);
	if (config->exec_wake >= 0)
		IGNORE(eventfd_write(config->exec_wake, 1));
	pthread_cond_broadcast(&config->exec_ended);
	pthread_mutex_unlock(&config->lock);
}

/* Without the lock, so that others need not wait for what they do not need. */
static int run_unlocked(struct kube_config *config, const _Atomic bool *stop,
			struct kube_exec_cred *got, struct err_text err)
{
	int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (wake < 0) {
		int r = -errno;
		err_text_set(err, "%s: cannot run exec plugin '%s': %s", config->origin,
			     config->exec.command, err_str(r));
		return r;
	}
	assert(config->exec_wake < 0); /* one plugin at a time */
	config->exec_wake = wake;
	pthread_mutex_unlock(&config->lock);
	int r = kube_exec_run(config, stop, wake, got, err);
	pthread_mutex_lock(&config->lock);
	config->exec_wake = -1;
	close(wake);
	pthread_cond_broadcast(&config->exec_ended);
	return r;
}

static int run_plugin(struct kube_config *config, const _Atomic bool *stop, struct err_text err)
{
	struct kube_exec_cred got = { 0 };
	int r = run_unlocked(config, stop, &got, err);
	if (r < 0)
		return config->cred_known && r != -ECANCELED ? 0 : r;
	kube_exec_cred_done(&config->cred);
	config->cred = got;
	config->cred_known = true;
	config->cred_read_ns = clock_mono_ns();
	return 0;
}

static bool cred_is_good(const struct kube_config *config, const struct kube_token_ask *ask)
{
	uint64_t expires = config->cred.expires_wall_ns;
	bool expired = expires != 0 && clock_wall_ns() >= expires;
	return config->cred_known && !expired &&
	       !(ask->fresh && config->cred_read_ns <= ask->asked_ns);
}

/* Runs the plugin when there is need to; one at a time. */
static int need_cred(struct kube_config *config, const struct kube_token_ask *ask,
		     struct err_text err)
{
	while (!cred_is_good(config, ask)) {
		if (ask->stop != NULL && atomic_load(ask->stop))
			return -ECANCELED;
		if (config->exec_wake < 0)
			return run_plugin(config, ask->stop, err);
		pthread_cond_wait(&config->exec_ended, &config->lock);
	}
	return 0;
}

/* ---- the token in force ---- */

static int token_locked(struct kube_config *config, const struct kube_token_ask *ask,
			struct strbuf *out, struct err_text err)
{
	int r = 0;
	if (config->token_file != NULL &&
	    (config->token.p == NULL ||
	     is_due(config->token_read_ns, config->times.token_ns, ask->fresh, ask->asked_ns)))
		r = read_token_file(config, err);
	if (config->token.p != NULL) {
		strbuf_add(out, config->token.p, config->token.n);
		return 0;
	}
	if (r < 0 || config->exec.command == NULL)
		return r;
	if ((r = need_cred(config, ask, err)) < 0)
		return r;
	strbuf_add(out, config->cred.token.p, config->cred.token.n);
	return 0;
}

int kube_config_token(struct kube_config *config, const struct kube_token_ask *ask,
		      struct strbuf *out, struct err_text err)
{
	/* As client-go: no credentials over a line that anybody can read. */
	if (strncmp(config->server, "https://", 8) != 0 &&
	    strncmp(config->server, KUBE_UNIX_SCHEME, strlen(KUBE_UNIX_SCHEME)) != 0)
		return 0;
	pthread_mutex_lock(&config->lock);
	int r = token_locked(config, ask, out, err);
	pthread_mutex_unlock(&config->lock);
	return r;
}

/* ---- TLS ---- */

void kube_tls_unref(struct kube_tls *tls)
{
	if (tls == NULL)
		return;
	unsigned before = atomic_fetch_sub(&tls->refs, 1);
	assert(before != 0);
	if (before != 1)
		return;
	for (size_t i = 0; i < ARRAY_LEN(tls->files); i++)
		http_memfile_done(&tls->files[i]);
	secret_done(&tls->ca);
	secret_done(&tls->cert);
	secret_done(&tls->key);
	free(tls);
}

static struct kube_tls *tls_new(void)
{
	struct kube_tls *t = xcalloc(1, sizeof(*t));
	atomic_store(&t->refs, 1);
	for (size_t i = 0; i < ARRAY_LEN(t->files); i++)
		t->files[i] = HTTP_MEMFILE_NONE;
	return t;
}

static int make_files(struct kube_tls *tls)
{
	const struct {
		const struct secret *from;
		const char **path;
	} rows[] = {
		{ &tls->ca, &tls->ca_path },
		{ &tls->cert, &tls->cert_path },
		{ &tls->key, &tls->key_path },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (rows[i].from->p == NULL)
			continue;
		int r = http_memfile_make(secret_slice(rows[i].from), &tls->files[i]);
		if (r < 0)
			return r;
		*rows[i].path = tls->files[i].path;
	}
	return 0;
}

static int read_source(const struct kube_config *config, const struct kube_source *source,
		       const char *key, const char *mark, struct secret *out, struct err_text err)
{
	if (source->path == NULL && source->data.p == NULL)
		return 0;
	if (source->path != NULL) {
		int r = secret_read(source->path, out);
		if (r < 0) {
			err_text_set(err, "%s: %s: cannot read '%s': %s", config->origin, key,
				     source->path, err_str(r));
			return r;
		}
	} else {
		secret_set(out, secret_slice(&source->data));
	}
	if (memmem(out->p, out->n, mark, strlen(mark)) != NULL)
		return 0;
	err_text_set(err, "%s: %s: %s%s%s holds no PEM '%s'", config->origin, key,
		     source->path != NULL ? "'" : "",
		     source->path != NULL ? source->path : "the data",
		     source->path != NULL ? "'" : "", mark);
	return ERR_PARSE;
}

static int read_sources(const struct kube_config *config, struct kube_tls *tls, struct err_text err)
{
	const struct {
		const struct kube_source *from;
		const char *key, *mark;
		struct secret *to;
	} rows[] = {
		{ &config->ca, "certificate-authority", "CERTIFICATE-----", &tls->ca },
		{ &config->cert, "client-certificate", "CERTIFICATE-----", &tls->cert },
		{ &config->key, "client-key", "PRIVATE KEY-----", &tls->key },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int r = read_source(config, rows[i].from, rows[i].key, rows[i].mark, rows[i].to,
				    err);
		if (r < 0)
			return r;
	}
	if (tls->cert.p == NULL && config->cred.cert.p != NULL) {
		secret_set(&tls->cert, secret_slice(&config->cred.cert));
		secret_set(&tls->key, secret_slice(&config->cred.key));
	}
	tls->system_ca = tls->ca.p == NULL && !config->insecure;
	return 0;
}

static bool tls_eq(const struct kube_tls *left, const struct kube_tls *right)
{
	return secret_eq(&left->ca, &right->ca) && secret_eq(&left->cert, &right->cert) &&
	       secret_eq(&left->key, &right->key);
}

/* Makes a new version when something has changed. */
static int renew_tls(struct kube_config *config, struct err_text err)
{
	struct kube_tls *t = tls_new();
	int r = read_sources(config, t, err);
	if (r == 0 && config->tls != NULL && tls_eq(t, config->tls)) {
		kube_tls_unref(t);
		config->tls_read_ns = clock_mono_ns();
		return 0;
	}
	if (r == 0 && (r = make_files(t)) < 0)
		err_text_set(err, "%s: cannot hold certificates in memory: %s", config->origin,
			     err_str(r));
	if (r < 0) {
		kube_tls_unref(t);
		return config->tls != NULL ? 0 : r;
	}
	kube_tls_unref(config->tls);
	config->tls = t;
	config->tls_read_ns = clock_mono_ns();
	return 0;
}

static int tls_locked(struct kube_config *config, bool fresh, const _Atomic bool *stop,
		      struct err_text err)
{
	uint64_t before = config->cred_read_ns;
	if (config->exec.command != NULL && config->token.p == NULL) {
		int r = need_cred(config, &(struct kube_token_ask){ .stop = stop }, err);
		if (r < 0)
			return r;
	}
	if (config->tls != NULL && before == config->cred_read_ns &&
	    config->cred_read_ns <= config->tls_read_ns && !fresh &&
	    !is_due(config->tls_read_ns, config->times.files_ns, false, 0))
		return 0;
	return renew_tls(config, err);
}

int kube_config_tls(struct kube_config *config, bool fresh, const _Atomic bool *stop,
		    struct kube_tls **ret, struct err_text err)
{
	pthread_mutex_lock(&config->lock);
	int r = tls_locked(config, fresh, stop, err);
	if (r == 0) {
		atomic_fetch_add(&config->tls->refs, 1);
		*ret = config->tls;
	}
	pthread_mutex_unlock(&config->lock);
	return r;
}

int kube_config_check(struct kube_config *config, struct err_text err)
{
	struct kube_tls *t = tls_new();
	int r = read_sources(config, t, err);
	kube_tls_unref(t);
	if (r == 0 && config->token_file != NULL)
		r = read_token_file(config, err);
	return r;
}
