/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A publisher on a loop of its own, which runs until everything was read. */
#include "cmd/plan/reads.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/meta.h"
#include "base/clock.h"
#include "base/mem.h"
#include "cmd/name_servers.h"
#include "cmd/plan/file_secrets.h"
#include "controller/dnsrecord/secrets/credentials.h"
#include "dns/types.h"
#include "net/loop.h"
#include "resolve/lookup.h"

enum { MANY = 20, SHOW_MS = 200, PATIENCE_S = 60 };

bool plan_reads_open(struct plan_reads *reads, struct kube_conn *conn)
{
	*reads = (struct plan_reads){ .loop = loop_new(), .conn = conn };
	map_init(&reads->accounts);
	if (reads->loop == NULL)
		return false;
	reads->lookups = name_servers_lookups(reads->loop);
	reads->publisher = publisher_new(
		&(struct publisher_conf){ .loop = reads->loop, .lookups = reads->lookups });
	return true;
}

void plan_reads_close(struct plan_reads *reads)
{
	publisher_free(reads->publisher); /* and all accounts */
	lookup_client_free(reads->lookups);
	map_done(&reads->accounts);
	loop_free(reads->loop);
}

/* ---- accounts ---- */

static char *make_account_key(const struct plan_object *object)
{
	const struct api_dnsrecord *spec = &object->record.spec;
	return xasprintf("%s %s %s %s %s", spec->type, spec->region,
			 api_namespace(object->record.object), spec->secret_namespace,
			 spec->secret_name);
}

static struct publisher_account *open_account(struct plan_reads *reads, struct plan_object *object)
{
	CLEANUP(dnsrecord_credentials_done) struct dnsrecord_credentials credentials = { 0 };
	struct publisher_account *account = NULL;
	char why[512];
	int r = plan_file_secrets_read(reads->secrets, object->record.object, &credentials,
				       ERR_TEXT(why));
	if (r == 0)
		r = dnsrecord_credentials_read(reads->conn, true, object->record.object,
					       &credentials, ERR_TEXT(why));
	if (r >= 0)
		r = publisher_account_open(
			reads->publisher,
			&(struct publisher_account_conf){ .provider = object->provider,
							  .credentials = credentials.v,
							  .n_credentials = credentials.n,
							  .region = object->record.spec.region },
			&account, ERR_TEXT(why));
	if (r < 0)
		object->problem = xstrdup(why);
	return account;
}

/* Each Secret is read once. NULL: the object has a problem. */
static struct publisher_account *find_account(struct plan_reads *reads, struct plan_object *object)
{
	CLEANUP(freep) char *key = make_account_key(object);
	struct publisher_account *account = map_get(&reads->accounts, slice_of(key));
	if (account != NULL)
		return account;
	account = open_account(reads, object);
	if (account != NULL)
		map_set(&reads->accounts, slice_of(key), account);
	return account;
}

/* ---- requests ---- */

static struct dnsrecord_rules rules_of(const struct plan_object *object)
{
	return (struct dnsrecord_rules){ .is_drop_in = object->reads->is_drop_in };
}

static void on_done(struct publisher_request *request);

static void submit_reading(struct plan_reading *reading, struct publisher_account *account)
{
	const struct dnsrecord_step *step = &reading->object->steps[reading->at];
	publisher_request_release(&reading->request);
	reading->request = (struct publisher_request){ .account = account,
						       .zone = step->zone,
						       .edits = step->edits,
						       .n_edits = step->n_edits,
						       .maybe_applied = step->maybe_applied,
						       .checks_zone = step->checks_zone,
						       .patience_ns = PATIENCE_S * NS_PER_S,
						       .only_reads = true,
						       .done = on_done };
	publisher_submit(reading->object->reads->publisher, &reading->request);
}

/* As the controller does: without a mark, what was written may be missing by now; and the name may belong to
 * another zone than that of the status. */
static bool try_again(struct plan_reading *reading)
{
	struct plan_object *object = reading->object;
	struct dnsrecord_rules rules = rules_of(object);
	struct dnsrecord_step again[DNSRECORD_STEPS_AHEAD];
	const struct dnsrecord_step *step = &object->steps[reading->at];
	enum provider_code code = reading->request.code;
	if (code == PROVIDER_CONFLICT && !reading->may_be_gone && step->has_second_try)
		reading->may_be_gone = true;
	else if (code == PROVIDER_OTHER_ZONE &&
		 dnsrecord_can_search_zone(&object->record, step, code))
		reading->searches_zone = true;
	else
		return false;
	rules.may_be_gone = reading->may_be_gone;
	rules.searches_zone = reading->searches_zone;
	size_t n = dnsrecord_steps_ahead(&object->record, object->withdraws, &rules, again);
	assert(reading->at < n);
	object->steps[reading->at] = again[reading->at];
	submit_reading(reading, reading->request.account);
	return true;
}

static void count_done(struct plan_reads *reads)
{
	if (--reads->n_left == 0)
		loop_stop(reads->loop);
}

/* ---- what else is at the name ---- */

/* A set of this object that goes in the same step, or has gone in one before. */
static bool is_own(const struct plan_object *object, const struct provider_rrset *set)
{
	const struct dnsrecord *record = &object->record;
	const struct dnsrecord_set *own[] = { record->applied, record->leftover, record->attempt };
	for (size_t i = 0; i < ARRAY_LEN(own); i++) {
		if (own[i] != NULL && own[i]->set.type == set->type &&
		    strcmp(own[i]->set.name, set->name) == 0)
			return true;
	}
	return false;
}

static void on_neighbours(struct publisher_request *request)
{
	struct plan_neighbours *near = CONTAINER_OF(request, struct plan_neighbours, request);
	struct plan_object *object = near->object;
	char type[DNS_MNEMONIC_MAX];
	for (size_t i = 0; request->found != NULL && i < request->n_found; i++) {
		const struct provider_rrset *set = &near->edits[i].set;
		if (request->found[i].n_values == 0 || is_own(object, set) ||
		    object->problem != NULL)
			continue;
		object->problem = xasprintf("'%s' has a record of type %s, and a CNAME is alone at "
					    "its name",
					    set->name, dns_type_str(set->type, type));
	}
	count_done(object->reads);
}

/* A new set: is there one that cannot be beside it? Others are beside such a set already. */
static bool read_neighbours(struct plan_reading *reading)
{
	static const uint16_t beside_cname[] = { DNS_TYPE_A, DNS_TYPE_AAAA, DNS_TYPE_TXT };
	static const uint16_t beside_others[] = { DNS_TYPE_CNAME };
	struct plan_object *object = reading->object;
	struct plan_neighbours *near = &object->neighbours;
	const struct publisher_request *request = &reading->request;
	const struct dnsrecord_step *step = &object->steps[reading->at];
	if (step->kind != DNSRECORD_PUT_WANTED || request->code != PROVIDER_OK ||
	    request->n_found == 0 || request->found[0].n_values != 0)
		return false;
	bool is_cname = step->edits[0].set.type == DNS_TYPE_CNAME;
	const uint16_t *types = is_cname ? beside_cname : beside_others;
	near->n = is_cname ? ARRAY_LEN(beside_cname) : ARRAY_LEN(beside_others);
	near->object = object;
	for (size_t i = 0; i < near->n; i++)
		near->edits[i].set = (struct provider_rrset){ .name = step->edits[0].set.name,
							      .type = types[i] };
	near->request = (struct publisher_request){ .account = request->account,
						    .zone = request->zone_id,
						    .edits = near->edits,
						    .n_edits = near->n,
						    .patience_ns = PATIENCE_S * NS_PER_S,
						    .only_reads = true,
						    .done = on_neighbours };
	publisher_submit(object->reads->publisher, &near->request);
	return true;
}

static void on_done(struct publisher_request *request)
{
	struct plan_reading *reading = CONTAINER_OF(request, struct plan_reading, request);
	if (!try_again(reading) && !read_neighbours(reading))
		count_done(reading->object->reads);
}

void plan_reads_add(struct plan_reads *reads, struct plan_object *object)
{
	object->reads = reads;
	struct dnsrecord_rules rules = rules_of(object);
	struct publisher_account *account = find_account(reads, object);
	object->account = account;
	if (account == NULL)
		return;
	loop_now_refresh(reads->loop); /* the Secret took its time */
	object->n_steps =
		dnsrecord_steps_ahead(&object->record, object->withdraws, &rules, object->steps);
	for (size_t i = 0; i < object->n_steps; i++) {
		object->readings[i] = (struct plan_reading){ .object = object, .at = i };
		submit_reading(&object->readings[i], account);
		reads->n_left++;
		reads->n_all++;
	}
}

/* ---- running ---- */

static void show_progress(struct loop_timer *timer)
{
	struct plan_reads *reads = CONTAINER_OF(timer, struct plan_reads, progress);
	fprintf(stderr, "\rread %zu of %zu record sets", reads->n_all - reads->n_left,
		reads->n_all);
	fflush(stderr);
	reads->has_shown = true;
	loop_timer_set(reads->loop, timer, loop_now(reads->loop) + SHOW_MS * NS_PER_MS);
}

void plan_reads_run(struct plan_reads *reads)
{
	reads->progress.cb = show_progress;
	if (reads->n_all >= MANY && isatty(STDERR_FILENO))
		loop_timer_set(reads->loop, &reads->progress, loop_now(reads->loop));
	if (reads->n_left != 0)
		loop_run(reads->loop);
	loop_timer_stop(reads->loop, &reads->progress);
	if (reads->has_shown)
		fputs("\r\033[K", stderr);
}

void plan_object_release(struct plan_object *object)
{
	for (size_t i = 0; i < object->n_steps; i++)
		publisher_request_release(&object->readings[i].request);
	publisher_request_release(&object->neighbours.request);
	free(TAKE_PTR(object->problem));
}
