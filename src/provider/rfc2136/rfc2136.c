/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The provider `rfc2136`: DNS UPDATE over TCP, signed with TSIG (RFC 2136, RFC 8945), for BIND, Knot and
 * every other server that accepts it. */
#include <assert.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "provider/provider.h"
#include "provider/rfc2136/call_priv.h"
#include "provider/rfc2136/message_priv.h"
#include "provider/rfc2136/settings_priv.h"
#include "provider/shared/job.h"

/* ---- accounts ---- */

static int open_account(const struct provider_account_conf *conf, struct provider_account **ret,
			struct err_text err)
{
	struct rfc2136_settings settings;
	int r = rfc2136_settings_read(conf, &settings, err);
	if (r < 0)
		return r;
	if (settings.has_names && conf->lookups == NULL) {
		rfc2136_settings_done(&settings);
		err_text_set(err, "the Secret's key 'Server' has a name, and there is no name "
				  "server to ask for its address");
		return ERR_CONFIG;
	}
	*ret = &rfc2136_account_new(conf->loop, &settings, conf->lookups)->account;
	return 0;
}

static void close_account(struct provider_account *account)
{
	rfc2136_account_free(rfc2136_account_of(account));
}

/* ---- calls ---- */

static void free_call(struct rfc2136_call *call)
{
	loop_timer_stop(call->account->account.loop, &call->later);
	rfc2136_ask_cancel(&call->ask);
	rfc2136_reader_done(&call->reader);
	free(call->msg);
	free(call->owned);
	vec_done(&call->misplaced);
	call->job->call = NULL;
	free(call);
}

void rfc2136_call_end(struct rfc2136_call *call)
{
	struct provider_job *job = call->job;
	free_call(call);
	job->done(job);
}

static void on_later(struct loop_timer *timer)
{
	rfc2136_call_end(CONTAINER_OF(timer, struct rfc2136_call, later));
}

void rfc2136_call_end_later(struct rfc2136_call *call)
{
	struct loop *loop = call->account->account.loop;
	loop_timer_set(loop, &call->later, loop_now(loop));
}

/* Zone ids are names, with or without the final dot (DR-21). */
static bool read_zone_id(struct rfc2136_call *call)
{
	const char *zone = call->job->zone;
	if (dns_name_from_text(slice_of(zone), call->zone) > 0)
		return true;
	provider_job_fail(call->job, PROVIDER_NO_ZONE, "'%s' is not the name of a zone", zone);
	return false;
}

static void start_job(struct provider_account *account, struct provider_job *job)
{
	static void (*const starts[PROVIDER_JOB_KINDS])(struct rfc2136_call * call) = {
		[PROVIDER_FIND_ZONES] = rfc2136_find_zone, [PROVIDER_READ] = rfc2136_read_sets,
		[PROVIDER_APPLY] = rfc2136_apply,	   [PROVIDER_SETTLE] = rfc2136_settle,
		[PROVIDER_SERIAL] = rfc2136_read_serial,
	};
	struct rfc2136_call *call = xcalloc(1, sizeof(*call));
	call->account = rfc2136_account_of(account);
	call->job = job;
	call->later.cb = on_later;
	rfc2136_reader_init(&call->reader, call->account);
	job->call = call;
	if (job->kind == PROVIDER_FIND_ZONES || read_zone_id(call))
		starts[job->kind](call);
	else
		rfc2136_call_end_later(call);
}

static void cancel_job(struct provider_account *account, struct provider_job *job)
{
	assert(((struct rfc2136_call *)job->call)->account == rfc2136_account_of(account));
	free_call(job->call);
}

static const struct dns_tsig_key *share_key(struct provider_account *account)
{
	return rfc2136_account_key(rfc2136_account_of(account));
}

const struct provider rfc2136_provider = {
	.type = "rfc2136",
	.help = "zones of BIND, Knot and other servers that accept DNS UPDATE (RFC 2136)",
	.public_keys = rfc2136_settings_public_keys,
	.caps = { .is_atomic = true,
		  .has_guards = true,
		  .has_serial = true,
		  .checks_zones = true,
		  .batch_changes = 1000,
		  .batch_bytes = RFC2136_BATCH_BYTES,
		  .read_changes = 64 },
	.open = open_account,
	.close = close_account,
	.start = start_job,
	.cancel = cancel_job,
	.measure = rfc2136_message_measure,
	.tsig_key = share_key,
};
