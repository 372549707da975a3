/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Secrets of type rfc2136 (DR-24): both spellings of keys, servers, and errors without secrets. */
#include "provider/rfc2136/settings_priv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "dns/tsig/explain.h"
#include "dns/tsig/key.h"

#define SECRET "c2VjcmV0LXdvcmQ="

struct row {
	struct provider_credential credentials[6];
	const char *expected; /* servers, zone, key, marks; or the error */
};

static void describe(const struct rfc2136_settings *settings, char *out, size_t n)
{
	char key[DNS_NAME_TEXT_MAX] = "-", address[NET_ADDR_TEXT_MAX];
	size_t at = 0;
	if (settings->key.algorithm != NULL)
		dns_name_to_text(settings->key.name, true, key);
	for (size_t i = 0; i < settings->n_servers; i++) {
		net_addr_str(&settings->servers[i].addr, address);
		at += (size_t)snprintf(out + at, n - at, "%s ",
				       settings->servers[i].is_name ? settings->servers[i].text
								    : address);
	}
	snprintf(out + at, n - at, "%s %s %s%s", settings->zone != NULL ? settings->zone : "-", key,
		 settings->key.algorithm != NULL ? settings->key.algorithm->text : "-",
		 settings->has_owner_records ? " marks" : "");
}

#define NOT_A_SERVER(word)                                                                      \
	"word " #word " of the Secret's key 'Server' is neither an IP address nor a host name " \
	"with a dot, with or without a port"
#define KEY(name, value)                         \
	{                                        \
		name,                            \
		{                                \
			value, sizeof(value) - 1 \
		}                                \
	}

static void table(void **state)
{
	static const struct row rows[] = {
		{ { KEY("Server", "192.0.2.1"), KEY("Zone", "Example.COM."),
		    KEY("TSIGKeyName", "Key."), KEY("TSIGSecret", SECRET) },
		  "192.0.2.1:53 example.com key. hmac-sha256" },
		{ { KEY("server", "192.0.2.1:5353, [2001:db8::1]:54\n2001:db8::2"),
		    KEY("tsigKeyName", "key"), KEY("tsigSecret", SECRET),
		    KEY("tsigSecretAlgorithm", "HMAC-SHA512"), KEY("ownerRecords", "true") },
		  "192.0.2.1:5353 [2001:db8::1]:54 [2001:db8::2]:53 - key. hmac-sha512 marks" },
		{ { KEY("Server", "192.0.2.1"), KEY("server", "192.0.2.2") },
		  "192.0.2.1:53 - - -" },
		{ { KEY("Zone", "example.com") },
		  "the Secret has no value for the key 'Server' or 'server'" },
		{ { KEY("Server", "192.0.2.1"), KEY("TSIGKeyName", "key") },
		  "the Secret has no value for the key 'TSIGSecret' or 'tsigSecret'" },
		{ { KEY("Server", "192.0.2.1"), KEY("TSIGSecret", SECRET) },
		  "the Secret has no value for the key 'TSIGKeyName' or 'tsigKeyName'" },
		{ { KEY("Server", "NS.example.com:5353 192.0.2.1 bind.dns.svc.cluster.local.") },
		  "NS.example.com:5353 192.0.2.1:53 bind.dns.svc.cluster.local.:53 - - -" },
		{ { KEY("Server", "localhost:54") }, "127.0.0.1:54 - - -" },
		{ { KEY("Server", "192.0.2.1, ns") }, NOT_A_SERVER(2) },
		{ { KEY("Server", "192.0.2.256") }, NOT_A_SERVER(1) },
		{ { KEY("Server", "192.0.2.1.5:53") }, NOT_A_SERVER(1) },
		{ { KEY("Server", "ns.example.com:0") }, NOT_A_SERVER(1) },
		{ { KEY("Server", "ns.example.com:") }, NOT_A_SERVER(1) },
		{ { KEY("Server", "ns.example.com:65536") }, NOT_A_SERVER(1) },
		{ { KEY("Server", "http://ns.example.com") }, NOT_A_SERVER(1) },
		{ { KEY("Server", "ns.exa\\109ple.com") }, NOT_A_SERVER(1) },
		{ { KEY("Server", "ns..example.com") }, NOT_A_SERVER(1) },
		{ { KEY("Server", ".") }, NOT_A_SERVER(1) },
		{ { KEY("Server", ":53") }, NOT_A_SERVER(1) },
		{ { KEY("Server", " , ") }, "the Secret's key 'Server' has no server" },
		{ { KEY("Server", "1.1.1.1 1.1.1.1 1.1.1.1 1.1.1.1 1.1.1.1 1.1.1.1 1.1.1.1 1.1.1.1 "
				  "1.1.1.1") },
		  "the Secret's key 'Server' has more than 8 servers" },
		{ { KEY("Server", "192.0.2.1"), KEY("Zone", "a..b") },
		  "the Secret's key 'Zone' is not a domain name" },
		{ { KEY("Server", "192.0.2.1"), KEY("OwnerRecords", "yes") },
		  "the Secret's key 'OwnerRecords' must be 'true' or 'false'" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct rfc2136_settings settings;
		char text[400] = "";
		size_t n = 0;
		while (n < ARRAY_LEN(rows[i].credentials) && rows[i].credentials[n].name != NULL)
			n++;
		struct provider_account_conf conf = { .credentials = rows[i].credentials,
						      .n_credentials = n };
		int r = rfc2136_settings_read(&conf, &settings, ERR_TEXT(text));
		if (r == 0)
			describe(&settings, text, sizeof(text));
		else
			assert_int_equal(r, ERR_CONFIG);
		assert_string_equal(text, rows[i].expected);
		assert_null(strstr(text, SECRET));
		rfc2136_settings_done(&settings);
	}
}

/* Keys that cannot be used say why, and nothing of the secret. */
static void bad_keys(void **state)
{
	static const struct {
		const char *secret, *algorithm;
	} rows[] = { { "not/base64!", "" }, { SECRET, "hmac-md5" }, { SECRET, "rot13" } };
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct provider_credential credentials[] = {
			{ "Server", SLICE("192.0.2.1") },
			{ "TSIGKeyName", SLICE("key") },
			{ "TSIGSecret", slice_of(rows[i].secret) },
			{ "TSIGSecretAlgorithm", slice_of(rows[i].algorithm) },
		};
		struct provider_account_conf conf = { .credentials = credentials,
						      .n_credentials = ARRAY_LEN(credentials) };
		struct rfc2136_settings settings;
		char err[300] = "";
		assert_int_equal(rfc2136_settings_read(&conf, &settings, ERR_TEXT(err)),
				 ERR_CONFIG);
		assert_non_null(strstr(err, "the Secret's TSIG key cannot be used: "));
		assert_null(strstr(err, rows[i].secret));
	}
}

/* A TSIG secret under a key whose values may be shown: nothing of it is, neither by the reader of the
 * Secret nor later, when the server refuses the key. */
static void secret_under_another_key(void **state)
{
#define LONG_SECRET "dGhpc2lzYXZlcnlsb25nc2VjcmV0d29yZGluZGVlZA=="
#define HEX_SECRET  "00112233445566778899aabbccddeeff"
	static const struct {
		const char *key, *value;
	} rows[] = {
		{ "Server", LONG_SECRET },	 { "TSIGSecretAlgorithm", LONG_SECRET },
		{ "TSIGKeyName", LONG_SECRET },	 { "Zone", LONG_SECRET },
		{ "OwnerRecords", LONG_SECRET }, { "TSIGKeyName", HEX_SECRET },
		{ "Zone", HEX_SECRET },		 { "TSIGSecretAlgorithm", "hmac-sha256-dGhpc2lz" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct provider_credential credentials[] = {
			{ rows[i].key, slice_of(rows[i].value) },
			{ "Server", SLICE("192.0.2.1") },
			{ "TSIGKeyName", SLICE("key") },
			{ "TSIGSecret", SLICE(SECRET) },
		};
		struct provider_account_conf conf = { .credentials = credentials,
						      .n_credentials = ARRAY_LEN(credentials) };
		struct dns_tsig_report report = { .result = DNS_TSIG_REJECTED,
						  .error = DNS_TSIG_ERROR_BADKEY };
		struct rfc2136_settings settings;
		char err[600] = "";
		if (rfc2136_settings_read(&conf, &settings, ERR_TEXT(err)) == 0)
			dns_tsig_explain(&settings.key, &report, 0, ERR_TEXT(err));
		if (err[0] == '\0' || strcasestr(err, "dGhpc2") != NULL ||
		    strstr(err, "00112233") != NULL)
			fail_msg("%s: %s", rows[i].key, err);
		rfc2136_settings_done(&settings);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table),
		cmocka_unit_test(bad_keys),
		cmocka_unit_test(secret_under_another_key),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
