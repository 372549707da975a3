/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Certificates with their references: one by the owner, one by each connection. */
#include "http/tlscert.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <gnutls/gnutls.h>

#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "http/tlscert_priv.h"

struct http_tls_pair {
	gnutls_certificate_credentials_t cred;
	_Atomic unsigned refs;
};

struct http_tls {
	char *first_cert, *first_key;
	pthread_mutex_t lock; /* guards pair */
	struct http_tls_pair *pair;
};

static gnutls_datum_t datum_of(struct slice text)
{
	return (gnutls_datum_t){ .data = (unsigned char *)(uintptr_t)text.p,
				 .size = (unsigned)text.n };
}

static int load_pair(struct slice cert, struct slice key, struct http_tls_pair **ret,
		     struct err_text err)
{
	if (cert.n == 0 || key.n == 0 || cert.n > HTTP_TLS_PEM_MAX_BYTES ||
	    key.n > HTTP_TLS_PEM_MAX_BYTES) {
		err_text_set(err, "%s", "a certificate and its key are needed, in PEM");
		return ERR_PARSE;
	}
	gnutls_datum_t c = datum_of(cert), k = datum_of(key);
	struct http_tls_pair *p = xcalloc(1, sizeof(*p));
	p->refs = 1;
	int r = gnutls_certificate_allocate_credentials(&p->cred);
	if (r >= 0)
		r = gnutls_certificate_set_x509_key_mem2(p->cred, &c, &k, GNUTLS_X509_FMT_PEM, NULL,
							 0);
	if (r < 0) {
		err_text_set(err, "%s", gnutls_strerror(r));
		http_tls_pair_unref(p);
		return r == GNUTLS_E_CERTIFICATE_KEY_MISMATCH ? ERR_CONFIG : ERR_PARSE;
	}
	*ret = p;
	return 0;
}

int http_tls_new(struct slice cert, struct slice key, struct http_tls **ret, struct err_text err)
{
	struct http_tls_pair *p;
	int r = load_pair(cert, key, &p, err);
	if (r < 0)
		return r;
	struct http_tls *t = xcalloc(1, sizeof(*t));
	t->first_cert = xstrndup(cert.p, cert.n);
	t->first_key = xstrndup(key.p, key.n);
	t->pair = p;
	pthread_mutex_init(&t->lock, NULL);
	*ret = t;
	return 0;
}

int http_tls_set(struct http_tls *tls, struct slice cert, struct slice key, struct err_text err)
{
	struct http_tls_pair *p, *old;
	int r = load_pair(cert, key, &p, err);
	if (r < 0)
		return r;
	pthread_mutex_lock(&tls->lock);
	old = tls->pair;
	tls->pair = p;
	pthread_mutex_unlock(&tls->lock);
	http_tls_pair_unref(old);
	return 0;
}

void http_tls_free(struct http_tls *tls)
{
	if (tls == NULL)
		return;
	http_tls_pair_unref(tls->pair);
	pthread_mutex_destroy(&tls->lock);
	explicit_bzero(tls->first_key, strlen(tls->first_key));
	free(tls->first_cert);
	free(tls->first_key);
	free(tls);
}

struct http_tls_pair *http_tls_attach(struct http_tls *tls, gnutls_session_t session)
{
	pthread_mutex_lock(&tls->lock);
	struct http_tls_pair *p = tls->pair;
	p->refs++;
	pthread_mutex_unlock(&tls->lock);
	gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, p->cred);
	return p;
}

void http_tls_pair_unref(struct http_tls_pair *pair)
{
	if (pair == NULL || --pair->refs != 0)
		return;
	gnutls_certificate_free_credentials(pair->cred);
	free(pair);
}

const char *http_tls_first_cert(const struct http_tls *tls)
{
	return tls->first_cert;
}

const char *http_tls_first_key(const struct http_tls *tls)
{
	return tls->first_key;
}
