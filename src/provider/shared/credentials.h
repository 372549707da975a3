/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keys of Secrets, which have several names (the one of Gardener's extensions, the one of
 * external-dns-management), and texts from providers, which must not repeat what a Secret holds. */
#pragma once

#include "base/compiler.h"
#include "base/err_text.h"
#include "base/slice.h"
#include "provider/provider.h"

enum {
	PROVIDER_KEY_NAMES = 4,
	PROVIDER_REDACT_MIN = 4, /* shorter values are ordinary words and numbers */
};

/* Names of one key, the preferred one first (DR-24, DR-25). */
struct provider_key {
	const char *names[PROVIDER_KEY_NAMES]; /* NULL-terminated when shorter */
};

/* The first of its names that has a value; p NULL: none. White space around it is not part of it. */
struct slice provider_credential_get(const struct provider_account_conf *conf,
				     const struct provider_key *key);
/* The same, or ERR_CONFIG: the sentence has all names, no value. */
MUST_CHECK int provider_credential_require(const struct provider_account_conf *conf,
					   const struct provider_key *key, struct slice *ret,
					   struct err_text err);

/* The region: that of the object, else of the Secret, else the provider's own (DR-22). */
struct slice provider_credential_region(const struct provider_account_conf *conf,
					const struct provider_key *key, const char *fallback);

/* What must not be in a text: all values but those of `public_keys`, as struct provider has them. */
struct provider_secrets;
struct provider_secrets *provider_secrets_new(const struct provider_account_conf *conf,
					      const char *const *public_keys);
void provider_secrets_free(struct provider_secrets *secrets); /* wipes; NULL is fine */
/* Replaces in place each occurrence of a value by asterisks, also one that the end of the text cuts; control
 * characters by blanks, and what is no UTF-8 by question marks. */
void provider_secrets_redact(const struct provider_secrets *secrets, char *text);
