/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keys of Secrets for PowerDNS, in both spellings (DR-24); no value in a sentence (DR-P12). */
#include "provider/powerdns/settings_priv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"

static int read_row(const struct provider_credential *row, size_t count,
		    struct powerdns_settings *settings, struct err_text err)
{
	struct provider_account_conf conf = { .credentials = row, .n_credentials = count };
	while (conf.n_credentials > 0 && row[conf.n_credentials - 1].name == NULL)
		conf.n_credentials--;
	return powerdns_settings_read(&conf, settings, err);
}

static void accepted(void **state)
{
	const struct {
		struct provider_credential row[6];
		const char *url, *key;
		bool insecure, has_ca;
	} rows[] = {
		{ { { "server", SLICE("https://pdns.example:8443") }, { "apiKey", SLICE("k") } },
		  "https://pdns.example:8443/api/v1/servers/localhost",
		  "k",
		  false,
		  false },
		{ { { "Server", SLICE("http://192.0.2.53:8081/ \n") },
		    { "ApiKey", SLICE(" k\n") } },
		  "http://192.0.2.53:8081/api/v1/servers/localhost",
		  "k",
		  false,
		  false },
		{ { { "Server", SLICE("http://other") },
		    { "server", SLICE("http://one/pdns/api/v1/") },
		    { "ApiKey", SLICE("other") },
		    { "apiKey", SLICE("one") },
		    { "virtualHost", SLICE("b/c") } },
		  "http://one/pdns/api/v1/servers/b%2Fc",
		  "one",
		  false,
		  false },
		{ { { "server", SLICE("https://one") },
		    { "ApiKey", SLICE("k") },
		    { "VirtualHost", SLICE("second") },
		    { "InsecureSkipVerify", SLICE("True") },
		    { "TrustedCaCert", SLICE("-----BEGIN CERTIFICATE-----\n") } },
		  "https://one/api/v1/servers/second",
		  "k",
		  true,
		  true },
		{ { { "server", SLICE("https://one") },
		    { "apiKey", SLICE("k") },
		    { "insecureSkipVerify", SLICE("0") } },
		  "https://one/api/v1/servers/localhost",
		  "k",
		  false,
		  false },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct powerdns_settings settings;
		char err[256] = "";
		if (read_row(rows[i].row, ARRAY_LEN(rows[i].row), &settings, ERR_TEXT(err)) < 0)
			fail_msg("%zu: %s", i, err);
		assert_string_equal(settings.url, rows[i].url);
		assert_string_equal(settings.api_key.p, rows[i].key);
		assert_int_equal(settings.tls.insecure, rows[i].insecure);
		assert_int_equal(settings.tls.ca != NULL, rows[i].has_ca);
		powerdns_settings_done(&settings);
	}
}

static void refused(void **state)
{
	const struct {
		struct provider_credential row[3];
		const char *says[2];
	} rows[] = {
		{ { { "apiKey", SLICE("s3cret") } }, { "'server'", "'Server'" } },
		{ { { "server", SLICE("http://h") } }, { "'apiKey'", "'ApiKey'" } },
		{ { { "server", SLICE("ftp://s3cret") }, { "apiKey", SLICE("k") } },
		  { "'server'", "'Server'" } },
		{ { { "server", SLICE("s3cret.example:8081") }, { "apiKey", SLICE("k") } },
		  { "'server'", "https://" } },
		{ { { "server", SLICE("http://me:s3cret@h") }, { "apiKey", SLICE("k") } },
		  { "'server'", "no user" } },
		{ { { "server", SLICE("http://h/?k=s3cret") }, { "apiKey", SLICE("k") } },
		  { "'server'", "no query" } },
		{ { { "server", SLICE("http://h") }, { "apiKey", SLICE("s3cret\nX: y") } },
		  { "'apiKey'", "control character" } },
		{ { { "server", SLICE("http://h") },
		    { "apiKey", SLICE("k") },
		    { "insecureSkipVerify", SLICE("s3cret") } },
		  { "'insecureSkipVerify'", "'InsecureSkipVerify'" } },
		{ { { "server", SLICE("http://h") },
		    { "apiKey", SLICE("k") },
		    { "trustedCaCert", SLICE("s3cret") } },
		  { "'trustedCaCert'", "PEM" } },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct powerdns_settings settings;
		char err[256] = "";
		assert_int_equal(
			read_row(rows[i].row, ARRAY_LEN(rows[i].row), &settings, ERR_TEXT(err)),
			ERR_CONFIG);
		for (size_t j = 0; j < 2; j++) {
			if (strstr(err, rows[i].says[j]) == NULL)
				fail_msg("%zu: %s", i, err);
		}
		assert_null(strstr(err, "s3cret"));
		powerdns_settings_done(&settings);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(accepted),
		cmocka_unit_test(refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
