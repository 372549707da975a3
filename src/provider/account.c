/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Opening and closing accounts. */
#include "provider/account_priv.h"

#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "provider/batch_priv.h"
#include "provider/shared/credentials.h"
#include "provider/metrics_priv.h"
#include "provider/publisher_priv.h"
#include "provider/zone_queue_priv.h"
#include "provider/zone_serial.h"

static void on_pump(struct loop_timer *timer)
{
	account_turn_pump(CONTAINER_OF(timer, struct publisher_account, pump));
}

static void on_idle(struct loop_timer *timer)
{
	struct publisher_account *account = CONTAINER_OF(timer, struct publisher_account, idle);
	if (account->refs == 0)
		publisher_drop_account(account->publisher, account);
}

int account_open(struct publisher *publisher, const struct publisher_account_conf *conf,
		 const char *key, struct publisher_account **ret, struct err_text err)
{
	struct provider_account_conf own = { .loop = publisher_loop(publisher),
					     .lookups = publisher_lookups(publisher),
					     .credentials = conf->credentials,
					     .n_credentials = conf->n_credentials,
					     .region = conf->region != NULL ? conf->region : "" };
	const struct provider_caps *caps = &conf->provider->caps;
	struct provider_account *provider_account;
	struct provider_secrets *secrets = provider_secrets_new(&own, conf->provider->public_keys);
	int r = conf->provider->open(&own, &provider_account, err);
	if (r < 0) {
		if (err.text != NULL)
			provider_secrets_redact(secrets, err.text);
		provider_secrets_free(secrets);
		return r;
	}
	struct publisher_account *account = xcalloc(1, sizeof(*account));
	*account = (struct publisher_account){ .publisher = publisher,
					       .loop = own.loop,
					       .key = xstrdup(key),
					       .provider = conf->provider,
					       .provider_account = provider_account,
					       .pump = { .cb = on_pump },
					       .idle = { .cb = on_idle } };
	account->secrets = secrets;
	account->metrics = provider_metrics_new(conf->provider);
	provider_rate_init(&account->rate,
			   caps->calls_per_s != 0 ? caps->calls_per_s : PROVIDER_CALLS_PER_S,
			   caps->burst, loop_now(own.loop));
	map_init(&account->zones);
	name_lines_init(&account->lines);
	finder_init(&account->finder, account);
	*ret = account;
	return 0;
}

void account_close(struct publisher_account *account)
{
	const struct map_entry *entry;
	struct publisher_entry *blocked;
	size_t pos = 0;
	loop_timer_stop(account->loop, &account->pump);
	loop_timer_stop(account->loop, &account->idle);
	while (account->batches != NULL)
		batch_abort(account->batches);
	zone_serial_abort_all(account);
	finder_done(&account->finder);
	while ((entry = map_next(&account->zones, &pos)) != NULL)
		zone_queue_free(entry->value);
	while ((blocked = entry_pop(&account->blocked)) != NULL)
		publisher_forget(blocked);
	name_lines_done(&account->lines);
	map_done(&account->zones);
	account->provider->close(account->provider_account);
	provider_secrets_free(account->secrets);
	free(account->metrics);
	free(account->key);
	free(account);
}

struct publisher_zone *account_zone(struct publisher_account *account, const char *zone_id)
{
	struct publisher_zone *zone = map_get(&account->zones, slice_of(zone_id));
	if (zone == NULL) {
		zone = zone_queue_new(account, zone_id);
		map_set(&account->zones, slice_of(zone_id), zone);
	}
	return zone;
}

void account_fail_unsent(struct publisher_account *account, enum provider_code code,
			 const char *error)
{
	const struct map_entry *entry;
	struct publisher_entry *blocked;
	size_t pos = 0;
	/* First, so that nothing takes the place of what fails. */
	while ((blocked = entry_pop(&account->blocked)) != NULL)
		publisher_finish(blocked, code, error);
	finder_fail(&account->finder, code, error);
	while ((entry = map_next(&account->zones, &pos)) != NULL)
		zone_queue_fail(entry->value, code, error);
}
