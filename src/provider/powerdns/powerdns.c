/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The provider `powerdns`: a PowerDNS server, by its HTTP API.
 *
 * A job is one request, with these exceptions: a read of a few names is one for each; a zone that is not
 * there is asked for once more, by name, so that a wrong URL is not taken for a zone that is gone; and
 * when a set is refused because of another one, that one is read for the sentence. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "dns/types.h"
#include "http/client/client.h"
#include "net/loop.h"
#include "provider/powerdns/elements_priv.h"
#include "provider/powerdns/outcome_priv.h"
#include "provider/powerdns/patch_priv.h"
#include "provider/powerdns/reply_priv.h"
#include "provider/powerdns/settings_priv.h"
#include "provider/powerdns/wanted_priv.h"
#include "provider/provider.h"
#include "provider/shared/job.h"

enum {
	BATCH_CHANGES = 2000,
	BATCH_BYTES = 1900 * 1000, /* webserver-max-bodysize is 2 MiB unless configured */
	NAMES_READ_SINGLY = 4,	   /* of more names than this the whole zone is read */
	REPLY_MAX_BYTES = 256 << 20,
	ERROR_BODY_MAX_BYTES = 8 << 10,
	CALLS_AT_ONCE = 8,
	VALUES_SHOWN = 3,
};

struct powerdns_account {
	struct provider_account account;
	struct powerdns_settings settings;
	struct http_client *http;
	struct http_header headers[3];
};

/* A request of a job. */
enum powerdns_step {
	STEP_LIST_ZONES,
	STEP_READ_ZONE,
	STEP_READ_NAME,
	STEP_WRITE,
	STEP_CHECK_ZONE, /* is it really gone? */
	STEP_READ_SERIAL,
	STEP_EXPLAIN, /* with what does a set collide? */
};

/* One job under way. */
struct powerdns_call {
	struct powerdns_account *account;
	struct provider_job *job;
	enum powerdns_step step;
	struct http_call http;
	struct strbuf url, body;
	struct strbuf error_body;
	struct powerdns_elements elements;
	int bad_reply; /* why the list could not be read; 0: it could */
	struct powerdns_wanted wanted;
	size_t name_at;		     /* position in wanted.names */
	const char *name;	     /* STEP_READ_NAME */
	size_t n_zones;		     /* STEP_CHECK_ZONE, STEP_READ_SERIAL */
	struct powerdns_culprit bad; /* STEP_EXPLAIN */
	struct strbuf others;	     /* STEP_EXPLAIN: what is there */
};

/* ---- elements of replies ---- */

static int take_zone(void *ctx, struct slice element)
{
	struct powerdns_call *call = ctx;
	CLEANUP(powerdns_zone_done) struct powerdns_zone zone = { 0 };
	int r = powerdns_reply_zone(element, &zone);
	if (r < 0)
		return r;
	call->n_zones++;
	if (call->step == STEP_READ_SERIAL)
		call->job->serial = zone.serial;
	else if (call->step != STEP_CHECK_ZONE)
		provider_job_add_zone(call->job, zone.id, zone.name, false);
	return 0;
}

static int take_set(void *ctx, struct slice element)
{
	struct powerdns_call *call = ctx;
	CLEANUP(freep) struct provider_rrset *set = NULL;
	int r = powerdns_reply_rrset(element, &set);
	if (r == 0)
		powerdns_wanted_take(&call->wanted, set);
	return r;
}

static int take_other(void *ctx, struct slice element)
{
	struct powerdns_call *call = ctx;
	CLEANUP(freep) struct provider_rrset *set = NULL;
	char buf[DNS_MNEMONIC_MAX];
	int r = powerdns_reply_rrset(element, &set);
	if (r < 0 || set->n_values == 0 || strcmp(set->name, call->bad.set->name) != 0 ||
	    set->type == call->bad.set->type)
		return r;
	strbuf_addf(&call->others, "%s%s", call->others.n == 0 ? "; there is " : " and ",
		    dns_type_str(set->type, buf));
	for (size_t i = 0; i < set->n_values && i < VALUES_SHOWN; i++) {
		strbuf_adds(&call->others, i == 0 ? " " : ", ");
		strbuf_add_quoted(&call->others, slice_of(set->values[i]));
	}
	strbuf_adds(&call->others, set->n_values > VALUES_SHOWN ? ", ..." : "");
	return 0;
}

/* ---- URLs ---- */

/* Ids of zones end with a dot; people write them without. */
static void add_zone_id(struct strbuf *url, const char *zone)
{
	size_t n = strlen(zone);
	strbuf_add_url(url, slice_of(zone));
	if (n == 0 || zone[n - 1] != '.')
		strbuf_addc(url, '.');
}

static void add_zone_path(struct powerdns_call *call)
{
	strbuf_adds(&call->url, "/zones/");
	add_zone_id(&call->url, call->job->zone);
}

static void add_name_query(struct powerdns_call *call, const char *name)
{
	add_zone_path(call);
	strbuf_adds(&call->url, "?rrset_name=");
	strbuf_add_url(&call->url, slice_of(name));
	strbuf_addc(&call->url, '.');
}

static void add_step_path(struct powerdns_call *call)
{
	switch (call->step) {
	case STEP_LIST_ZONES: /* the fields of DNSSEC would cost the server a query for each zone */
		strbuf_adds(&call->url, "/zones?dnssec=false");
		break;
	case STEP_CHECK_ZONE:
	case STEP_READ_SERIAL:
		strbuf_adds(&call->url, "/zones?dnssec=false&zone=");
		add_zone_id(&call->url, call->job->zone);
		break;
	case STEP_READ_ZONE:
	case STEP_WRITE:
		add_zone_path(call);
		break;
	case STEP_READ_NAME:
		add_name_query(call, call->name);
		break;
	case STEP_EXPLAIN:
		add_name_query(call, call->bad.set->name);
		break;
	}
}

/* ---- requests ---- */

static const struct {
	const char *method;
	const char *member; /* of the reply: the list; NULL: it is the list */
	int (*take)(void *ctx, struct slice element); /* NULL: the reply is empty */
} steps[] = {
	[STEP_LIST_ZONES] = { "GET", NULL, take_zone },
	[STEP_READ_ZONE] = { "GET", "rrsets", take_set },
	[STEP_READ_NAME] = { "GET", "rrsets", take_set },
	[STEP_WRITE] = { "PATCH", NULL, NULL },
	[STEP_CHECK_ZONE] = { "GET", NULL, take_zone },
	[STEP_READ_SERIAL] = { "GET", NULL, take_zone },
	[STEP_EXPLAIN] = { "GET", "rrsets", take_other },
};

static bool has_list(const struct powerdns_call *call)
{
	return call->http.status == 200 && steps[call->step].take != NULL;
}

static int on_data(struct http_call *http, struct slice bytes)
{
	struct powerdns_call *call = CONTAINER_OF(http, struct powerdns_call, http);
	if (has_list(call)) {
		call->bad_reply = powerdns_elements_feed(&call->elements, bytes);
		return call->bad_reply;
	}
	size_t room = ERROR_BODY_MAX_BYTES - call->error_body.n;
	strbuf_add(&call->error_body, bytes.p, MIN(bytes.n, room));
	return 0;
}

static void on_done(struct http_call *http);

static void start_step(struct powerdns_call *call, enum powerdns_step step)
{
	struct powerdns_account *account = call->account;
	uint64_t now = clock_mono_ns();
	call->step = step;
	call->bad_reply = 0;
	strbuf_reset(&call->error_body);
	strbuf_reset(&call->url);
	strbuf_adds(&call->url, account->settings.url);
	add_step_path(call);
	powerdns_elements_done(&call->elements);
	powerdns_elements_init(&call->elements, steps[step].member, steps[step].take, call);
	http_call_release(&call->http);
	call->http = (struct http_call){
		.method = steps[step].method,
		.url = call->url.s,
		.headers = account->headers,
		.n_headers = ARRAY_LEN(account->headers),
		.tls = &account->settings.tls,
		.timeout_ns = call->job->end_by_ns > now ? call->job->end_by_ns - now : 1,
		.reply_max = REPLY_MAX_BYTES,
		.data = on_data,
		.done = on_done,
	};
	if (step == STEP_WRITE)
		call->http.body = strbuf_slice(&call->body);
	http_client_start(account->http, &call->http);
}

static void free_call(struct powerdns_call *call)
{
	http_call_release(&call->http);
	powerdns_elements_done(&call->elements);
	if (call->wanted.job != NULL)
		powerdns_wanted_done(&call->wanted);
	strbuf_done(&call->url);
	strbuf_done(&call->body);
	strbuf_done(&call->error_body);
	strbuf_done(&call->others);
	call->job->call = NULL;
	free(call);
}

static void end_job(struct powerdns_call *call)
{
	struct provider_job *job = call->job;
	/* What was found of a read that failed would look like all there is. */
	for (size_t i = 0;
	     job->kind == PROVIDER_READ && job->code != PROVIDER_OK && i < job->n_changes; i++)
		provider_change_clear(&job->changes[i]);
	free_call(call);
	job->done(job);
}

/* ---- results ---- */

static void read_next_name(struct powerdns_call *call)
{
	const struct map_entry *entry = map_next(&call->wanted.names, &call->name_at);
	if (entry == NULL) {
		powerdns_wanted_finish(&call->wanted);
		end_job(call);
		return;
	}
	call->name = entry->key;
	start_step(call, STEP_READ_NAME);
}

static void judge_missing_zone(struct powerdns_call *call)
{
	struct provider_job *job = call->job;
	if (call->n_zones == 0)
		provider_job_fail(job, PROVIDER_NO_ZONE, "there is no zone '%s'", job->zone);
	else
		provider_job_fail(job, PROVIDER_TRANSIENT,
				  "PowerDNS lists the zone '%s' and answered 404 for it",
				  job->zone);
	end_job(call);
}

/* What is there, after PowerDNS's own sentence. */
static void end_explanation(struct powerdns_call *call)
{
	struct provider_change *change = call->bad.change;
	CLEANUP(freep) char *text = xstrdup(change->error);
	if (call->others.n != 0)
		provider_change_fail(change, change->code, "%s%s", text, call->others.s);
	if (call->others.n != 0)
		provider_job_fail(call->job, call->job->code, "%s", change->error);
	end_job(call);
}

static void take_success(struct powerdns_call *call)
{
	switch (call->step) {
	case STEP_READ_NAME:
		read_next_name(call);
		return;
	case STEP_READ_ZONE:
		powerdns_wanted_finish(&call->wanted);
		break;
	case STEP_CHECK_ZONE:
		judge_missing_zone(call);
		return;
	case STEP_READ_SERIAL:
		if (call->n_zones == 0)
			provider_job_fail(call->job, PROVIDER_NO_ZONE, "there is no zone '%s'",
					  call->job->zone);
		break;
	case STEP_EXPLAIN:
		end_explanation(call);
		return;
	case STEP_LIST_ZONES:
	case STEP_WRITE:
		break;
	}
	end_job(call);
}

static void take_failure(struct powerdns_call *call)
{
	const struct http_call *http = &call->http;
	struct provider_job *job = call->job;
	bool is_of_zone = call->step == STEP_READ_ZONE || call->step == STEP_READ_NAME ||
			  call->step == STEP_WRITE;
	if (call->step == STEP_EXPLAIN) { /* it is refused all the same */
		end_explanation(call);
		return;
	}
	if (http->result == 0 && http->status == 404 && is_of_zone) {
		start_step(call, STEP_CHECK_ZONE);
		return;
	}
	if (call->bad_reply < 0) {
		provider_job_fail(job, PROVIDER_TRANSIENT,
				  "the reply is not one of PowerDNS's API: %s",
				  err_str(call->bad_reply));
		end_job(call);
		return;
	}
	call->bad = powerdns_outcome_fail(job, http, strbuf_slice(&call->error_body));
	if (call->bad.change != NULL && job->code == PROVIDER_CONFLICT)
		start_step(call, STEP_EXPLAIN);
	else
		end_job(call);
}

static void on_done(struct http_call *http)
{
	struct powerdns_call *call = CONTAINER_OF(http, struct powerdns_call, http);
	bool is_success =
		http->result == 0 &&
		(steps[call->step].take != NULL ? http->status == 200 : http->status / 100 == 2);
	if (is_success && has_list(call)) {
		call->bad_reply = powerdns_elements_finish(&call->elements);
		is_success = call->bad_reply == 0;
	}
	if (is_success)
		take_success(call);
	else
		take_failure(call);
}

/* ---- the provider ---- */

static struct powerdns_account *account_of(struct provider_account *account)
{
	return CONTAINER_OF(account, struct powerdns_account, account);
}

static void close_account(struct provider_account *base)
{
	struct powerdns_account *account = account_of(base);
	http_client_free(account->http);
	powerdns_settings_done(&account->settings);
	free(account);
}

static int open_account(const struct provider_account_conf *conf, struct provider_account **ret,
			struct err_text err)
{
	struct powerdns_account *account = xcalloc(1, sizeof(*account));
	account->account.loop = conf->loop;
	int r = powerdns_settings_read(conf, &account->settings, err);
	if (r == 0) {
		account->http = http_client_new(
			conf->loop, &(struct http_client_conf){ .host_max = CALLS_AT_ONCE }, err);
		r = account->http != NULL ? 0 : ERR_CONFIG;
	}
	if (r < 0) {
		close_account(&account->account);
		return r;
	}
	account->headers[0] = (struct http_header){ SLICE("X-API-Key"),
						    secret_slice(&account->settings.api_key) };
	account->headers[1] = (struct http_header){ SLICE("Accept"), SLICE("application/json") };
	account->headers[2] =
		(struct http_header){ SLICE("Content-Type"), SLICE("application/json") };
	*ret = &account->account;
	return 0;
}

static void start_read(struct powerdns_call *call)
{
	powerdns_wanted_init(&call->wanted, call->job);
	if (call->wanted.names.n <= NAMES_READ_SINGLY)
		read_next_name(call);
	else
		start_step(call, STEP_READ_ZONE);
}

static void start_job(struct provider_account *account, struct provider_job *job)
{
	struct powerdns_call *call = xcalloc(1, sizeof(*call));
	*call = (struct powerdns_call){ .account = account_of(account),
					.job = job,
					.url = STRBUF_INIT,
					.body = STRBUF_INIT,
					.error_body = STRBUF_INIT,
					.others = STRBUF_INIT };
	powerdns_elements_init(&call->elements, NULL, NULL, NULL);
	job->call = call;
	switch (job->kind) {
	case PROVIDER_FIND_ZONES:
		start_step(call, STEP_LIST_ZONES);
		break;
	case PROVIDER_READ:
		start_read(call);
		break;
	case PROVIDER_APPLY:
		powerdns_patch_write(&call->body, job->changes, job->n_changes);
		start_step(call, STEP_WRITE);
		break;
	case PROVIDER_SETTLE: /* a write has taken effect when it is answered */
		assert(job->kind != PROVIDER_SETTLE);
		break;
	case PROVIDER_SERIAL:
		start_step(call, STEP_READ_SERIAL);
		break;
	}
}

static void cancel_job(struct provider_account *account, struct provider_job *job)
{
	struct powerdns_call *call = job->call;
	assert(call->account == account_of(account));
	http_client_cancel(call->account->http, &call->http);
	for (size_t i = 0; job->kind == PROVIDER_READ && i < job->n_changes; i++)
		provider_change_clear(&job->changes[i]);
	free_call(call);
}

const struct provider powerdns_provider = {
	.type = "powerdns",
	.help = "record sets in a PowerDNS server, by its HTTP API",
	.public_keys = powerdns_settings_public_keys,
	.caps = { .is_atomic = true,
		  .has_owner_mark = true,
		  .has_serial = true,
		  .batch_changes = BATCH_CHANGES,
		  .batch_bytes = BATCH_BYTES,
		  .read_changes = BATCH_CHANGES },
	.open = open_account,
	.close = close_account,
	.start = start_job,
	.cancel = cancel_job,
	.measure = powerdns_patch_measure,
};
