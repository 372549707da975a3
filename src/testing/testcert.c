/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testing/testcert.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <gnutls/x509.h>

#include "base/mem.h"

enum { DAY_S = 24 * 3600 };

struct testcert {
	char *dir;
	gnutls_x509_privkey_t key;
	gnutls_x509_crt_t crt;
	unsigned char serial;
};

static void must(int ret)
{
	if (ret >= 0)
		return;
	fprintf(stderr, "testcert: %s\n", gnutls_strerror(ret));
	abort();
}

static void write_file(const struct testcert *testcert, const char *name, const char *suffix,
		       gnutls_datum_t datum)
{
	CLEANUP(freep) char *path = xasprintf("%s/%s.%s", testcert->dir, name, suffix);
	FILE *f = fopen(path, "we");
	if (f == NULL || fwrite(datum.data, 1, datum.size, f) != datum.size || fclose(f) != 0)
		abort();
	gnutls_free(datum.data);
}

static gnutls_x509_privkey_t new_key(void)
{
	gnutls_x509_privkey_t k;
	must(gnutls_x509_privkey_init(&k));
	must(gnutls_x509_privkey_generate(k, GNUTLS_PK_ECDSA,
					  GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0));
	return k;
}

static gnutls_x509_crt_t new_crt(struct testcert *testcert, gnutls_x509_privkey_t key,
				 const char *cn)
{
	gnutls_x509_crt_t c;
	time_t now = time(NULL);
	unsigned char serial = ++testcert->serial;
	must(gnutls_x509_crt_init(&c));
	must(gnutls_x509_crt_set_version(c, 3));
	must(gnutls_x509_crt_set_serial(c, &serial, 1));
	must(gnutls_x509_crt_set_activation_time(c, now - DAY_S));
	must(gnutls_x509_crt_set_expiration_time(c, now + DAY_S));
	must(gnutls_x509_crt_set_key(c, key));
	must(gnutls_x509_crt_set_dn(c, cn, NULL));
	return c;
}

static void write_crt(const struct testcert *testcert, const char *name, gnutls_x509_crt_t cert)
{
	gnutls_datum_t d;
	must(gnutls_x509_crt_export2(cert, GNUTLS_X509_FMT_PEM, &d));
	write_file(testcert, name, "pem", d);
}

struct testcert *testcert_new(const char *dir)
{
	struct testcert *t = xcalloc(1, sizeof(*t));
	t->dir = xstrdup(dir);
	t->key = new_key();
	t->crt = new_crt(t, t->key, "CN=Test CA");
	must(gnutls_x509_crt_set_basic_constraints(t->crt, 1, -1));
	must(gnutls_x509_crt_set_key_usage(t->crt, GNUTLS_KEY_KEY_CERT_SIGN));
	must(gnutls_x509_crt_sign2(t->crt, t->crt, t->key, GNUTLS_DIG_SHA256, 0));
	write_crt(t, "ca", t->crt);
	return t;
}

void testcert_free(struct testcert *testcert)
{
	gnutls_x509_crt_deinit(testcert->crt);
	gnutls_x509_privkey_deinit(testcert->key);
	free(testcert->dir);
	free(testcert);
}

static void set_san(gnutls_x509_crt_t cert, const char *san)
{
	unsigned char ip[16];
	if (inet_pton(AF_INET, san, ip) == 1)
		must(gnutls_x509_crt_set_subject_alt_name(cert, GNUTLS_SAN_IPADDRESS, ip, 4,
							  GNUTLS_FSAN_SET));
	else
		must(gnutls_x509_crt_set_subject_alt_name(cert, GNUTLS_SAN_DNSNAME, san,
							  (unsigned)strlen(san), GNUTLS_FSAN_SET));
}

void testcert_make(struct testcert *testcert, const char *name, const char *san)
{
	gnutls_x509_privkey_t key = new_key();
	CLEANUP(freep) char *cn = xasprintf("CN=%s", name);
	gnutls_x509_crt_t c = new_crt(testcert, key, cn);
	gnutls_datum_t d;
	set_san(c, san);
	must(gnutls_x509_crt_set_key_usage(c, GNUTLS_KEY_DIGITAL_SIGNATURE));
	must(gnutls_x509_crt_sign2(c, testcert->crt, testcert->key, GNUTLS_DIG_SHA256, 0));
	write_crt(testcert, name, c);
	must(gnutls_x509_privkey_export2(key, GNUTLS_X509_FMT_PEM, &d));
	write_file(testcert, name, "key", d);
	gnutls_x509_crt_deinit(c);
	gnutls_x509_privkey_deinit(key);
}

const char *testcert_path(const char *dir, const char *file)
{
	static char buf[8][128];
	static unsigned at;
	char *p = buf[at++ % ARRAY_LEN(buf)];
	snprintf(p, sizeof(buf[0]), "%s/%s", dir, file);
	return p;
}
