/* SPDX-License-Identifier: GPL-3.0-or-later */
/* RS256 against a signature that OpenSSL made, and keys that are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <gnutls/x509.h>

#include "base/crypto/rsa.h"
#include "base/err.h"
#include "base/mem.h"

/* Made for this test, used nowhere else. */
static const char pkcs1[] = "-----BEGIN RSA PRIVATE KEY-----\n"
			    "MIIEowIBAAKCAQEAvy4VBwzx2R1SKa61EGiLZ+4VA7ZHJV+ARskjHTXIXUtF+BZh\n"
			    "FJ3bIUXcNu25LkN2XCmatDaivAOAuVbWIAr35xAHuKG8bYsl3XJsIk+zNDsDH50E\n"
			    "oXcGco+E+jKMCZ9nNQMB6Jw7zpQ5rmFlkFygpy5gpIupjh632KoEqxub48bXkmso\n"
			    "XERPQ2GD2A6OT0H12ZPR2HYXCL5kWjBxSvuyGEVYFrV0Vf4kf3qGUyVNaUqBiS/7\n"
			    "aOaLxbi9NWoKgdpzXqyH0Gafsnnny70H8Pl6bwxoF0nSMOANqIlBqi9iPb7OD4AL\n"
			    "eKify9t8iB+QIA2977XIq2PV1ukSA9MQOreAOwIDAQABAoIBADZzH/8Jk0oUfUWs\n"
			    "4hnhxK6dkvOjMyE0UXsXpz4XBtF3cl6ltRGjofkYhg9I5qCEC05VdR/VncSxtLRU\n"
			    "xJiMty1ilehifCGw62BmSeD91RrPoeSbmmmIVlhDgwqlYdgNw93H1P/Um34LHmCJ\n"
			    "kd0rXIAxB8plkq2NFyyIw9qd+ujEx3FgW5q3hOZ/iENky69+WlrbP+r4nbHI8xCw\n"
			    "onleG3xbzSdArlArCGggY3+hikP6C0isoEEzSDIKND1Pymkd209x6pwnSunjG2Lg\n"
			    "UbgrqnTdg8DyBa4rFBGuuoVptfbREvnKumd7xjB04MhhCY8l9ZuKD9IFnMrYPJrS\n"
			    "xRsAc4UCgYEA7BXLFt1tMoTy14IOCk3EyhnoxJunG23nHvc2hxiSCjiyyDVIBW2/\n"
			    "jZhyQ1AsjO4hEbJYoc1SWMYnaBFLBe9HJYYBOk+5lTUaTSA9vsoGCu/lVUNpkmiM\n"
			    "8BmI3kBuldh025ykF3n3feDHybjNbyWi6oka8sOhdkf24GjFglT/E+8CgYEAz06S\n"
			    "kqnltB4fsOIvBcnKjcZaVZa3uf4ywoySTvLF+XHR60HJFXIFpme+raWF5VVdlAmP\n"
			    "oK6WbCia05SuUUaYwcF5RqhnN1z8H98hxIpjJMTxSbkZqLUluNE6VP8dXRVLdWVV\n"
			    "UNKrtK5MIEtXq6uHDExPgc9MmpiGlB7nupke3HUCgYBo1MCKlaZAcZKXqXNsld3V\n"
			    "VC3s56ULZADl2iZHVNy8VzLj/ezOJE6TpGbQhxBRQAhFIGmE53QyYULsTgl/SCHS\n"
			    "gq+W4gHpRFw6dR+V0YVfY+j0tGtzjKNQljYVYoz4UtaJEgQ3PHxuU9rDMyFdwluW\n"
			    "Q21I8R+IMypnuX5CglWF1wKBgQCExBly/IQ0GqbJLdJXrqieq83myqPX5kiz+Dsr\n"
			    "fKf13UNHm9YgeenMbNzdcQiTm1xXFth5W9bSZh7iKnKJcuEaFcKJ0ghomJCQCOMj\n"
			    "cE2Wmtq9EGKyfXEvMDBfhxNTLfQpt0AwhvuYt5fhht8a/rt60NSKmizBRbXK3xAh\n"
			    "nTb6kQKBgAfabtsQOCacAtHoR7B5VoQKCbUaz/IC0b983dT/VRf+bMOHIL5JFSy2\n"
			    "nwWgVIGCgxcQdE7odJWftMq5ZBsBkVw7tEH+t2FCuIH4w1MwtFk9OlMtAKiwuAi8\n"
			    "2XPfewV3goEhUKNx5nIgatRb6Z2dkrs04fRfuwgldCEWe/E1mhEu\n"
			    "-----END RSA PRIVATE KEY-----\n";

/* openssl dgst -sha256 -sign */
static const char signed_text[] = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJ0ZXN0In0";
static const char signature_hex[] =
	"0474167017454fb240c7a2e06ef636da105bf215b80bc97373993e7781f1c028"
	"750e337742976d7e921819b99931273a4d1da035d7a657674131f03406effa5b"
	"0abe7b91f23907003cfca93289e4d44598668f2ea57a74bc0d68753d29c8916b"
	"dcdc903f6b710fee333c6cafc918c0a19942a175554eba70ba19b7b7ee449af8"
	"65c2fbef80fb24016b971de69e39904876ffff70c222acc4eddbae0cc0931296"
	"220d7aba17b3ffdc10e1c215d288173f02a95f064ceec831063cb889e57989bf"
	"d7a486573a7dc7a4b361b8334736dd486b27ab7d90a15bf2c0b549e665042084"
	"2cbdd5efd13e5f8c7464a31d30ca7577b5ee6722c53fc0055e8c09ee451f7a2d";

static void hex_of(struct slice bytes, char *out)
{
	for (size_t i = 0; i < bytes.n; i++)
		snprintf(out + 2 * i, 3, "%02x", (uint8_t)bytes.p[i]);
}

static void check_signature(struct slice pem)
{
	struct rsa_key *key = NULL;
	struct strbuf out = STRBUF_INIT;
	char why[256] = "", hex[2 * 256 + 1];
	if (rsa_key_new(pem, &key, ERR_TEXT(why)) < 0)
		fail_msg("%s", why);
	assert_int_equal(rsa_sign_sha256(key, SLICE("x"), &out), 0);
	strbuf_reset(&out);
	assert_int_equal(rsa_sign_sha256(key, slice_of(signed_text), &out), 0);
	assert_int_equal(out.n, 256);
	hex_of(strbuf_slice(&out), hex);
	assert_string_equal(hex, signature_hex);
	strbuf_done(&out);
	rsa_key_free(key);
}

/* A key in PKCS #8 form, perhaps encrypted. */
static gnutls_datum_t export_pkcs8(gnutls_x509_privkey_t key, const char *password)
{
	gnutls_datum_t out;
	unsigned flags = password != NULL ? GNUTLS_PKCS_PBES2_AES_128 : GNUTLS_PKCS_PLAIN;
	assert_int_equal(
		gnutls_x509_privkey_export2_pkcs8(key, GNUTLS_X509_FMT_PEM, password, flags, &out),
		0);
	return out;
}

static struct slice slice_of_datum(gnutls_datum_t datum)
{
	return (struct slice){ (char *)datum.data, datum.size };
}

static void signs(void **state)
{
	gnutls_x509_privkey_t key;
	gnutls_datum_t text = { .data = (unsigned char *)(uintptr_t)pkcs1,
				.size = sizeof(pkcs1) - 1 };
	(void)state;
	check_signature(slice_of(pkcs1));
	assert_int_equal(gnutls_x509_privkey_init(&key), 0);
	assert_int_equal(gnutls_x509_privkey_import(key, &text, GNUTLS_X509_FMT_PEM), 0);
	gnutls_datum_t pkcs8 = export_pkcs8(key, NULL);
	check_signature(slice_of_datum(pkcs8));
	gnutls_free(pkcs8.data);
	gnutls_x509_privkey_deinit(key);
	rsa_key_free(NULL);
}

static void refuse(struct slice pem, int code, const char *reason)
{
	struct rsa_key *key = NULL;
	char why[256] = "";
	assert_int_equal(rsa_key_new(pem, &key, ERR_TEXT(why)), code);
	assert_null(key);
	if (strncmp(why, reason, strlen(reason)) != 0)
		fail_msg("'%s', expected '%s'", why, reason);
}

static void refuse_generated(gnutls_pk_algorithm_t algorithm, unsigned bits, const char *password,
			     int code, const char *reason)
{
	gnutls_x509_privkey_t key;
	assert_int_equal(gnutls_x509_privkey_init(&key), 0);
	assert_int_equal(gnutls_x509_privkey_generate(key, algorithm, bits, 0), 0);
	gnutls_datum_t pem = export_pkcs8(key, password);
	refuse(slice_of_datum(pem), code, reason);
	gnutls_free(pem.data);
	gnutls_x509_privkey_deinit(key);
}

static void refuses(void **state)
{
	CLEANUP(freep) char *big = xcalloc(1, RSA_PEM_MAX_BYTES + 1);
	(void)state;
	refuse(SLICE(""), ERR_PARSE, "not a private key in PEM form: ");
	refuse(SLICE("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n"), ERR_PARSE,
	       "not a private key in PEM form: ");
	refuse((struct slice){ pkcs1, sizeof(pkcs1) / 2 }, ERR_PARSE,
	       "not a private key in PEM form: ");
	refuse((struct slice){ big, RSA_PEM_MAX_BYTES }, ERR_PARSE,
	       "not a private key in PEM form: ");
	refuse((struct slice){ big, RSA_PEM_MAX_BYTES + 1 }, ERR_LIMIT,
	       "the private key is longer than 65536 bytes");
	refuse_generated(GNUTLS_PK_RSA, 1024, NULL, ERR_LIMIT,
			 "the RSA key has 1024 bits: it must have 2048 to 16384");
	refuse_generated(GNUTLS_PK_EC, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), NULL,
			 ERR_UNSUPPORTED,
			 "the private key is of type EC/ECDSA: an RSA key is needed");
	refuse_generated(GNUTLS_PK_EC, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), "word",
			 ERR_UNSUPPORTED, "the private key is encrypted");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(signs),
		cmocka_unit_test(refuses),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
