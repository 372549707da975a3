/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The cluster's TLS profile (OP-D5). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "controller/dnsoperator/operands/tls_profile.h"

#define MODERN_CIPHERS "TLS_AES_128_GCM_SHA256,TLS_AES_256_GCM_SHA384,TLS_CHACHA20_POLY1305_SHA256"
#define INTERMEDIATE_CIPHERS                                                                      \
	MODERN_CIPHERS ",TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,TLS_ECDHE_RSA_WITH_AES_128_GCM_" \
		       "SHA256,TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,TLS_ECDHE_RSA_WITH_AES_"   \
		       "256_GCM_SHA384,TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,TLS_ECDHE_"  \
		       "RSA_WITH_CHACHA20_POLY1305_SHA256"
#define PROFILE(TEXT) "{\"spec\":{\"tlsSecurityProfile\":{" TEXT "}}}"
#define CUSTOM(CIPHERS, LEAST)                                          \
	PROFILE("\"type\":\"Custom\",\"custom\":{\"ciphers\":[" CIPHERS \
		"],\"minTLSVersion\":\"" LEAST "\"}")

static const struct {
	const char *object; /* NULL: none */
	const char *ciphers, *least;
} rows[] = {
	{ NULL, INTERMEDIATE_CIPHERS, "VersionTLS12" },
	{ "{\"spec\":{}}", INTERMEDIATE_CIPHERS, "VersionTLS12" },
	{ PROFILE("\"type\":\"Intermediate\",\"intermediate\":{}"), INTERMEDIATE_CIPHERS,
	  "VersionTLS12" },
	{ PROFILE("\"type\":\"Modern\""), MODERN_CIPHERS, "VersionTLS13" },
	{ PROFILE("\"type\":\"New\""), INTERMEDIATE_CIPHERS, "VersionTLS12" },
	{ PROFILE("\"type\":\"Custom\""), INTERMEDIATE_CIPHERS, "VersionTLS12" },
	{ CUSTOM("\"DES-CBC3-SHA\",\"ECDHE-RSA-AES256-SHA384\",7,\"AES128-SHA\"", "VersionTLS11"),
	  "TLS_RSA_WITH_3DES_EDE_CBC_SHA,TLS_RSA_WITH_AES_128_CBC_SHA", "VersionTLS11" },
	{ CUSTOM("\"AES128-SHA\"", "--x"), "TLS_RSA_WITH_AES_128_CBC_SHA", "VersionTLS12" },
	/* none that Go has */
	{ CUSTOM("\"ECDHE-RSA-AES256-SHA384\"", "VersionTLS10"), INTERMEDIATE_CIPHERS,
	  "VersionTLS12" },
};

static void profiles(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_done) struct strbuf got = STRBUF_INIT;
		json_t *o = rows[i].object != NULL ? json_loads(rows[i].object, 0, NULL) : NULL;
		assert_int_equal(o != NULL, rows[i].object != NULL);
		assert_string_equal(dnsoperator_tls_profile(o, &got), rows[i].least);
		assert_string_equal(got.s, rows[i].ciphers);
		json_decref(o);
	}
}

static void old(void **state)
{
	CLEANUP(strbuf_done) struct strbuf got = STRBUF_INIT;
	json_t *o = json_loads(PROFILE("\"type\":\"Old\""), 0, NULL);
	(void)state;
	assert_string_equal(dnsoperator_tls_profile(o, &got), "VersionTLS10");
	assert_int_equal(strncmp(got.s, INTERMEDIATE_CIPHERS ",", strlen(INTERMEDIATE_CIPHERS) + 1),
			 0);
	assert_non_null(
		strstr(got.s, ",TLS_RSA_WITH_AES_256_CBC_SHA,TLS_RSA_WITH_3DES_EDE_CBC_SHA"));
	json_decref(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(profiles),
		cmocka_unit_test(old),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
