/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keys of Secrets under several names (DR-24, DR-25), and error texts without their values (DR-P12). */
#include "provider/shared/credentials.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/rng.h"
#include "base/rng_test.h"

static const struct provider_key access_key = { { "accessKeyID", "accessKeyId",
						  "AWS_ACCESS_KEY_ID" } };

static void names_of_a_key(void **state)
{
	const struct {
		struct provider_credential credentials[2];
		const char *value;
	} rows[] = {
		{ { { "accessKeyID", SLICE("one") }, { "x", SLICE("y") } }, "one" },
		{ { { "AWS_ACCESS_KEY_ID", SLICE(" two\n") }, { "x", SLICE("y") } }, "two" },
		{ { { "AWS_ACCESS_KEY_ID", SLICE("two") }, { "accessKeyId", SLICE("one") } },
		  "one" },
		{ { { "accessKeyID", SLICE(" ") }, { "AWS_ACCESS_KEY_ID", SLICE("two") } }, "two" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct provider_account_conf conf = { .credentials = rows[i].credentials,
						      .n_credentials = 2 };
		struct slice value;
		char err[200];
		assert_int_equal(
			provider_credential_require(&conf, &access_key, &value, ERR_TEXT(err)), 0);
		assert_true(slice_is(value, rows[i].value));
	}
}

static void missing_key_has_all_names(void **state)
{
	struct provider_credential other = { "secretAccessKey", SLICE("hidden") };
	struct provider_account_conf conf = { .credentials = &other, .n_credentials = 1 };
	struct slice value;
	char err[200];
	(void)state;
	assert_int_equal(provider_credential_require(&conf, &access_key, &value, ERR_TEXT(err)),
			 ERR_CONFIG);
	assert_string_equal(err,
			    "the Secret has no value for the key 'accessKeyID' or 'accessKeyId' "
			    "or 'AWS_ACCESS_KEY_ID'");
	assert_null(provider_credential_get(&conf, &access_key).p);
}

/* DR-22: that of the object, then of the Secret, then the provider's default. */
static void order_of_regions(void **state)
{
	static const struct provider_key key = { { "region", "AWS_REGION" } };
	struct provider_credential secret = { "AWS_REGION", SLICE(" secret\n") };
	const struct {
		const char *region;
		size_t n_credentials;
		const char *fallback, *wanted;
	} rows[] = {
		{ "spec", 1, "default", "spec" }, { "", 1, "default", "secret" },
		{ NULL, 1, "default", "secret" }, { "spec", 0, "default", "spec" },
		{ "", 0, "default", "default" },  { "", 0, "", "" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct provider_account_conf conf = { .credentials = &secret,
						      .n_credentials = rows[i].n_credentials,
						      .region = rows[i].region };
		struct slice found = provider_credential_region(&conf, &key, rows[i].fallback);
		assert_true(slice_is(found, rows[i].wanted));
	}
}

static void values_are_masked(void **state)
{
	struct provider_credential credentials[] = { { "short", SLICE("us") },
						     { "token", SLICE("abcd") },
						     { "password", SLICE("xabcdx\n") } };
	struct provider_account_conf conf = { .credentials = credentials, .n_credentials = 3 };
	struct provider_secrets *secrets = provider_secrets_new(&conf, NULL);
	char text[] = "us: xabcdx, abcd\r\nabcdabcd abc";
	(void)state;
	provider_secrets_redact(secrets, text);
	assert_string_equal(text, "us: ******, ****  ******** abc");
	char cut[] = "the password xabc"; /* it had no room for more */
	provider_secrets_redact(secrets, cut);
	assert_string_equal(cut, "the password ****");
	char bytes[] = "\xc3\xa9 \xff \xc3"; /* the last character was cut */
	provider_secrets_redact(secrets, bytes);
	assert_string_equal(bytes, "\xc3\xa9 ? ?");
	provider_secrets_free(secrets);
	provider_secrets_free(NULL);
}

/* Addresses and zones help whoever reads the text. */
static void public_values_stay(void **state)
{
	static const char *const public_keys[] = { "Server", "Zone", NULL };
	struct provider_credential credentials[] = { { "Server", SLICE("192.0.2.1") },
						     { "Secret", SLICE("hidden") } };
	struct provider_account_conf conf = { .credentials = credentials, .n_credentials = 2 };
	struct provider_secrets *secrets = provider_secrets_new(&conf, public_keys);
	char text[] = "192.0.2.1: hidden";
	(void)state;
	provider_secrets_redact(secrets, text);
	assert_string_equal(text, "192.0.2.1: ******");
	provider_secrets_free(secrets);
}

/* Texts of random bytes with values in random places. */
static void no_value_stays(void **state)
{
	static const char *const values[] = { "hunter2", "AKIAEXAMPLE", "ter2AKIA" };
	struct provider_credential credentials[ARRAY_LEN(values)];
	struct provider_account_conf conf = { .credentials = credentials,
					      .n_credentials = ARRAY_LEN(values) };
	struct rng rng;
	(void)state;
	rng_init_seed(&rng, 7);
	for (size_t i = 0; i < ARRAY_LEN(values); i++)
		credentials[i] = (struct provider_credential){ "key", slice_of(values[i]) };
	struct provider_secrets *secrets = provider_secrets_new(&conf, NULL);
	for (int round = 0; round < 20000; round++) {
		char text[80] = "";
		size_t n = 0;
		while (n < 50) {
			const char *value = values[rng_below(&rng, ARRAY_LEN(values))];
			if (rng_below(&rng, 3) == 0)
				n += (size_t)snprintf(text + n, sizeof(text) - n, "%s", value);
			else
				text[n++] = (char)(1 + rng_below(&rng, 255));
		}
		provider_secrets_redact(secrets, text);
		assert_int_equal(strlen(text), n);
		for (size_t i = 0; i < ARRAY_LEN(values); i++)
			assert_null(strstr(text, values[i]));
	}
	provider_secrets_free(secrets);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_a_key),     cmocka_unit_test(missing_key_has_all_names),
		cmocka_unit_test(order_of_regions),   cmocka_unit_test(values_are_masked),
		cmocka_unit_test(public_values_stay), cmocka_unit_test(no_value_stays),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
