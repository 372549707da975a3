/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The provider `memory`: zones in the memory of this process, for tests and for trying things out.
 * It replies by the loop, after the latency that the test has set, and fails as the test says. */
#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "net/loop.h"
#include "provider/shared/credentials.h"
#include "provider/shared/job.h"
#include "provider/memory/file_priv.h"
#include "provider/memory/memory_test.h"
#include "provider/provider.h"

struct memory_account {
	struct provider_account account;
	struct memory_server *server;
	char *region; /* means nothing here but the order in which it is chosen */
};

/* One call under way. */
struct memory_call {
	struct memory_account *account;
	struct provider_job *job;
	struct loop_timer timer;
	char *writes; /* the zone that is busy because of it; NULL: none */
};

/* Zones outlive accounts, as those of any provider do. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the list */
static struct memory_server *servers;

struct memory_server *memory_server_get(const char *name)
{
	pthread_mutex_lock(&lock);
	struct memory_server *server = servers;
	while (server != NULL && strcmp(server->name, name) != 0)
		server = server->next;
	if (server == NULL) {
		server = xcalloc(1, sizeof(*server));
		server->name = xstrdup(name);
		memory_store_init(&server->store);
		map_init(&server->writing);
		server->next = servers;
		servers = server;
	}
	pthread_mutex_unlock(&lock);
	return server;
}

void memory_server_free(struct memory_server *server)
{
	pthread_mutex_lock(&lock);
	struct memory_server **at = &servers;
	while (*at != server)
		at = &(*at)->next;
	*at = server->next;
	pthread_mutex_unlock(&lock);
	memory_store_done(&server->store);
	map_done(&server->writing);
	memory_file_free(server->file);
	free(server->said);
	free(server->name);
	free(server);
}

/* ---- accounts ---- */

/* `zones`: names separated by blanks; their ids are their names. */
static void add_zones(struct memory_server *server, struct slice names)
{
	while (names.n != 0) {
		struct slice name = slice_cut(&names, ' ');
		CLEANUP(freep) char *text = xstrndup(name.n != 0 ? name.p : "", name.n);
		if (name.n != 0 && memory_store_zone(&server->store, text) == NULL)
			memory_store_add_zone(&server->store, text, text, false);
	}
}

/* `file`: the zones are there, instead. */
static void use_file(struct memory_server *server, struct slice path)
{
	CLEANUP(freep) char *text = xstrndup(path.p, path.n);
	pthread_mutex_lock(&lock);
	if (server->file == NULL)
		server->file = memory_file_new(text);
	pthread_mutex_unlock(&lock);
}

static int open_account(const struct provider_account_conf *conf, struct provider_account **ret,
			struct err_text err)
{
	static const struct provider_key server_key = { { "server", "MEMORY_SERVER" } };
	static const struct provider_key zones_key = { { "zones", "MEMORY_ZONES" } };
	static const struct provider_key file_key = { { "file", "MEMORY_FILE" } };
	static const struct provider_key region_key = { { "region", "MEMORY_REGION" } };
	struct slice name;
	int r = provider_credential_require(conf, &server_key, &name, err);
	if (r < 0)
		return r;
	CLEANUP(freep) char *text = xstrndup(name.p, name.n);
	struct memory_account *account = xcalloc(1, sizeof(*account));
	account->account.loop = conf->loop;
	account->server = memory_server_get(text);
	struct slice region = provider_credential_region(conf, &region_key, "here");
	account->region = xstrndup(region.p, region.n);
	struct slice path = provider_credential_get(conf, &file_key);
	if (path.n != 0)
		use_file(account->server, path);
	else
		add_zones(account->server, provider_credential_get(conf, &zones_key));
	*ret = &account->account;
	return 0;
}

static struct memory_account *account_of(struct provider_account *account)
{
	return CONTAINER_OF(account, struct memory_account, account);
}

static void close_account(struct provider_account *account)
{
	free(account_of(account)->region);
	free(account_of(account));
}

/* ---- what the server does ---- */

static bool is_over_rate(struct memory_server *server, uint64_t now_ns)
{
	if (server->calls_per_s == 0)
		return false;
	double seconds = (double)(now_ns - server->filled_ns) / (double)NS_PER_S;
	server->tokens =
		server->filled_ns == 0
			? server->burst
			: MIN(server->tokens + seconds * server->calls_per_s, server->burst);
	server->filled_ns = now_ns;
	if (server->tokens < 1 - 1e-6)
		return true;
	server->tokens -= 1;
	return false;
}

static void find_zones(struct memory_server *server, struct provider_job *job)
{
	size_t from = job->page != NULL ? (size_t)strtoul(job->page, NULL, 10) : 0;
	size_t per_page =
		server->zones_per_page != 0 ? server->zones_per_page : server->store.zones.n;
	size_t end = MIN(from + per_page, server->store.zones.n);
	for (size_t i = from; i < end; i++) {
		const struct memory_zone *zone = &server->store.zones.v[i];
		provider_job_add_zone(job, zone->id, zone->name, zone->is_private);
	}
	if (end < server->store.zones.n)
		job->next_page = xasprintf("%zu", end);
}

static void find_zone(struct memory_server *server, struct provider_job *job)
{
	const struct memory_zone *best = NULL;
	job->is_zone_of_name = true;
	for (size_t i = 0; i < server->store.zones.n; i++) {
		const struct memory_zone *zone = &server->store.zones.v[i];
		size_t n = strlen(zone->name), name_n = strlen(job->name);
		bool ends_name = name_n >= n && strcmp(job->name + name_n - n, zone->name) == 0 &&
				 (name_n == n || job->name[name_n - n - 1] == '.');
		if (ends_name && (best == NULL || n > strlen(best->name)))
			best = zone;
	}
	if (best != NULL)
		provider_job_add_zone(job, best->id, best->name, best->is_private);
}

static void read_sets(struct memory_server *server, struct provider_job *job)
{
	for (size_t i = 0; i < job->n_changes; i++) {
		struct provider_change *change = &job->changes[i];
		for (size_t j = 0; j < change->n_edits; j++) {
			const struct provider_rrset *key = &change->edits[j].set;
			const struct provider_rrset *found = memory_store_get(
				server->shown != NULL ? server->shown : &server->store, job->zone,
				key->name, key->type);
			struct provider_rrset missing = { .name = key->name, .type = key->type };
			provider_change_found(change, j, found != NULL ? found : &missing);
		}
	}
}

static bool apply_one(struct memory_server *server, struct provider_job *job, size_t index)
{
	server->ledger.changes++;
	return memory_store_apply(&server->store, job->zone, &job->changes[index]);
}

/* Each change for itself. */
static void apply_singly(struct memory_server *server, struct provider_job *job,
			 enum memory_fault fault)
{
	for (size_t i = 0; i < job->n_changes; i++) {
		struct provider_change *change = &job->changes[i];
		if (fault == MEMORY_PARTIAL && i % 2 == 1) {
			provider_change_fail(change, PROVIDER_TRANSIENT, "not now");
		} else if (memory_store_accepts(&server->store, job->zone, change,
						!server->ignores_guards)) {
			if (apply_one(server, job, i))
				memory_store_raise_serial(&server->store, job->zone);
			change->code = PROVIDER_OK;
		}
	}
}

static void fail_vaguely(struct provider_job *job)
{
	bool is_write = job->kind == PROVIDER_APPLY;
	provider_job_fail(job, is_write ? PROVIDER_UNSURE : PROVIDER_TRANSIENT,
			  "something is wrong (SERVFAIL)");
	job->was_answered = true;
}

/* All or nothing. */
static void apply_whole(struct memory_server *server, struct provider_job *job)
{
	struct provider_change *bad = NULL;
	for (size_t i = 0; i < job->n_changes; i++) {
		if (!memory_store_accepts(&server->store, job->zone, &job->changes[i],
					  !server->ignores_guards) &&
		    bad == NULL)
			bad = &job->changes[i];
	}
	if (bad == NULL) {
		bool is_changed = false;
		for (size_t i = 0; i < job->n_changes; i++)
			is_changed = apply_one(server, job, i) || is_changed;
		/* As BIND: a message that changes nothing leaves the serial alone. */
		if (is_changed)
			memory_store_raise_serial(&server->store, job->zone);
		return;
	}
	bool hides_why = server->shown != NULL && bad->code == PROVIDER_CONFLICT;
	if (server->is_vague)
		fail_vaguely(job);
	else if (hides_why)
		provider_job_fail(job, bad->code, "%s", "");
	else
		provider_job_fail(job, bad->code, "the batch is refused: %s", bad->error);
	bool hides_bad = server->hides_bad || server->is_vague || hides_why;
	for (size_t i = 0; hides_bad && i < job->n_changes; i++)
		provider_change_clear(&job->changes[i]);
}

static void apply_job(struct memory_server *server, struct provider_job *job,
		      enum memory_fault fault)
{
	if (server->is_partial)
		apply_singly(server, job, fault);
	else
		apply_whole(server, job);
	server->ledger.largest = MAX(server->ledger.largest, job->n_changes);
}

/* What was accepted and is not shown. */
static void mark_unsettled(const struct memory_server *server, struct provider_job *job)
{
	static const struct provider_rrset missing;
	for (size_t i = 0; server->shown != NULL && i < job->n_changes; i++) {
		struct provider_change *change = &job->changes[i];
		for (size_t j = 0; j < change->n_edits; j++) {
			const struct provider_rrset *set = &change->edits[j].set;
			const struct provider_rrset *found =
				memory_store_get(server->shown, job->zone, set->name, set->type);
			if (provider_rrset_equal(set, found != NULL ? found : &missing))
				continue;
			change->is_unsettled = true;
			err_text_set(ERR_TEXT(change->error), "'%s' is not shown", set->name);
		}
	}
}

static void settle_job(struct memory_account *account, struct provider_job *job)
{
	if (job->token == NULL) {
		mark_unsettled(account->server, job);
		return;
	}
	uint64_t due = strtoull(job->token, NULL, 10);
	if (loop_now(account->account.loop) < due)
		job->code = PROVIDER_UNKNOWN;
}

static void do_job(struct memory_account *account, struct provider_job *job,
		   enum memory_fault fault)
{
	struct memory_server *server = account->server;
	if (job->kind == PROVIDER_FIND_ZONES) {
		if (server->finds_one)
			find_zone(server, job);
		else
			find_zones(server, job);
		return;
	}
	const struct memory_zone *zone = memory_store_zone(&server->store, job->zone);
	if (zone == NULL) {
		provider_job_fail(job, PROVIDER_NO_ZONE, "there is no zone '%s'", job->zone);
		return;
	}
	if (job->kind == PROVIDER_READ)
		read_sets(server, job);
	else if (job->kind == PROVIDER_SETTLE)
		settle_job(account, job);
	else if (job->kind == PROVIDER_SERIAL)
		job->serial = zone->serial;
	else
		apply_job(server, job, fault);
	if (job->kind == PROVIDER_APPLY && job->code == PROVIDER_OK)
		mark_unsettled(server, job);
	if (job->kind == PROVIDER_APPLY && job->code == PROVIDER_OK && server->settle_ns != 0)
		job->settle_token =
			xasprintf("%" PRIu64, loop_now(account->account.loop) + server->settle_ns);
}

/* ---- calls ---- */

static void end_call(struct memory_call *call)
{
	loop_timer_stop(call->account->account.loop, &call->timer);
	if (call->writes != NULL)
		map_del(&call->account->server->writing, slice_of(call->writes));
	free(call->writes);
	call->job->call = NULL;
	free(call);
}

static void on_reply(struct loop_timer *timer)
{
	struct memory_call *call = CONTAINER_OF(timer, struct memory_call, timer);
	struct provider_job *job = call->job;
	end_call(call);
	job->done(job);
}

/* Replaces the result by that of the fault. */
static void fail_call(struct memory_call *call, enum memory_fault fault)
{
	struct provider_job *job = call->job;
	bool is_write = job->kind == PROVIDER_APPLY;
	const char *said = call->account->server->said;
	switch (fault) {
	case MEMORY_NO_FAULT:
	case MEMORY_PARTIAL:
	case MEMORY_HANG:
		break;
	case MEMORY_THROTTLE:
		provider_job_fail(job, PROVIDER_THROTTLED, "%s",
				  said != NULL ? said : "rate exceeded");
		job->retry_after_ns = call->account->server->retry_after_ns;
		break;
	case MEMORY_UNAVAILABLE:
		provider_job_fail(job, PROVIDER_TRANSIENT, "%s",
				  said != NULL ? said : "the service is unavailable");
		break;
	case MEMORY_LOST_BEFORE:
	case MEMORY_LOST_AFTER:
		for (size_t i = 0; i < job->n_changes; i++)
			provider_change_clear(&job->changes[i]);
		provider_job_clear(job);
		provider_job_fail(job, is_write ? PROVIDER_UNSURE : PROVIDER_TRANSIENT,
				  "the connection was reset");
		break;
	case MEMORY_VAGUE:
		fail_vaguely(job);
		break;
	case MEMORY_DENY:
		provider_job_fail(job, PROVIDER_UNAUTHENTICATED, "%s",
				  said != NULL ? said : "the key is not known");
		break;
	}
}

static enum memory_fault admit_call(struct memory_call *call)
{
	struct memory_server *server = call->account->server;
	struct provider_job *job = call->job;
	enum memory_fault fault =
		server->fault != NULL ? server->fault(server->ctx, job) : MEMORY_NO_FAULT;
	server->ledger.calls[job->kind]++;
	if (is_over_rate(server, loop_now(call->account->account.loop))) {
		server->ledger.throttled++;
		return MEMORY_THROTTLE;
	}
	if (job->kind != PROVIDER_APPLY || !server->one_write)
		return fault;
	if (map_has(&server->writing, slice_of(job->zone))) {
		server->ledger.overlaps++;
		return MEMORY_THROTTLE;
	}
	call->writes = xstrdup(job->zone);
	map_set(&server->writing, slice_of(job->zone), server);
	return fault;
}

static void start_job(struct provider_account *account, struct provider_job *job)
{
	struct memory_call *call = xcalloc(1, sizeof(*call));
	*call = (struct memory_call){ .account = account_of(account),
				      .job = job,
				      .timer = { .cb = on_reply } };
	struct loop *loop = call->account->account.loop;
	job->call = call;
	struct memory_server *server = call->account->server;
	if (server->file != NULL)
		memory_file_begin(server);
	enum memory_fault fault = admit_call(call);
	if (server->file != NULL && fault == MEMORY_NO_FAULT)
		fault = memory_file_fault(server, job, call->account->region);
	bool is_done = fault == MEMORY_NO_FAULT || fault == MEMORY_LOST_AFTER ||
		       fault == MEMORY_HANG || fault == MEMORY_PARTIAL;
	assert(job->end_by_ns > loop_now(loop));
	if (is_done)
		do_job(call->account, job, fault);
	if (server->file != NULL)
		memory_file_end(server);
	fail_call(call, fault);
	if (fault != MEMORY_HANG)
		loop_timer_set(loop, &call->timer,
			       loop_now(loop) + call->account->server->latency_ns);
}

static void cancel_job(struct provider_account *account, struct provider_job *job)
{
	assert(((struct memory_call *)job->call)->account == account_of(account));
	end_call(job->call);
}

const struct provider memory_provider = {
	.type = "memory",
	.help = "record sets in the memory of this process, for tests",
	.caps = { .is_atomic = true,
		  .has_guards = true,
		  .has_owner_mark = true,
		  .is_for_tests = true,
		  .has_serial = true,
		  .batch_changes = 1000 },
	.open = open_account,
	.close = close_account,
	.start = start_job,
	.cancel = cancel_job,
};
