/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One call to a provider. */
#include "provider/call_priv.h"

#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "provider/account_priv.h"
#include "provider/shared/credentials.h"
#include "provider/shared/job.h"
#include "provider/metrics_priv.h"
#include "provider/publisher_priv.h"

/* Not for what the provider has not answered. */
static void adapt_rate(struct publisher_call *call)
{
	struct provider_rate *rate = &call->account->rate;
	switch (call->job.code) {
	case PROVIDER_THROTTLED:
		provider_rate_throttled(rate, call->job.retry_after_ns,
					loop_now(call->account->loop));
		break;
	case PROVIDER_TRANSIENT:
	case PROVIDER_UNSURE:
	case PROVIDER_NO_LEASE:
		break;
	case PROVIDER_OK:
	case PROVIDER_UNKNOWN:
	case PROVIDER_UNAUTHENTICATED:
	case PROVIDER_UNAUTHORIZED:
	case PROVIDER_NO_ZONE:
	case PROVIDER_OTHER_ZONE:
	case PROVIDER_CONFLICT:
	case PROVIDER_INVALID:
	case PROVIDER_QUOTA:
	case PROVIDER_FAILED:
		provider_rate_succeeded(rate);
		break;
	}
}

static void redact_errors(struct publisher_call *call)
{
	const struct provider_secrets *secrets = call->account->secrets;
	provider_secrets_redact(secrets, call->job.error);
	for (size_t i = 0; i < call->job.n_changes; i++)
		provider_secrets_redact(secrets, call->job.changes[i].error);
}

/* The message for requests that wait for the account. */
static void keep_fault(struct publisher_call *call)
{
	struct publisher_account *account = call->account;
	enum provider_reaction reaction = provider_code_reaction(call->job.code);
	bool is_fault = reaction == PROVIDER_RETRY || reaction == PROVIDER_VERIFY;
	account->fault_code = is_fault ? call->job.code : PROVIDER_OK;
	memcpy(account->fault, call->job.error, sizeof(account->fault));
}

static void finish_call(struct publisher_call *call)
{
	struct publisher_account *account = call->account;
	uint64_t took_ns = loop_now(account->loop) - call->began_ns;
	assert(call->is_running);
	call->is_running = false;
	loop_timer_stop(account->loop, &call->timeout);
	redact_errors(call);
	adapt_rate(call);
	keep_fault(call);
	provider_count_call(account->metrics, call->job.kind, call->job.code, took_ns);
	call->finished(call);
}

static void on_done(struct provider_job *job)
{
	finish_call(CONTAINER_OF(job, struct publisher_call, job));
}

/* A write that was sent may be applied all the same. */
static void on_timeout(struct loop_timer *timer)
{
	struct publisher_call *call = CONTAINER_OF(timer, struct publisher_call, timeout);
	struct publisher_account *account = call->account;
	if (!call->is_refused) {
		account->provider->cancel(account->provider_account, &call->job);
		for (size_t i = 0; i < call->job.n_changes; i++)
			provider_change_clear(&call->job.changes[i]);
		provider_job_fail(&call->job,
				  call->job.kind == PROVIDER_APPLY ? PROVIDER_UNSURE
								   : PROVIDER_TRANSIENT,
				  "the provider did not answer in time");
	}
	finish_call(call);
}

void call_start(struct publisher_call *call)
{
	struct publisher_account *account = call->account;
	uint64_t now = loop_now(account->loop);
	uint64_t lease_ns = publisher_lease_end_by(account->publisher);
	assert(!call->is_running);
	provider_job_clear(&call->job);
	call->is_running = true;
	call->began_ns = now;
	call->job.done = on_done;
	call->timeout.cb = on_timeout;
	call->is_refused = lease_ns < now + PUBLISHER_LEASE_MARGIN_MS * NS_PER_MS;
	if (call->is_refused) {
		provider_job_fail(&call->job, PROVIDER_NO_LEASE,
				  "this process does not lead any more");
		loop_timer_set(account->loop, &call->timeout, now);
		return;
	}
	provider_rate_take(&account->rate, now);
	call->job.end_by_ns = MIN(now + PROVIDER_CALL_TIMEOUT_S * NS_PER_S, lease_ns);
	loop_timer_set(account->loop, &call->timeout, call->job.end_by_ns);
	account->provider->start(account->provider_account, &call->job);
}

void call_cancel(struct publisher_call *call)
{
	if (!call->is_running)
		return;
	loop_timer_stop(call->account->loop, &call->timeout);
	if (!call->is_refused)
		call->account->provider->cancel(call->account->provider_account, &call->job);
	call->is_running = false;
}
