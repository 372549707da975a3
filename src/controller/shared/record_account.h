/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An account at a DNS provider for work of an engine (controller/engine.h): a copy of its credentials, and the
 * publisher (provider/publisher.h) that all work of the engine shares. */
#pragma once

#include <stddef.h>

#include "base/err_text.h"
#include "provider/publisher.h"

struct engine;
struct lease;

struct record_account {
	struct publisher_account_conf conf; /* its texts are copies */
	struct lease *lease;
	struct publisher_account *opened; /* engine's thread; NULL: it is not */

	/* Its own: */
	struct provider_credential *credentials;
	struct secret *secrets; /* the values of the credentials */
	char *region;
};

/* Copies. `lease`: no call outlives it. Any thread. */
void record_account_init(struct record_account *account, const struct publisher_account_conf *conf,
			 struct lease *lease);
/* Wipes; it is closed. Any thread. */
void record_account_done(struct record_account *account);

/* Opens the account at the engine's publisher. ERR_CONFIG. This and the rest: engine's thread. */
MUST_CHECK int record_account_open(struct record_account *account, struct engine *engine,
				   struct err_text err);
struct publisher *record_account_publisher(const struct record_account *account,
					   struct engine *engine);
void record_account_close(struct record_account *account); /* fine for one that is not open */
