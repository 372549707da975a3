/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes keys and certificates (authorities and servers) with GnuTLS, and reads validity times. */
#include "net/certgen.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

#include "base/err.h"
#include "base/err_text.h"
#include "base/rng.h"

enum {
	SERIAL_BYTES = 16,
	KEY_ID_BYTES = 64,
	CERTS_MAX_BYTES = 16 << 20, /* read of a list */
};

struct work {
	gnutls_x509_privkey_t key, ca_key;
	gnutls_x509_crt_t crt, ca_crt;
};

static gnutls_datum_t datum_of(struct slice text)
{
	return (gnutls_datum_t){ .data = (unsigned char *)(uintptr_t)text.p,
				 .size = (unsigned)text.n };
}

static void work_done(struct work *work)
{
	if (work->crt != NULL)
		gnutls_x509_crt_deinit(work->crt);
	if (work->ca_crt != NULL)
		gnutls_x509_crt_deinit(work->ca_crt);
	if (work->key != NULL)
		gnutls_x509_privkey_deinit(work->key);
	if (work->ca_key != NULL)
		gnutls_x509_privkey_deinit(work->ca_key);
}

static int import_crt(struct slice pem, gnutls_x509_crt_t *ret)
{
	gnutls_datum_t d = datum_of(pem);
	gnutls_x509_crt_t c;
	int r = gnutls_x509_crt_init(&c);
	if (r < 0)
		return r;
	r = gnutls_x509_crt_import(c, &d, GNUTLS_X509_FMT_PEM);
	if (r < 0) {
		gnutls_x509_crt_deinit(c);
		return r;
	}
	*ret = c;
	return 0;
}

static int load_ca(struct work *work, const struct net_certgen *certgen)
{
	gnutls_datum_t key = datum_of(slice_of(certgen->ca_key));
	int r = import_crt(slice_of(certgen->ca_cert), &work->ca_crt);
	if (r >= 0)
		r = gnutls_x509_privkey_init(&work->ca_key);
	if (r >= 0)
		r = gnutls_x509_privkey_import(work->ca_key, &key, GNUTLS_X509_FMT_PEM);
	return r;
}

static int make_key(gnutls_x509_privkey_t *ret)
{
	int r = gnutls_x509_privkey_init(ret);
	if (r < 0)
		return r;
	return gnutls_x509_privkey_generate(*ret, GNUTLS_PK_ECDSA,
					    GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);
}

static int set_serial(gnutls_x509_crt_t cert)
{
	uint8_t serial[SERIAL_BYTES];
	rng_secure(serial, sizeof(serial));
	serial[0] = (uint8_t)((serial[0] & 0x7f) | 0x40); /* positive, of full length */
	return gnutls_x509_crt_set_serial(cert, serial, sizeof(serial));
}

static int add_name(gnutls_x509_crt_t cert, const char *name)
{
	uint8_t ip[16];
	if (inet_pton(AF_INET, name, ip) == 1)
		return gnutls_x509_crt_set_subject_alt_name(cert, GNUTLS_SAN_IPADDRESS, ip, 4,
							    GNUTLS_FSAN_APPEND);
	if (inet_pton(AF_INET6, name, ip) == 1)
		return gnutls_x509_crt_set_subject_alt_name(cert, GNUTLS_SAN_IPADDRESS, ip, 16,
							    GNUTLS_FSAN_APPEND);
	return gnutls_x509_crt_set_subject_alt_name(cert, GNUTLS_SAN_DNSNAME, name,
						    (unsigned)strlen(name), GNUTLS_FSAN_APPEND);
}

static int set_names(gnutls_x509_crt_t cert, const struct net_certgen *certgen)
{
	int r = gnutls_x509_crt_set_dn_by_oid(cert, GNUTLS_OID_X520_COMMON_NAME, 0, certgen->cn,
					      (unsigned)strlen(certgen->cn));
	for (size_t i = 0; r >= 0 && certgen->names != NULL && certgen->names[i] != NULL; i++)
		r = add_name(cert, certgen->names[i]);
	return r;
}

/* What it may be used for, and the ids by which a verifier finds the right authority of two. */
static int set_usage(struct work *work, const struct net_certgen *certgen)
{
	gnutls_x509_crt_t c = work->crt;
	uint8_t id[KEY_ID_BYTES];
	size_t n = sizeof(id);
	int r = gnutls_x509_crt_set_basic_constraints(c, certgen->ca, certgen->ca ? 0 : -1);
	if (r >= 0)
		r = gnutls_x509_crt_set_key_usage(c, certgen->ca ? GNUTLS_KEY_KEY_CERT_SIGN |
									   GNUTLS_KEY_CRL_SIGN
								 : GNUTLS_KEY_DIGITAL_SIGNATURE);
	if (r >= 0 && !certgen->ca)
		r = gnutls_x509_crt_set_key_purpose_oid(
			c, certgen->client ? GNUTLS_KP_TLS_WWW_CLIENT : GNUTLS_KP_TLS_WWW_SERVER,
			0);
	if (r >= 0)
		r = gnutls_x509_crt_get_key_id(c, GNUTLS_KEYID_USE_SHA256, id, &n);
	if (r >= 0)
		r = gnutls_x509_crt_set_subject_key_id(c, id, n);
	n = sizeof(id);
	if (r >= 0 && work->ca_crt != NULL &&
	    gnutls_x509_crt_get_subject_key_id(work->ca_crt, id, &n, NULL) >= 0)
		r = gnutls_x509_crt_set_authority_key_id(c, id, n);
	return r;
}

static int make_crt(struct work *work, const struct net_certgen *certgen)
{
	int r = gnutls_x509_crt_init(&work->crt);
	if (r >= 0)
		r = gnutls_x509_crt_set_version(work->crt, 3);
	if (r >= 0)
		r = set_serial(work->crt);
	if (r >= 0)
		r = gnutls_x509_crt_set_activation_time(work->crt, (time_t)certgen->not_before_s);
	if (r >= 0)
		r = gnutls_x509_crt_set_expiration_time(work->crt, (time_t)certgen->not_after_s);
	if (r >= 0)
		r = gnutls_x509_crt_set_key(work->crt, work->key);
	if (r >= 0)
		r = set_names(work->crt, certgen);
	if (r >= 0)
		r = set_usage(work, certgen);
	if (r < 0)
		return r;
	return gnutls_x509_crt_sign2(work->crt, work->ca_crt != NULL ? work->ca_crt : work->crt,
				     work->ca_key != NULL ? work->ca_key : work->key,
				     GNUTLS_DIG_SHA256, 0);
}

static int export_both(const struct work *work, struct strbuf *cert, struct strbuf *key)
{
	gnutls_datum_t c, k;
	int r = gnutls_x509_crt_export2(work->crt, GNUTLS_X509_FMT_PEM, &c);
	if (r < 0)
		return r;
	r = gnutls_x509_privkey_export2(work->key, GNUTLS_X509_FMT_PEM, &k);
	if (r >= 0) {
		strbuf_add(cert, c.data, c.size);
		strbuf_add(key, k.data, k.size);
		gnutls_memset(k.data, 0, k.size);
		gnutls_free(k.data);
	}
	gnutls_free(c.data);
	return r;
}

int net_certgen(const struct net_certgen *certgen, struct strbuf *cert, struct strbuf *key,
		struct err_text err)
{
	CLEANUP(work_done) struct work w = { 0 };
	int r = 0;
	if (certgen->ca_cert != NULL)
		r = load_ca(&w, certgen);
	if (r < 0) {
		err_text_set(err, "the CA cannot be read: %s", gnutls_strerror(r));
		return ERR_PARSE;
	}
	r = make_key(&w.key);
	if (r >= 0)
		r = make_crt(&w, certgen);
	if (r >= 0)
		r = export_both(&w, cert, key);
	if (r < 0) {
		err_text_set(err, "cannot create a certificate: %s", gnutls_strerror(r));
		return ERR_INTERNAL;
	}
	return 0;
}

int net_certs_count(struct slice pem)
{
	gnutls_datum_t d = datum_of(pem);
	gnutls_x509_crt_t *v = NULL;
	unsigned n = 0;
	if (pem.n > CERTS_MAX_BYTES ||
	    gnutls_x509_crt_list_import2(&v, &n, &d, GNUTLS_X509_FMT_PEM, 0) < 0)
		return ERR_PARSE;
	for (unsigned i = 0; i < n; i++)
		gnutls_x509_crt_deinit(v[i]);
	gnutls_free(v);
	return n != 0 ? (int)n : ERR_PARSE;
}

int net_certinfo(struct slice pem, struct net_certinfo *ret)
{
	gnutls_x509_crt_t c;
	unsigned ca = 0;
	if (import_crt(pem, &c) < 0)
		return ERR_PARSE;
	ret->not_before_s = (uint64_t)gnutls_x509_crt_get_activation_time(c);
	ret->not_after_s = (uint64_t)gnutls_x509_crt_get_expiration_time(c);
	ret->ca = gnutls_x509_crt_get_basic_constraints(c, NULL, &ca, NULL) >= 0 && ca != 0;
	gnutls_x509_crt_deinit(c);
	return 0;
}

bool net_cert_signed_by(struct slice pem, struct slice ca)
{
	struct work w = { 0 };
	unsigned status = 0;
	bool ok = import_crt(pem, &w.crt) >= 0 && import_crt(ca, &w.ca_crt) >= 0 &&
		  gnutls_x509_crt_verify(w.crt, &w.ca_crt, 1,
					 GNUTLS_VERIFY_DISABLE_TIME_CHECKS |
						 GNUTLS_VERIFY_DISABLE_TRUSTED_TIME_CHECKS,
					 &status) >= 0 &&
		  status == 0;
	work_done(&w);
	return ok;
}

bool net_cert_has_key(struct slice pem, struct slice key)
{
	struct work w = { 0 };
	gnutls_datum_t text = datum_of(key);
	unsigned char a[KEY_ID_BYTES], b[KEY_ID_BYTES];
	size_t a_n = sizeof(a), b_n = sizeof(b);
	bool ok = key.n != 0 && import_crt(pem, &w.crt) >= 0 &&
		  gnutls_x509_privkey_init(&w.key) >= 0 &&
		  gnutls_x509_privkey_import(w.key, &text, GNUTLS_X509_FMT_PEM) >= 0 &&
		  gnutls_x509_crt_get_key_id(w.crt, 0, a, &a_n) >= 0 &&
		  gnutls_x509_privkey_get_key_id(w.key, 0, b, &b_n) >= 0 && a_n == b_n &&
		  memcmp(a, b, a_n) == 0;
	work_done(&w);
	return ok;
}

bool net_cert_has_name(struct slice pem, const char *name)
{
	gnutls_x509_crt_t c;
	if (import_crt(pem, &c) < 0)
		return false;
	bool ok = gnutls_x509_crt_check_hostname(c, name) != 0;
	gnutls_x509_crt_deinit(c);
	return ok;
}
