/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Credentials on their way to the publisher of a controller's engine. */
#include "controller/shared/record_account.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/secret.h"
#include "controller/engine.h"
#include "controller/engine_lookups.h"
#include "kube/leader/lease.h"

/* ---- the publisher of an engine ---- */

struct publisher_part {
	struct engine_part part;
	struct publisher *publisher;
};

static void free_publisher(struct engine_part *part)
{
	struct publisher_part *own = CONTAINER_OF(part, struct publisher_part, part);
	publisher_free(own->publisher);
	free(own);
}

static uint64_t read_lease_end(void *ctx)
{
	return lease_end_by_ns(ctx);
}

/* The engine runs only while its controller leads: one lease for all of its work. */
struct publisher *record_account_publisher(const struct record_account *account,
					   struct engine *engine)
{
	static const struct engine_part_kind kind = { free_publisher };
	struct engine_part *part = engine_find_part(engine, &kind);
	if (part == NULL) {
		struct publisher_part *own = xcalloc(1, sizeof(*own));
		/* A part that is older is freed later. */
		struct lookup_client *lookups = engine_lookups(engine);
		own->publisher =
			publisher_new(&(struct publisher_conf){ .loop = engine_loop(engine),
								.lookups = lookups,
								.lease_end_by = read_lease_end,
								.ctx = account->lease });
		engine_add_part(engine, &kind, &own->part);
		part = &own->part;
	}
	return CONTAINER_OF(part, struct publisher_part, part)->publisher;
}

/* ---- the account ---- */

void record_account_init(struct record_account *account, const struct publisher_account_conf *conf,
			 struct lease *lease)
{
	size_t n = conf->n_credentials;
	*account = (struct record_account){ .conf = *conf, .lease = lease };
	account->credentials = xcalloc(n + 1, sizeof(*account->credentials));
	account->secrets = xcalloc(n + 1, sizeof(*account->secrets));
	for (size_t i = 0; i < n; i++) {
		secret_set(&account->secrets[i], conf->credentials[i].value);
		account->credentials[i] = (struct provider_credential){
			.name = xstrdup(conf->credentials[i].name),
			.value = secret_slice(&account->secrets[i]),
		};
	}
	account->region = conf->region != NULL ? xstrdup(conf->region) : NULL;
	account->conf.credentials = account->credentials;
	account->conf.region = account->region;
}

void record_account_done(struct record_account *account)
{
	assert(account->opened == NULL);
	for (size_t i = 0; i < account->conf.n_credentials; i++) {
		free((void *)(uintptr_t)account->credentials[i].name);
		secret_done(&account->secrets[i]);
	}
	free(account->credentials);
	free(account->secrets);
	free(account->region);
}

int record_account_open(struct record_account *account, struct engine *engine, struct err_text err)
{
	return publisher_account_open(record_account_publisher(account, engine), &account->conf,
				      &account->opened, err);
}

void record_account_close(struct record_account *account)
{
	publisher_account_unref(TAKE_PTR(account->opened));
}
