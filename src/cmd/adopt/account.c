/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs a loop until a call has completed: reads by jobs of the provider, writes by the publisher, which
 * keeps guards where the provider cannot. */
#include "cmd/adopt/account.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cmd/name_servers.h"
#include "net/loop.h"
#include "provider/publisher.h"
#include "provider/shared/credentials.h"
#include "provider/shared/job.h"
#include "resolve/lookup.h"

enum { WRITE_PATIENCE_S = 60, PAGES_MAX = 1000 };

bool adopt_account_open(struct adopt_account *account, const struct provider *provider,
			const struct provider_credential *credentials, size_t count,
			const char *region, struct err_text err)
{
	*account = (struct adopt_account){ .provider = provider, .loop = loop_new() };
	if (account->loop == NULL) {
		err_text_set(err, "there are no file descriptors left");
		return false;
	}
	account->lookups = name_servers_lookups(account->loop);
	account->publisher = publisher_new(
		&(struct publisher_conf){ .loop = account->loop, .lookups = account->lookups });
	struct publisher_account_conf writing = { provider, credentials, count, region };
	struct provider_account_conf reading = { account->loop, credentials, count, region,
						 account->lookups };
	account->secrets = provider_secrets_new(&reading, provider->public_keys);
	if (publisher_account_open(account->publisher, &writing, &account->writing, err) == 0 &&
	    provider->open(&reading, &account->reading, err) == 0)
		return true;
	adopt_account_close(account);
	return false;
}

void adopt_account_close(struct adopt_account *account)
{
	if (account->reading != NULL)
		account->provider->close(account->reading);
	provider_secrets_free(account->secrets);
	publisher_account_unref(account->writing);
	publisher_free(account->publisher);
	lookup_client_free(account->lookups);
	loop_free(account->loop);
	*account = (struct adopt_account){ 0 };
}

/* ---- reading ---- */

struct waiting_job {
	struct provider_job job;
	bool is_done;
};

static void note_done(struct provider_job *job)
{
	CONTAINER_OF(job, struct waiting_job, job)->is_done = true;
}

static bool run_job(struct adopt_account *account, struct waiting_job *waiting, struct err_text err)
{
	struct provider_job *job = &waiting->job;
	waiting->is_done = false;
	job->done = note_done;
	job->end_by_ns = clock_mono_ns() + PROVIDER_CALL_TIMEOUT_S * NS_PER_S;
	account->provider->start(account->reading, job);
	while (!waiting->is_done)
		loop_turn(account->loop, true);
	provider_secrets_redact(account->secrets, job->error);
	for (size_t i = 0; i < job->n_changes; i++)
		provider_secrets_redact(account->secrets, job->changes[i].error);
	if (job->code != PROVIDER_OK)
		err_text_set(err, "%s", job->error[0] != '\0' ? job->error : "the call failed");
	return job->code == PROVIDER_OK;
}

static bool is_in_zone(const char *name, const char *zone)
{
	size_t name_n = strlen(name), zone_n = strlen(zone);
	return name_n >= zone_n && strcmp(name + name_n - zone_n, zone) == 0 &&
	       (name_n == zone_n || zone_n == 0 || name[name_n - zone_n - 1] == '.');
}

struct best_zone {
	char *zone_id;
	size_t length;
	bool is_private;
};

/* The longest; of several of one name a public one, with the lowest id, as the publisher does. */
static void take_better(struct best_zone *best, const char *name, const struct provider_zone *zone)
{
	size_t length = strlen(zone->name);
	if (!is_in_zone(name, zone->name))
		return;
	if (best->zone_id != NULL &&
	    (length < best->length ||
	     (length == best->length &&
	      (zone->is_private > best->is_private ||
	       (zone->is_private == best->is_private && strcmp(zone->id, best->zone_id) >= 0)))))
		return;
	free(best->zone_id);
	*best = (struct best_zone){ xstrdup(zone->id), length, zone->is_private };
}

char *adopt_find_zone(struct adopt_account *account, const char *name, struct err_text err)
{
	struct waiting_job waiting = { .job = { .kind = PROVIDER_FIND_ZONES, .name = name } };
	struct best_zone best = { 0 };
	char *page = NULL;
	bool ok = true;
	for (int i = 0; ok && i < PAGES_MAX && (i == 0 || page != NULL); i++) {
		waiting.job.page = page;
		ok = run_job(account, &waiting, err);
		for (size_t k = 0; ok && k < waiting.job.n_zones; k++)
			take_better(&best, name, &waiting.job.zones[k]);
		free(page);
		page = waiting.job.next_page != NULL ? xstrdup(waiting.job.next_page) : NULL;
		provider_job_clear(&waiting.job);
	}
	free(page);
	if (ok && best.zone_id == NULL)
		err_text_set(err, "the account has no zone for '%s'", name);
	if (!ok) {
		free(best.zone_id);
		best.zone_id = NULL;
	}
	return best.zone_id;
}

bool adopt_read(struct adopt_account *account, const char *zone, struct provider_change *change,
		struct err_text err)
{
	struct waiting_job waiting = {
		.job = { .kind = PROVIDER_READ, .zone = zone, .changes = change, .n_changes = 1 }
	};
	bool ok = run_job(account, &waiting, err);
	if (ok && change->found == NULL) {
		err_text_set(err, "%s",
			     change->error[0] != '\0' ? change->error
						      : "the provider returned nothing");
		ok = false;
	}
	provider_job_clear(&waiting.job);
	return ok;
}

/* ---- writing ---- */

struct waiting_request {
	struct publisher_request request;
	bool is_done;
};

static void note_written(struct publisher_request *request)
{
	CONTAINER_OF(request, struct waiting_request, request)->is_done = true;
}

bool adopt_write(struct adopt_account *account, const char *zone, const struct provider_edit *edits,
		 size_t count, struct err_text err)
{
	struct waiting_request waiting = { .request = { .account = account->writing,
							.zone = zone,
							.edits = edits,
							.n_edits = count,
							.patience_ns = WRITE_PATIENCE_S * NS_PER_S,
							.done = note_written } };
	publisher_submit(account->publisher, &waiting.request);
	while (!waiting.is_done)
		loop_turn(account->loop, true);
	bool ok = waiting.request.code == PROVIDER_OK;
	if (!ok)
		err_text_set(err, "%s",
			     waiting.request.error != NULL ? waiting.request.error
							   : "the write failed");
	publisher_request_release(&waiting.request);
	return ok;
}
