/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An account at a DNS provider for a command that waits for each call. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/err_text.h"
#include "provider/provider.h"

struct lookup_client;
struct loop;
struct provider_account;
struct provider_secrets;
struct publisher;
struct publisher_account;

struct adopt_account {
	const struct provider *provider;
	struct loop *loop;
	struct lookup_client *lookups;
	struct provider_account *reading;
	struct provider_secrets *secrets; /* not to be in error texts of reads */
	struct publisher *publisher;
	struct publisher_account *writing;
};

/* False with a sentence: nothing is left to close. Makes no call. */
MUST_CHECK bool adopt_account_open(struct adopt_account *account, const struct provider *provider,
				   const struct provider_credential *credentials, size_t count,
				   const char *region, struct err_text err);
void adopt_account_close(struct adopt_account *account);

/* The id of the longest zone that the name is in, heap; NULL with a sentence. */
char *adopt_find_zone(struct adopt_account *account, const char *name, struct err_text err);
/* Reads the sets of the edits into change->found. False with a sentence. provider_change_clear() ends it. */
MUST_CHECK bool adopt_read(struct adopt_account *account, const char *zone,
			   struct provider_change *change, struct err_text err);
/* Writes the edits, all or none where the provider can. False with a sentence. */
MUST_CHECK bool adopt_write(struct adopt_account *account, const char *zone,
			    const struct provider_edit *edits, size_t count, struct err_text err);
