/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The publisher: accounts by their credentials, requests in, results out. */
#include "provider/publisher.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/secret.h"
#include "net/loop.h"
#include "provider/account_priv.h"
#include "provider/entry_priv.h"
#include "provider/metrics_priv.h"
#include "provider/publisher_priv.h"
#include "provider/shared/job.h"
#include "provider/suspect_priv.h"
#include "provider/zone_queue_priv.h"

struct publisher {
	struct publisher_conf conf;
	struct map accounts;	    /* by account_key() */
	struct entry_list finished; /* their requests have results, `done` is to be called */
	struct loop_timer report;
};

static void unref_account(struct publisher_account *account)
{
	assert(account->refs != 0);
	if (--account->refs == 0)
		loop_timer_set(account->loop, &account->idle,
			       loop_now(account->loop) + PUBLISHER_IDLE_S * NS_PER_S);
}

static void end_entry(struct publisher_entry *entry)
{
	struct publisher_account *account = entry->account;
	loop_timer_stop(account->loop, &entry->patience);
	entry_free(entry);
	unref_account(account);
}

/* Callbacks may submit, cancel and release. */
static void on_report(struct loop_timer *timer)
{
	struct publisher *publisher = CONTAINER_OF(timer, struct publisher, report);
	struct publisher_entry *entry;
	while ((entry = entry_pop(&publisher->finished)) != NULL) {
		struct publisher_request *request = entry->request;
		end_entry(entry);
		assert(request != NULL);
		request->entry = NULL;
		request->done(request);
	}
}

struct publisher *publisher_new(const struct publisher_conf *conf)
{
	struct publisher *publisher = xcalloc(1, sizeof(*publisher));
	publisher->conf = *conf;
	publisher->report.cb = on_report;
	map_init(&publisher->accounts);
	return publisher;
}

void publisher_free(struct publisher *publisher)
{
	const struct map_entry *at;
	struct publisher_entry *entry;
	size_t pos = 0;
	if (publisher == NULL)
		return;
	loop_timer_stop(publisher->conf.loop, &publisher->report);
	while ((entry = entry_pop(&publisher->finished)) != NULL) {
		entry->request->entry = NULL;
		entry_free(entry);
	}
	while ((at = map_next(&publisher->accounts, &pos)) != NULL)
		account_close(at->value);
	map_done(&publisher->accounts);
	free(publisher);
}

/* ---- accounts ---- */

/* Equal credentials have equal keys, which tell nothing about them. */
static void make_account_key(const struct publisher_account_conf *conf, char *key, size_t n)
{
	CLEANUP(secret_wipe_strbuf) struct strbuf all = STRBUF_INIT;
	strbuf_addf(&all, "%s\n%s\n", conf->provider->type,
		    conf->region != NULL ? conf->region : "");
	for (size_t i = 0; i < conf->n_credentials; i++) {
		const struct provider_credential *credential = &conf->credentials[i];
		strbuf_addf(&all, "%zu %zu %s", strlen(credential->name), credential->value.n,
			    credential->name);
		strbuf_add_slice(&all, credential->value);
	}
	struct hash_key other = *hash_process_key();
	other.k0 ^= 1;
	snprintf(key, n, "%s %016" PRIx64 "%016" PRIx64, conf->provider->type,
		 hash_bytes(hash_process_key(), all.s, all.n), hash_bytes(&other, all.s, all.n));
}

int publisher_account_open(struct publisher *publisher, const struct publisher_account_conf *conf,
			   struct publisher_account **ret, struct err_text err)
{
	char key[128];
	make_account_key(conf, key, sizeof(key));
	struct publisher_account *account = map_get(&publisher->accounts, slice_of(key));
	if (account == NULL) {
		int r = account_open(publisher, conf, key, &account, err);
		if (r < 0)
			return r;
		map_set(&publisher->accounts, slice_of(key), account);
	}
	loop_timer_stop(account->loop, &account->idle);
	account->refs++;
	*ret = account;
	return 0;
}

bool publisher_account_has_owner_mark(const struct publisher_account *account)
{
	return account->provider->caps.has_owner_mark || account->provider_account->has_owner_mark;
}

const struct dns_tsig_key *publisher_account_tsig_key(const struct publisher_account *account)
{
	const struct provider *provider = account->provider;
	return provider->tsig_key != NULL ? provider->tsig_key(account->provider_account) : NULL;
}

void publisher_account_unref(struct publisher_account *account)
{
	if (account != NULL)
		unref_account(account);
}

void publisher_drop_account(struct publisher *publisher, struct publisher_account *account)
{
	assert(account->refs == 0);
	map_del(&publisher->accounts, slice_of(account->key));
	account_close(account);
}

/* ---- for the parts ---- */

uint64_t publisher_lease_end_by(const struct publisher *publisher)
{
	if (publisher->conf.lease_end_by == NULL)
		return UINT64_MAX;
	return publisher->conf.lease_end_by(publisher->conf.ctx);
}

struct lookup_client *publisher_lookups(const struct publisher *publisher)
{
	return publisher->conf.lookups;
}

struct loop *publisher_loop(const struct publisher *publisher)
{
	return publisher->conf.loop;
}

void publisher_forget(struct publisher_entry *entry)
{
	provider_count_finished(entry->account->metrics, PROVIDER_UNKNOWN, false);
	loop_timer_stop(entry->account->loop, &entry->patience);
	if (entry->request != NULL)
		entry->request->entry = NULL;
	entry_free(entry);
}

/* The first in its lines: to the queue of its zone, or to the search for it. */
static void route_entry(struct publisher_entry *entry)
{
	struct publisher_account *account = entry->account;
	bool needs_check = entry->checks_zone && !account->provider->caps.checks_zones;
	entry_unlink(entry);
	if (entry->zone_id != NULL && !needs_check)
		zone_queue_add(account_zone(account, entry->zone_id), entry);
	else
		finder_add(&account->finder, entry);
}

static void set_result(struct publisher_request *request, struct publisher_entry *entry,
		       enum provider_code code, const char *error)
{
	publisher_request_release(request);
	request->code = code;
	request->error = error != NULL && code != PROVIDER_OK ? xstrdup(error) : NULL;
	request->zone_id = entry->zone != NULL ? xstrdup(entry->zone->id) : NULL;
	request->other_zones = TAKE_PTR(entry->other_zones);
	request->n_found = entry->found != NULL ? entry->n_edits : 0;
	request->found = TAKE_PTR(entry->found);
}

void publisher_finish(struct publisher_entry *entry, enum provider_code code, const char *error)
{
	struct publisher *publisher = entry->account->publisher;
	struct publisher_request *request = entry->request;
	assert(entry->list == NULL);
	loop_timer_stop(entry->account->loop, &entry->patience);
	/* A deletion from a zone that is gone has succeeded (DR-46). */
	bool is_lost_zone =
		code == PROVIDER_NO_ZONE && !entry->only_reads && entry_only_deletes(entry);
	if (is_lost_zone)
		code = PROVIDER_OK;
	provider_count_finished(entry->account->metrics, code, request != NULL);
	if (request != NULL) {
		set_result(request, entry, code, error);
		request->is_zone_missing = is_lost_zone;
	}
	name_lines_leave(&entry->account->lines, entry, route_entry);
	if (request == NULL) {
		end_entry(entry);
		return;
	}
	entry_push(&publisher->finished, entry);
	loop_timer_set(publisher->conf.loop, &publisher->report, loop_now(publisher->conf.loop));
}

/* ---- requests ---- */

static void fail_late(struct publisher_entry *entry)
{
	struct publisher_account *account = entry->account;
	const struct zone_suspect *suspect =
		entry->zone != NULL ? suspect_find(entry->zone, entry->edits[0].set.name) : NULL;
	if (suspect != NULL)
		publisher_finish(entry, PROVIDER_UNSURE, suspect->error);
	else if (entry->maybe_applied && entry->was_sent && !entry->only_reads)
		publisher_finish(entry, PROVIDER_UNSURE,
				 account->fault_code != PROVIDER_OK
					 ? account->fault
					 : "the provider has not answered yet");
	else if (account->fault_code != PROVIDER_OK)
		publisher_finish(entry, account->fault_code, account->fault);
	else if (provider_rate_wait_ns(&account->rate, loop_now(account->loop)) != 0)
		publisher_finish(entry, PROVIDER_THROTTLED,
				 "the account has more work than its rate allows");
	else
		publisher_finish(entry, PROVIDER_THROTTLED, "the provider has not answered yet");
}

/* One that waits ends now; one in a batch with its next fault. */
static void on_patience(struct loop_timer *timer)
{
	struct publisher_entry *entry = CONTAINER_OF(timer, struct publisher_entry, patience);
	entry->is_late = true;
	if (entry->list == NULL)
		return;
	entry_unlink(entry);
	fail_late(entry);
}

static void start_patience(struct publisher_entry *entry, uint64_t patience_ns)
{
	struct loop *loop = entry->account->loop;
	entry->patience.cb = on_patience;
	if (patience_ns != 0)
		loop_timer_set(loop, &entry->patience, loop_now(loop) + patience_ns);
}

void publisher_submit(struct publisher *publisher, struct publisher_request *request)
{
	struct publisher_account *account = request->account;
	assert(request->entry == NULL && account->publisher == publisher);
	struct publisher_entry *entry = entry_new(request, loop_now(publisher->conf.loop));
	loop_timer_stop(account->loop, &account->idle);
	account->refs++;
	request->entry = entry;
	provider_count_submitted(account->metrics);
	start_patience(entry, request->patience_ns);
	if (name_lines_join(&account->lines, entry))
		route_entry(entry);
	else
		entry_push(&account->blocked, entry);
}

void publisher_cancel(struct publisher *publisher, struct publisher_request *request)
{
	struct publisher_entry *entry = TAKE_PTR(request->entry);
	if (entry == NULL)
		return;
	entry->request = NULL;
	if (entry->list == &publisher->finished) {
		entry_unlink(entry);
		end_entry(entry);
	} else if (entry->list != NULL) { /* else a batch has it */
		entry_unlink(entry);
		publisher_finish(entry, PROVIDER_UNKNOWN, NULL);
	}
}

void publisher_request_release(struct publisher_request *request)
{
	free(TAKE_PTR(request->error));
	free(TAKE_PTR(request->zone_id));
	free(TAKE_PTR(request->other_zones));
	provider_found_free(TAKE_PTR(request->found), request->n_found);
	request->n_found = 0;
}
