/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading keys of Secrets by their names, and keeping their values out of error texts. */
#include "provider/shared/credentials.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "base/secret.h"
#include "base/strbuf.h"

struct provider_secrets {
	struct secret *values;
	size_t n;
};

static struct slice find_named(const struct provider_account_conf *conf, const char *name)
{
	for (size_t i = 0; i < conf->n_credentials; i++) {
		struct slice value = slice_trim(conf->credentials[i].value);
		if (strcmp(conf->credentials[i].name, name) == 0 && value.n != 0)
			return value;
	}
	return (struct slice){ 0 };
}

struct slice provider_credential_get(const struct provider_account_conf *conf,
				     const struct provider_key *key)
{
	struct slice value = { 0 };
	for (size_t i = 0; i < PROVIDER_KEY_NAMES && key->names[i] != NULL && value.p == NULL; i++)
		value = find_named(conf, key->names[i]);
	return value;
}

int provider_credential_require(const struct provider_account_conf *conf,
				const struct provider_key *key, struct slice *ret,
				struct err_text err)
{
	CLEANUP(strbuf_done) struct strbuf names = STRBUF_INIT;
	struct slice value = provider_credential_get(conf, key);
	if (value.p != NULL) {
		*ret = value;
		return 0;
	}
	for (size_t i = 0; i < PROVIDER_KEY_NAMES && key->names[i] != NULL; i++)
		strbuf_addf(&names, "%s'%s'", i == 0 ? "" : " or ", key->names[i]);
	err_text_set(err, "the Secret has no value for the key %s", names.s);
	return ERR_CONFIG;
}

struct slice provider_credential_region(const struct provider_account_conf *conf,
					const struct provider_key *key, const char *fallback)
{
	struct slice of_secret = provider_credential_get(conf, key);
	if (conf->region != NULL && conf->region[0] != '\0')
		return slice_of(conf->region);
	return of_secret.n != 0 ? of_secret : slice_of(fallback);
}

static int compare_lengths(const void *left, const void *right)
{
	size_t left_n = ((const struct secret *)left)->n,
	       right_n = ((const struct secret *)right)->n;
	return left_n < right_n ? 1 : left_n > right_n ? -1 : 0;
}

static bool is_public(const char *name, const char *const *public_keys)
{
	for (; public_keys != NULL && *public_keys != NULL; public_keys++) {
		if (strcmp(name, *public_keys) == 0)
			return true;
	}
	return false;
}

/* The longest first: one value may be part of another. */
struct provider_secrets *provider_secrets_new(const struct provider_account_conf *conf,
					      const char *const *public_keys)
{
	struct provider_secrets *secrets = xcalloc(1, sizeof(*secrets));
	secrets->values = xcalloc(conf->n_credentials + 1, sizeof(*secrets->values));
	for (size_t i = 0; i < conf->n_credentials; i++) {
		struct slice value = slice_trim(conf->credentials[i].value);
		if (value.n >= PROVIDER_REDACT_MIN &&
		    !is_public(conf->credentials[i].name, public_keys))
			secret_set(&secrets->values[secrets->n++], value);
	}
	qsort(secrets->values, secrets->n, sizeof(*secrets->values), compare_lengths);
	return secrets;
}

void provider_secrets_free(struct provider_secrets *secrets)
{
	if (secrets == NULL)
		return;
	for (size_t i = 0; i < secrets->n; i++)
		secret_done(&secrets->values[i]);
	free(secrets->values);
	free(secrets);
}

static void mask_value(struct slice value, char *text)
{
	size_t n = strlen(text);
	char *found;
	while ((found = memmem(text, n, value.p, value.n)) != NULL) {
		memset(found, '*', value.n);
		n -= (size_t)(found - text) + value.n;
		text = found + value.n;
	}
}

/* A text that was cut may end within a value. */
static void mask_end(struct slice value, char *text)
{
	size_t n = strlen(text);
	for (size_t part = MIN(n, value.n); part >= PROVIDER_REDACT_MIN; part--) {
		if (memcmp(text + n - part, value.p, part) == 0) {
			memset(text + n - part, '*', part);
			return;
		}
	}
}

/* Statuses and logs take UTF-8 without control characters. */
static void clean_text(char *text)
{
	struct slice rest = slice_of(text);
	uint32_t character;
	while (rest.n != 0) {
		size_t n = utf8_decode(rest, &character);
		char *at = text + (rest.p - text);
		if (n == 0)
			*at = '?';
		else if (character < ' ' || character == 0x7f)
			*at = ' ';
		rest = slice_from(rest, MAX(n, (size_t)1));
	}
}

void provider_secrets_redact(const struct provider_secrets *secrets, char *text)
{
	for (size_t i = 0; i < secrets->n; i++)
		mask_value(secret_slice(&secrets->values[i]), text);
	for (size_t i = 0; i < secrets->n; i++)
		mask_end(secret_slice(&secrets->values[i]), text);
	clean_text(text);
}
