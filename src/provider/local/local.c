/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The provider `local`: records that this cluster's own DNS servers answer. A DNSRecord is published by
 * existing, since the plugin `records` of each server reads the objects themselves. So there is nothing to
 * write and nothing to read back here: the provider checks that a set can be served, and keeps nothing. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "dns/rrtext/values.h"
#include "net/loop.h"
#include "provider/provider.h"
#include "provider/shared/job.h"

/* The zone of all names: servers answer each, whatever zone it is in. */
#define ZONE "local"

/* One call under way. */
struct local_call {
	struct provider_account *account;
	struct provider_job *job;
	struct loop_timer timer;
};

/* Secrets of such objects may be empty. */
static int open_account(const struct provider_account_conf *conf, struct provider_account **ret,
			struct err_text err)
{
	(void)err;
	*ret = xcalloc(1, sizeof(**ret));
	(*ret)->loop = conf->loop;
	return 0;
}

static void close_account(struct provider_account *account)
{
	free(account);
}

/* ---- jobs ---- */

/* Under the last two labels, for the others there. */
static void find_zone(struct provider_job *job)
{
	const char *name = job->name;
	size_t dots = 0;
	for (const char *at = name + strlen(name); at > name; at--) {
		if (at[-1] == '.' && ++dots == 2) {
			name = at;
			break;
		}
	}
	job->is_zone_of_name = true;
	provider_job_add_zone(job, ZONE, name, false);
}

/* What an object asks for is what there is. */
static void read_sets(struct provider_job *job)
{
	for (size_t i = 0; i < job->n_changes; i++) {
		struct provider_change *change = &job->changes[i];
		for (size_t j = 0; j < change->n_edits; j++)
			provider_change_found(change, j, &change->edits[j].set);
	}
}

static bool accepts_set(struct provider_change *change, const struct provider_rrset *set)
{
	CLEANUP(strbuf_done) struct strbuf data = STRBUF_INIT;
	int r = dns_values_to_wire(set->type, set->values, set->n_values, &data);
	if (r == ERR_LIMIT)
		provider_change_fail(change, PROVIDER_INVALID,
				     "the records of '%s' do not fit into one reply: at most %d "
				     "values, %d bytes",
				     set->name, DNS_VALUES_MAX, DNS_VALUES_BYTES_MAX);
	else if (r < 0)
		provider_change_fail(change, PROVIDER_INVALID,
				     "the records of '%s' have a value that is not of their type",
				     set->name);
	return r == 0;
}

static void apply_changes(struct provider_job *job)
{
	const struct provider_change *bad = NULL;
	for (size_t i = 0; i < job->n_changes; i++) {
		struct provider_change *change = &job->changes[i];
		bool is_good = true;
		for (size_t j = 0; is_good && j < change->n_edits; j++)
			is_good = accepts_set(change, &change->edits[j].set);
		if (!is_good && bad == NULL)
			bad = change;
	}
	if (bad != NULL)
		provider_job_fail(job, bad->code, "the batch is refused: %s", bad->error);
}

static void do_job(struct provider_job *job)
{
	switch (job->kind) {
	case PROVIDER_FIND_ZONES:
		find_zone(job);
		break;
	case PROVIDER_READ:
		read_sets(job);
		break;
	case PROVIDER_APPLY:
		apply_changes(job);
		break;
	case PROVIDER_SETTLE: /* no write has a token */
	case PROVIDER_SERIAL: /* there are no zones */
		break;
	}
}

/* ---- calls ---- */

static void end_call(struct local_call *call)
{
	loop_timer_stop(call->account->loop, &call->timer);
	call->job->call = NULL;
	free(call);
}

static void on_timer(struct loop_timer *timer)
{
	struct local_call *call = CONTAINER_OF(timer, struct local_call, timer);
	struct provider_job *job = call->job;
	end_call(call);
	do_job(job);
	job->done(job);
}

static void start_job(struct provider_account *account, struct provider_job *job)
{
	struct local_call *call = xcalloc(1, sizeof(*call));
	*call = (struct local_call){ .account = account, .job = job, .timer = { .cb = on_timer } };
	job->call = call;
	loop_timer_set(account->loop, &call->timer, loop_now(account->loop));
}

static void cancel_job(struct provider_account *account, struct provider_job *job)
{
	assert(((struct local_call *)job->call)->account == account);
	end_call(job->call);
}

const struct provider local_provider = {
	.type = "local",
	.help = "served by the DNS servers of this cluster themselves (plugin records)",
	.caps = { .is_atomic = true,
		  .checks_zones = true, /* there is one */
		  .has_guards = true,
		  .has_owner_mark = true,
		  .has_no_secret = true,
		  .keeps_nothing = true,
		  .calls_per_s = 1000,
		  .batch_changes = 1000,
		  .read_changes = 1000 },
	.open = open_account,
	.close = close_account,
	.start = start_job,
	.cancel = cancel_job,
};
